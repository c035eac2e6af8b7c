"""Which overloads one signature covers."""

from __future__ import annotations

import pytest

from tengen.codegen.model.operators import Operator
from tengen.codegen.specialise.nested import nested
from tengen.testing.declared import declarations


@pytest.fixture(scope="module")
def operators() -> tuple[Operator, ...]:
    return declarations().operators


def overloads(operators: tuple[Operator, ...], function: str) -> list[Operator]:
    found = [o for o in operators if o.name.function == function and not o.schema.out and not o.name.inplace]
    return sorted(found, key=lambda o: len(o.schema.arguments))


@pytest.mark.parametrize(
    ("function", "slots", "keywords"),
    [
        ("sum", ["dim", "keepdim"], {"dtype": "None"}),
        ("median", ["dim", "keepdim"], {}),
        ("bernoulli", ["p"], {"generator": "None"}),
    ],
)
def test_one_goes_on_where_the_other_ends(
    operators: tuple[Operator, ...], function: str, slots: list[str], keywords: dict[str, str]
) -> None:
    common = nested(overloads(operators, function))
    assert common is not None
    assert [a.name for a in common.slots] == slots
    assert {a.name: text for a, text in common.keywords} == keywords


@pytest.mark.parametrize("function", ["max", "std", "atleast_1d", "exp"])
def test_a_position_that_means_two_things(operators: tuple[Operator, ...], function: str) -> None:
    assert nested(overloads(operators, function)) is None  # or there is but one


def test_what_is_missing_in_calls(operators: tuple[Operator, ...]) -> None:
    short, long = overloads(operators, "sum")
    common = nested([short, long])
    assert common is not None
    assert common.may_be_missing(short, []) == frozenset()
    assert common.may_be_missing(long, [short]) == {"keepdim"}


def test_what_tells_overloads_apart_must_be_given(operators: tuple[Operator, ...]) -> None:
    """The second takes padding="same"; a call without padding is one of the first."""
    first, second = overloads(operators, "conv2d")
    common = nested([first, second])
    assert common is not None
    optional = {"bias", "stride", "padding", "dilation", "groups"}
    assert common.may_be_missing(first, []) == optional
    assert common.may_be_missing(second, [first]) == optional - {"padding"}
