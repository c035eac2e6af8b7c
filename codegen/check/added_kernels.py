"""Check: kernels.yaml of a library, which adds kernels to operators of tengen that lack them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..model.diagnostics import Report, suggestion
from ..model.names import COMPOSITES
from ..model.operators import Operator
from ..model.schema import OperatorName
from ..model.source import Entry, Located
from ..parse.formula import as_text
from ..parse.schema import SchemaError, parse_name
from ..read.fields import check_keys, known_word, require_keys, words
from ..read.keys import KERNEL_KEYS
from .kernels import Sources
from .operators import OperatorChecker


def with_kernels(
    operators: Mapping[OperatorName, Operator], entries: list[Entry], sources: Sources, report: Report
) -> dict[OperatorName, Operator]:
    """The operators, some with more kernels; mistakes are reported."""
    result = dict(operators)
    checker = OperatorChecker(sources, {}, (), report)
    for entry in entries:
        fields = check_keys(entry.fields, KERNEL_KEYS, "an entry of kernels.yaml", report)
        require_keys(entry.fields, ("name", "dispatch"), KERNEL_KEYS, entry.place, report)
        if "name" not in fields or "dispatch" not in fields:
            continue
        operator = _operator(fields["name"], result, sources, report)
        if operator is not None:
            result[operator.name] = _extended(operator, fields, checker, sources, report)
    return result


def _operator(
    located: Located, operators: Mapping[OperatorName, Operator], sources: Sources, report: Report
) -> Operator | None:
    """The operator of tengen that is named."""
    source = as_text(located)
    try:
        name = parse_name(source.value)
    except SchemaError as error:
        report.error(source.at(error.offset), error.message, length=error.length, expected=error.expected)
        return None
    found = operators.get(name)
    if found is not None:
        return found
    own = replace(name, namespace=sources.library) in operators
    report.error(
        source.place,
        f'kernels for "{name}", which is no operator of tengen',
        length=len(str(name)),
        expected="the name of an operator of tengen",
        help="the kernels of an operator of this library belong into its own entry"
        if own
        else suggestion(str(name), (str(n) for n in operators if not n.namespace)),
    )
    return None


def _extended(
    operator: Operator,
    fields: Mapping[str, Located],
    checker: OperatorChecker,
    sources: Sources,
    report: Report,
) -> Operator:
    kernels = dict(operator.kernels)
    listed = checker.dtypes(fields["dtypes"]) if "dtypes" in fields else {}
    dtypes = dict(operator.dtypes)
    for names, value in fields["dispatch"].value.items():
        for word, place in words(Located(names, value.key or value.place), report):
            if not known_word(word, place, tuple(sources.tables.backends), "backend", report):
                continue
            before = kernels.get(word) or next((kernels[k] for k in COMPOSITES if k in kernels), None)
            if before is not None:
                report.error(
                    place,
                    f"{operator.name} has a kernel for {word}",
                    length=len(word),
                    expected="a backend that lacks one",
                    related=((before.formula.source.place, "it is given here"),),
                )
                continue
            factory = operator.factory is not None
            made = checker.kernel_checker.kernel(operator.schema, word, value, operator.tags, factory)
            if made is not None:
                kernels[word] = made
                if word in listed:
                    dtypes[word] = listed[word]
    return replace(operator, kernels=kernels, dtypes=dtypes)
