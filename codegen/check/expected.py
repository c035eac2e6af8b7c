"""Check: what an operator gives at chosen inputs, and the derivatives there, written as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ir.reader import read_value
from ..model.diagnostics import one_of, suggestion
from ..model.operators import Expected, Nested, Sample
from ..model.schema import Schema
from ..model.source import Located
from ..parse.formula import result_names
from ..read.fields import kind_of, length_of_scalar

if TYPE_CHECKING:
    from .samples import SampleChecker


def expected_values(checker: SampleChecker, schema: Schema, located: Located | None) -> tuple[Expected, ...]:
    """For each sample of ``expected`` the results, and the derivatives of their sum, that are given."""
    found = []
    for text, item in located.value.items() if located is not None else ():
        place = item.key or item.place
        sample = checker.sample(schema, Located(text, place, starts=((0, place),)))
        if kind_of(item.value) != "map":
            expected = 'results and arguments with their values: {result: "[0, 1]", self: "[0, nan]"}'
            checker.report.error(
                item.place, "values without names", length=length_of_scalar(item), expected=expected
            )
            continue
        if sample is not None:
            found.append(_one(checker, schema, sample, item))
    return tuple(found)


def _one(checker: SampleChecker, schema: Schema, sample: Sample, located: Located) -> Expected:
    results = result_names(schema.returns)
    arguments = [a.name for a in schema.arguments if a.is_tensor]
    known = [*results, *arguments, *(f"{name}_t" for name in arguments)]
    values: dict[str, Nested] = {}
    for name, item in located.value.items():
        if name not in known:
            checker.report.error(
                item.key or item.place,
                f'"{name}" is neither a result nor a Tensor argument or its tangent',
                length=len(name),
                expected=one_of(known),
                help=suggestion(name, known),
            )
            continue
        try:
            values[name] = _numbers(read_value(str(item.value)))
        except (SyntaxError, ValueError):
            checker.report.error(
                item.place,
                "a value is a number, or a list of such",
                length=length_of_scalar(item),
                expected='"[0, 0.5, nan, -inf]" in quotes',
            )

    def of(names: list[str]) -> dict[str, Nested]:
        return {n: values[n] for n in names if n in values}

    tangents = {name: values[f"{name}_t"] for name in arguments if f"{name}_t" in values}
    return Expected(sample, of(list(results)), of(arguments), tangents)


def _numbers(value: Any) -> Nested:
    """Nested lists of numbers. Raises ValueError for what is none."""
    if isinstance(value, list):
        return tuple(map(_numbers, value))
    if isinstance(value, int | float):
        return float(value)
    raise ValueError(f"{value!r} is no number")
