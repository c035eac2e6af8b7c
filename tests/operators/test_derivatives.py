"""Each operator's derivatives: reverse, reverse again, and forward mode, against differences."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import declared
import numpy as np
import pytest
from declared import calls, determined, operators, run
from differentiable import (
    NODES,
    as_function,
    cases,
    differentiable_results,
    kept_tangents,
    kinds,
    recorded,
    tangents,
)
from numeric import assert_close, check_gradient, check_second_gradient, difference, directions, inner

import tengen
from tengen.generated.jvps import JVPS

OPERATORS = operators()
DIFFERENTIABLE = [n for n in OPERATORS if recorded(n)]
FORWARD = [n for n in JVPS if n in OPERATORS and declared.deterministic(OPERATORS[n])]


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


@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n in NODES])
def test_results_record_their_node(name: str) -> None:
    """A result that depends on a leaf has the Node of its declaration; under no_grad it has none."""
    for call, kind in cases(name)[:2]:
        function, inputs = as_function(call, kind)
        leaves = [t.detach().clone().requires_grad_() for t in inputs]
        assert all(r.requires_grad for r in function(*leaves)), str(call)
        with tengen.no_grad():
            assert not any(r.requires_grad for r in function(*leaves)), str(call)


@pytest.mark.parametrize("name", FORWARD)
def test_forward_mode(name: str) -> None:
    """The declared tangent against differences."""
    for call in calls(name):
        for kind in kinds(call):
            if not call.hand_picked:
                check_tangent(call, kind)


def check_tangent(call: Any, kind: Any) -> None:
    """One call's tangent along a random direction."""
    name, operator = str(call.operator.name), call.operator
    function, inputs = as_function(call, kind)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    along = tangents(call, kind, rng)
    moving = list(declared.tensors_in(along))
    if not any(t.numel() for t in inputs) or len(moving) != len(inputs):
        return
    values = call.tensors(kind)
    result = run(name, values)
    raw = list(result) if len(operator.schema.returns) > 1 else [result]
    kept = kept_tangents(operator, JVPS[name](*values, *along, *raw))
    if operator.determined:
        kept = moved(operator, declared.flat(result), kept)
    expected = difference(function, inputs, moving)
    v = directions(expected, rng)
    assert len(kept) == len(expected), f"{call}: {len(kept)} tangents of {len(expected)} results"
    assert_close(inner(v, kept), inner(v, expected), 1e-4, f"{call} in {kind}: tangent")


def moved(operator: Any, results: list[Any], along: Sequence[Any]) -> list[Any]:
    """How what is determined of the results moves along their tangents."""
    return difference(lambda *r: determined(operator, list(r)), results, along)


def test_every_result_is_looked_at() -> None:
    """The tests above see results: an operator with derivatives has a case, or says why not."""
    unseen = [n for n in DIFFERENTIABLE if n in NODES and not cases(n) and not excused(n)]
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
