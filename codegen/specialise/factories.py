"""Specialise: the first paths of functions that make tensors of nothing: ``zeros``, ``arange``, ``rand``.

There is no tensor whose Type would run them: ``factory_type`` finds it from what the keywords say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model.annotations import default
from ..model.names import TENSOR_OPTIONS
from ..model.operators import Operator
from .argument_tests import value_test
from .binding import Attempt


def factory_attempts(operator: Operator) -> Iterator[Attempt]:
    """The first paths of an overload by the number of arguments given; loose sizes are the last."""
    positional = operator.schema.positional
    more = [default(a) for a in operator.schema.kwarg_only if a.name not in TENSOR_OPTIONS]
    defaults = [default(a) for a in positional]
    if operator.factory is None or None in more or any(a.is_tensor_like for a in positional):
        return
    for count in range(defaults.count(None), len(positional) + 1):
        tests, values = [f"len(args) == {count}"], []
        for i, a in enumerate(positional[:count]):
            text = f"args[{i}]"
            test, value = number_test(text) if a.type.is_scalar else value_test(operator, a, text, False)
            tests.append(test)
            values.append(value)
        if "False" not in tests:
            yield _attempt(operator, tests, [*values, *map(str, [*defaults[count:], *more])])
    if len(positional) == 1 and positional[0].type.is_int_list:
        yield _attempt(operator, ["args and ints(args)"], ["args", *map(str, more)])


def number_test(text: str) -> tuple[str, str]:
    """The test for a number that settles no other dtype than the default one or int64."""
    return f"({text}.__class__ is int or {text}.__class__ is float)", text


def _attempt(operator: Operator, tests: list[str], values: list[str]) -> Attempt:
    """The attempt behind whose tests the Type is found."""
    assert operator.factory is not None
    names = [a.name for a in operator.schema.positional]
    match operator.factory[0]:
        case "default":
            settled = ""
        case "int64":
            settled = ", INTEGRAL"
        case _:
            settled = "".join([", (", *(f"{values[names.index(n)]}, " for n in operator.factory), ")"])
    tests = [*tests, f"(t := factory_type(keywords{settled})) is not None"]
    return Attempt(" and ".join(tests), f"t.{operator.name.method}({', '.join(values)})")
