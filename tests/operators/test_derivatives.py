"""Each operator's gradient, and its gradient's, against differences."""

from __future__ import annotations

import pytest

from tengen.testing import declared
from tengen.testing.aspects import aspects
from tengen.testing.declared import calls, operators, run
from tengen.testing.differentiable import cases, differentiable_results, inputs_of, kinds, nodes, recorded

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["gradient"].operators())
def test_gradient(name: str) -> None:
    ASPECTS["gradient"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["second gradient"].operators())
def test_second_gradient(name: str) -> None:
    ASPECTS["second gradient"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["layout of gradient"].operators())
def test_gradient_of_strided_inputs(name: str) -> None:
    ASPECTS["layout of gradient"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["own gradients"].operators())
def test_gradients_are_nobody_elses(name: str) -> None:
    """What is in ``grad`` may be written to: it is no memory of another tensor."""
    ASPECTS["own gradients"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["recorded"].operators())
def test_results_record_their_node(name: str) -> None:
    """A result that depends on a leaf has the Node of its declaration; under no_grad it has none."""
    ASPECTS["recorded"].verify(name)


def results_with_gradients(name: str) -> tuple[bool, ...]:
    """Which results have gradients, where the declaration says it of some and denies it of others."""
    entry = declared.derivative_of(name)
    said = () if entry is None or entry.output_differentiability is None else entry.output_differentiability
    return tuple(said) if any(said) and not all(said) else ()


@pytest.mark.parametrize("name", [n for n in operators() if recorded(n) and results_with_gradients(n)])
def test_results_require_gradients_as_they_are_declared(name: str) -> None:
    """A result that is declared to have no derivative is a constant, also one of a floating dtype."""
    for call, kind in cases(name):
        values = call.tensors(kind)
        for i, j in inputs_of(call, values):
            (values[i] if j is None else values[i][j]).requires_grad_()
        found = [r.requires_grad for r in declared.flat(run(name, values))]
        assert found == list(results_with_gradients(name)), str(call)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_every_result_is_looked_at() -> None:
    """The tests above see results: an operator with derivatives has a case, or says why not."""
    differentiable = [n for n in operators() if recorded(n) and n in nodes()]
    assert not [n for n in differentiable if not cases(n) and not excused(n)]


def excused(name: str) -> bool:
    """Whether all samples are of picked numbers or without elements."""
    for call in calls(name):
        for kind in kinds(call):
            values = call.tensors(kind)
            if call.hand_picked or not any(t.numel() for t in declared.tensors_in(values)):
                continue
            if differentiable_results(operators()[name], run(name, values)):
                return False
    return True
