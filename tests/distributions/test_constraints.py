"""Constraints: what each allows, its shape and repr, and how constraints are made of others."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import tengen
from tengen.distributions import constraints

nan, inf = math.nan, math.inf
_ROTATED = [[0.6, 0.0], [0.6, 0.8]]

#: A constraint, a value, and what it says of the value's events.
CHECKED: list[tuple[str, Any, Any]] = [
    ("boolean", [0.0, 1.0, 0.5, nan], [True, True, False, False]),
    ("one_hot", [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.5, 0.5]], [True, False, False, False]),
    ("nonnegative_integer", [0.0, 3.0, -1.0, 0.5], [True, True, False, False]),
    ("positive_integer", [0.0, 3.0, 1.0, 1.5], [False, True, True, False]),
    ("integer_interval(1, 3)", [0.0, 1.0, 3.0, 4.0, 2.5], [False, True, True, False, False]),
    ("real", [0.0, -inf, nan], [True, True, False]),
    ("real_vector", [[0.0, 1.0], [nan, 1.0]], [True, False]),
    ("positive", [0.0, 1e-30, inf, -1.0, nan], [False, True, True, False, False]),
    ("nonnegative", [0.0, 1.0, -1e-30], [True, True, False]),
    ("greater_than(2)", [2.0, 2.5], [False, True]),
    ("greater_than_eq(2)", [2.0, 1.5], [True, False]),
    ("less_than(2)", [2.0, 1.5], [False, True]),
    ("unit_interval", [0.0, 1.0, 1.5, -0.1], [True, True, False, False]),
    ("interval(-1, 2)", [-1.0, 2.0, 2.1], [True, True, False]),
    ("half_open_interval(-1, 2)", [-1.0, 2.0, 1.9], [True, False, True]),
    ("simplex", [[0.2, 0.8], [0.2, 0.7], [-0.1, 1.1]], [True, False, False]),
    ("multinomial(3)", [[1.0, 2.0], [1.0, 1.0], [2.0, 2.0], [-1.0, 1.0]], [True, True, False, False]),
    ("lower_triangular", [[[1.0, 0.0], [2.0, 0.0]], [[1.0, 1.0], [2.0, 3.0]]], [True, False]),
    ("lower_cholesky", [[[1.0, 0.0], [2.0, 3.0]], [[1.0, 0.0], [2.0, 0.0]]], [True, False]),
    ("corr_cholesky", [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]], _ROTATED], [True, False, False]),
    ("square", [[[1.0, 2.0], [3.0, 4.0]]], [True]),
    ("square", [[[1.0, 2.0]]], [False]),
    ("symmetric", [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]], [True, False]),
    ("symmetric", [[[1.0, 2.0]]], [False]),
    ("positive_semidefinite", [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], [True, True]),
    ("positive_semidefinite", [[[-1.0, 0.0], [0.0, 1.0]]], [False]),
    ("positive_definite", [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]], [True, False]),
    ("positive_definite", [[[2.0, 1.0], [0.0, 2.0]]], [False]),
    ("independent(positive, 1)", [[1.0, 2.0], [1.0, -2.0]], [True, False]),
    ("MixtureSameFamilyConstraint(unit_interval)", [0.5, 1.5], [True, False]),
    ("MixtureSameFamilyConstraint(simplex)", [[0.5, 0.5], [0.5, 0.4]], [True, False]),
    ("cat([positive, real], 0, [1, 2])", [1.0, -1.0, nan], [True, True, False]),
    ("cat([positive, real])", [-1.0, -1.0], [False, True]),
    ("stack([positive, less_than(0)], 0)", [[1.0, -1.0], [1.0, -1.0]], [[True, False], [False, True]]),
]


def made(text: str, of: Any) -> Any:
    return eval(text, dict(vars(of)))


@pytest.mark.parametrize(("text", "value", "expected"), CHECKED)
def test_what_a_constraint_allows(text: str, value: Any, expected: Any) -> None:
    found = made(text, constraints).check(tengen.tensor(value, dtype=tengen.float64))
    assert found.dtype is tengen.bool and found.tolist() == expected


def test_every_constraint_is_tried() -> None:
    """All but those that have nothing to check."""
    named = {name for text, _, _ in CHECKED for name in re.findall(r"\w+", text)}
    assert set(constraints.__all__) - named == {
        "Constraint",
        "dependent",
        "dependent_property",
        "is_dependent",
    }


@pytest.mark.oracle
def test_names_reprs_and_dimensions_are_pytorchs(torch: Any) -> None:
    theirs = torch.distributions.constraints
    assert sorted(constraints.__all__) == sorted(theirs.__all__)
    for text in sorted({text for text, _, _ in CHECKED} - {"multinomial(3)"}):  # whose bound is shown here
        ours, other = made(text, constraints), made(text, theirs)
        assert repr(ours) == repr(other)
        assert (ours.is_discrete, ours.event_dim) == (other.is_discrete, other.event_dim), text


@pytest.mark.oracle
@pytest.mark.parametrize(("text", "value", "expected"), CHECKED)
def test_pytorch_allows_the_same(torch: Any, text: str, value: Any, expected: Any) -> None:
    theirs = made(text, torch.distributions.constraints)
    assert theirs.check(torch.tensor(value, dtype=torch.float64)).tolist() == expected


def test_a_stack_counts_its_dimension() -> None:
    assert constraints.stack([constraints.real, constraints.simplex], 0).event_dim == 1
    assert constraints.stack([constraints.real, constraints.simplex], -2).event_dim == 2
    assert constraints.stack([constraints.real], 0).event_dim == 0
    assert constraints.stack([constraints.real], -1).event_dim == 1
    assert not constraints.stack([constraints.real]).is_discrete
    assert constraints.cat([constraints.real, constraints.boolean]).is_discrete


def test_dependent_constraints() -> None:
    dependent = constraints.dependent
    assert constraints.is_dependent(dependent) and not constraints.is_dependent(constraints.real)
    for name in ("is_discrete", "event_dim"):
        with pytest.raises(NotImplementedError, match=f"{name} cannot be determined statically"):
            getattr(dependent, name)
    known = dependent(is_discrete=True)(event_dim=2)
    assert (known.is_discrete, known.event_dim) == (True, 2)
    with pytest.raises(ValueError, match="Cannot determine validity of dependent constraint"):
        dependent.check(tengen.ones(2))


def test_a_dependent_property() -> None:
    class Bounded:
        high = 3.0

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self) -> Any:
            return constraints.interval(0.0, self.high)

        @constraints.dependent_property
        def other(self) -> Any:
            return constraints.real

    assert constraints.is_dependent(Bounded.support) and constraints.is_dependent(Bounded.other)
    assert Bounded.support.event_dim == 0 and not Bounded.support.is_discrete
    assert repr(Bounded().support) == "Interval(lower_bound=0.0, upper_bound=3.0)"
    assert Bounded().other is constraints.real


def test_wrong_parts() -> None:
    wrong: Any = 1.0
    for make in (
        lambda: constraints.independent(wrong, 1),
        lambda: constraints.MixtureSameFamilyConstraint(wrong),
        lambda: constraints.cat([wrong]),
        lambda: constraints.stack([wrong]),
    ):
        with pytest.raises(AssertionError, match="must be a Constraint, got float"):
            make()
    with pytest.raises(AssertionError, match="must be >= 0, got -1"):
        constraints.independent(constraints.real, -1)
    with pytest.raises(AssertionError, match="must be an int, got float"):
        constraints.independent(constraints.real, wrong)
    with pytest.raises(AssertionError, match=r"lengths \(1\) must match cseq \(2\)"):
        constraints.cat([constraints.real, constraints.real], 0, [1])


def test_values_of_too_few_dimensions() -> None:
    with pytest.raises(ValueError, match=r"Expected value.dim\(\) >= 2 but got 1"):
        constraints.independent(constraints.positive, 2).check(tengen.ones(3))
    with pytest.raises(ValueError, match=r"Expected value.dim\(\) >= 1 but got 0"):
        constraints.MixtureSameFamilyConstraint(constraints.simplex).check(tengen.ones(()))
    with pytest.raises(AssertionError, match="dim 1 out of range for value with 1 dimensions"):
        constraints.cat([constraints.real], 1).check(tengen.ones(3))
    with pytest.raises(AssertionError, match="dim 2 out of range"):
        constraints.stack([constraints.real], 2).check(tengen.ones(3))
