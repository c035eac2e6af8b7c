"""Each operator's gradient, and its gradient's, against differences."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.testing import declared
from tengen.testing.declared import calls, operators, run
from tengen.testing.differentiable import as_function, cases, differentiable_results, kinds, nodes, recorded
from tengen.testing.numeric import check_gradient, check_second_gradient

OPERATORS = operators()
DIFFERENTIABLE = [n for n in OPERATORS if recorded(n)]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient(name: str) -> None:
    for call, kind in cases(name):
        function, inputs = as_function(call, kind)
        with what_is_implemented(name):
            check_gradient(function, inputs)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_second_gradient(name: str) -> None:
    for call, kind in cases(name):
        function, inputs = as_function(call, kind)
        with what_is_implemented(name):
            check_second_gradient(function, inputs)


class what_is_implemented:
    """Lets a composite off that is made of an operator whose derivative is declared as missing."""

    def __init__(self, name: str) -> None:
        self.composite = declared.composite(OPERATORS[name])

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        missing = "derivative for " in str(error) and "not implemented" in str(error)
        return self.composite and isinstance(error, RuntimeError) and missing


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n in nodes()])
def test_results_record_their_node(name: str) -> None:
    """A result that depends on a leaf has the Node of its declaration; under no_grad it has none."""
    for call, kind in cases(name)[:2]:
        function, inputs = as_function(call, kind)
        leaves = [t.detach().clone().requires_grad_() for t in inputs]
        assert all(r.requires_grad for r in function(*leaves)), str(call)
        with tengen.no_grad():
            assert not any(r.requires_grad for r in function(*leaves)), str(call)


def test_every_result_is_looked_at() -> None:
    """The tests above see results: an operator with derivatives has a case, or says why not."""
    unseen = [n for n in DIFFERENTIABLE if n in nodes() and not cases(n) and not excused(n)]
    assert not unseen


def excused(name: str) -> bool:
    """Whether all samples are of picked numbers or without elements."""
    for call in calls(name):
        for kind in kinds(call):
            values = call.tensors(kind)
            if call.hand_picked or not any(t.numel() for t in declared.tensors_in(values)):
                continue
            if differentiable_results(OPERATORS[name], run(name, values)):
                return False
    return True
