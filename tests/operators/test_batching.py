"""vmap: for every operator and sample, all examples at once give what one after the other gives."""

from __future__ import annotations

import pytest

import tengen
from tengen.codegen.model.operators import Operator
from tengen.testing.aspects import aspects
from tengen.testing.declared import variants

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["batching"].operators())
def test_all_at_once_is_one_by_one(name: str) -> None:
    ASPECTS["batching"].verify(name)


def test_most_operators_have_a_rule() -> None:
    """Few that have kernels of their own are run for one example after the other."""
    strided = [v for v in variants().values() if "other_layout" not in v.operator.tags]
    own = [v for v in strided if v.kind in ("functional", "view") and takes_tensors(v.operator)]
    without = [str(v.name) for v in own if v.operator.batching is None and not explicit(v.operator)]
    assert len(own) > 400 and len(without) <= len(own) // 100, without


def takes_tensors(operator: Operator) -> bool:
    return any(a.is_tensor_like for a in operator.schema.arguments)


def explicit(operator: Operator) -> bool:
    """Whether the operator calls others."""
    return "CompositeExplicitAutograd" in operator.kernels


def test_an_operator_without_a_rule_is_run_for_each_example() -> None:
    x = tengen.tensor([[0, 1, 1], [2, 2, 2]])
    with pytest.warns(UserWarning, match="performance drop.*batching rule for bincount"):
        found = tengen.vmap(lambda row: row.bincount(minlength=3))(x)
    assert found.tolist() == [[1, 2, 0], [0, 0, 3]]
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="different shapes"):
        tengen.vmap(lambda row: row.bincount())(x)


@pytest.mark.parametrize("name", ASPECTS["nested batching"].operators())
def test_levels_nest(name: str) -> None:
    """The first tensor is of the examples of one level, the last of those of another."""
    ASPECTS["nested batching"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["batching in place"].operators())
def test_in_place_writes_into_each_example(name: str) -> None:
    """It does what the functional operator does, to the very memory that was given."""
    ASPECTS["batching in place"].verify(name)


def test_an_in_place_operator_is_seen_by_the_base() -> None:
    base = tengen.arange(6.0).reshape(2, 3)
    tengen.vmap(lambda row: row[1:].mul_(10))(base)
    assert base.tolist() == [[0, 10, 20], [3, 40, 50]]


@pytest.mark.parametrize("name", ASPECTS["batched indices"].operators())
def test_indices_are_judged_as_those_of_one_example(name: str) -> None:
    """One out of range, or negative, is the example's error, and never another example's row."""
    ASPECTS["batched indices"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["batched dimensions"].operators())
def test_dimensions_are_judged_as_those_of_one_example(name: str) -> None:
    """That of the examples is never taken for one that each of them lacks."""
    ASPECTS["batched dimensions"].verify(name)


def test_most_operators_with_indices_are_among_them() -> None:
    assert len(ASPECTS["batched indices"].operators()) > 30


@pytest.mark.parametrize("name", ASPECTS["random batching"].operators())
def test_random_numbers_are_drawn_as_vmap_was_told(name: str) -> None:
    """For "same" examples are alike; "error" is one, if anything is drawn; shapes are a loop's."""
    ASPECTS["random batching"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["batched gradient"].operators())
def test_gradients_of_many(name: str) -> None:
    """``is_grads_batched``: what backward formulas call has rules too."""
    ASPECTS["batched gradient"].verify(name)
