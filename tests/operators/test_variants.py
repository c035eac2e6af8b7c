"""In-place and out variants, functions and methods against the operator; views against memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

import tengen
import tengen.generated.functions as functions
from tengen.codegen.model.operators import Operator
from tengen.testing import declared
from tengen.testing.aspects import aspects
from tengen.testing.dtypes import comparable

ASPECTS = aspects()


@pytest.mark.parametrize(("name", "base"), ASPECTS["in place"].pairs())
def test_in_place_is_the_functional_result(name: str, base: str) -> None:
    ASPECTS["in place"].verify(base, name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["leaf"].pairs())
def test_in_place_on_a_leaf_is_refused(name: str, base: str) -> None:
    ASPECTS["leaf"].verify(base, name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["out"].pairs())
def test_out_is_the_functional_result(name: str, base: str) -> None:
    ASPECTS["out"].verify(base, name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["out gradients"].pairs())
def test_out_refuses_gradients(name: str, base: str) -> None:
    ASPECTS["out gradients"].verify(base, name)


@pytest.mark.parametrize("name", ASPECTS["views"].operators())
def test_views_share_memory(name: str) -> None:
    ASPECTS["views"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["own memory"].operators())
def test_results_have_their_own_memory(name: str) -> None:
    """A result that is no view shares memory with no input."""
    ASPECTS["own memory"].verify(name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["views in place"].pairs())
def test_views_in_place(name: str, base: str) -> None:
    """The tensor takes the shape, strides and place in memory that the view has."""
    ASPECTS["views in place"].verify(base, name)


#: A dtype of each category that promotes to another.
KINDS = (tengen.bool, tengen.int64, tengen.float32)


def promotes(operator: Operator) -> bool:
    """Whether an operator may compute in another dtype than its operands have, and gives the same again."""
    return operator.promote is not None and comparable(operator) and not declared.writes(operator)


def called(operator: Operator, values: Sequence[Any]) -> Iterator[Callable[[], Any]]:
    """The ways of a program to call an operator: its function, and the method of self."""
    names = [a.name for a in operator.schema.arguments]
    positional = len(operator.schema.positional)
    keywords = dict(zip(names[positional:], values[positional:], strict=True))
    base = operator.name.base
    if "function" in operator.variants and hasattr(functions, base):
        yield lambda: getattr(functions, base)(*values[:positional], **keywords)
    if "method" in operator.variants:
        self = names.index("self")
        rest = [v for i, v in enumerate(values[:positional]) if i != self]
        yield lambda: getattr(values[self], base)(*rest, **keywords)


def outcome(call: Callable[[], Any]) -> Any:
    """The dtypes, shapes and bits that a call gives, or the kind of its error."""
    try:
        return [(t.dtype, t.shape, t.numpy().tobytes()) for t in declared.flat(call())]
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("name", [n for n, o in declared.operators().items() if promotes(o)])
def test_functions_and_methods_promote_as_the_operator_does(name: str) -> None:
    """What is called with tensors of one Type goes to that at once, whether or not it computes there."""
    for call in declared.calls(name):
        for kind in filter(call.takes, KINDS):
            values = [tuple(v) if isinstance(v, list) else v for v in call.tensors(kind)]
            expected = outcome(partial(declared.run, name, values))
            for way in called(call.operator, values):
                assert outcome(way) == expected, f"{call} in {kind}"
