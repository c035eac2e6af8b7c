"""Specialise: the first paths of functions that make tensors of nothing: ``zeros``, ``arange``, ``rand``.

There is no tensor whose Type would run them: ``factory_type`` finds it from what the keywords say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.expressions import Attribute, Call, Expr, Name
from ...ir.reader import filled
from ...ir.statements import FALSE, TRUE, tuple_of
from ..model.annotations import default
from ..model.names import TENSOR_OPTIONS
from ..model.operators import Operator
from .argument_tests import default_of, value_test
from .binding import TYPE, Attempt
from .keyword_calls import argument


def factory_attempts(operator: Operator) -> Iterator[Attempt]:
    """The first paths of an overload by the number of arguments given; loose sizes are the last."""
    positional = operator.schema.positional
    more = [default_of(a) for a in operator.schema.kwarg_only if a.name not in TENSOR_OPTIONS]
    rest = [m for m in more if m is not None]
    if operator.factory is None or len(rest) < len(more) or any(a.is_tensor_like for a in positional):
        return
    for count in range([default(a) for a in positional].count(None), len(positional) + 1):
        tests, values = [filled(f"len(args) == {count}")], []
        for i, a in enumerate(positional[:count]):
            x = argument(i)
            test, value = number_test(x) if a.type.is_scalar else value_test(operator, a, x, False)
            tests += [] if test == TRUE else [test]
            values.append(value)
        defaults = [found for a in positional[count:] if (found := default_of(a)) is not None]
        if FALSE not in tests:
            yield _attempt(operator, tests, [*values, *defaults, *rest])
    if len(positional) == 1 and positional[0].type.is_int_list:
        yield _attempt(operator, [filled("args"), filled("ints(args)")], [Name("args"), *rest])


def number_test(x: Expr) -> tuple[Expr, Expr]:
    """The test for a number that settles no other dtype than the default one or int64."""
    return filled("x.__class__ is int or x.__class__ is float", x=x), x


def _attempt(operator: Operator, tests: list[Expr], values: list[Expr]) -> Attempt:
    """The attempt behind whose tests the Type is found."""
    assert operator.factory is not None
    names = [a.name for a in operator.schema.positional]
    match operator.factory[0]:
        case "default":
            settled: tuple[Expr, ...] = ()
        case "int64":
            settled = (Name("INTEGRAL"),)
        case _:
            settled = (tuple_of([values[names.index(n)] for n in operator.factory]),)
    found = Call(Name("factory_type"), (Name("keywords"), *settled))
    tests = [*tests, filled(f"({TYPE} := found) is not None", found=found)]
    return Attempt(tuple(tests), Call(Attribute(Name(TYPE), operator.name.method), tuple(values)))
