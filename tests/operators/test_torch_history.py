"""Which results require gradients, and which have a history: as in PyTorch, for every operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen.core.scalar_type import dtype
from tengen.testing import declared
from tengen.testing.declared import calls, operators, run, working_dtypes
from tengen.testing.samples import Call

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

OPERATORS = {n: o for n, o in operators().items() if side.same_schema(o)}
#: PyTorch differentiates few operators of complex numbers, and refuses the others.
REFUSED = "does not support automatic differentiation for outputs with complex dtype"


@pytest.mark.parametrize("name", OPERATORS)
def test_same_history(name: str) -> None:
    """Every input that can requires gradients; results do, or not, as there."""
    differences = []
    for call in calls(name):
        for kind in working_dtypes(call):
            found = difference(call, kind)
            if found:
                differences.append(f"{call}: {found} in {kind}")
    if "gradient" not in OPERATORS[name].differs:
        assert not differences, "\n".join(differences)


def difference(call: Call, kind: dtype) -> str:
    """How the histories of one call's results differ; "" where they do not."""
    name = str(call.operator.name)
    ours = side.outcome(histories, call, call.tensors(kind), declared.flat, lambda v: run(name, v))
    values = call.tensors(kind, make=side.from_array)
    theirs = side.outcome(histories, call, values, side.flat, lambda v: side.run(call.operator, v))
    if side.failed(ours) and side.failed(theirs):
        return ""
    if REFUSED in str(theirs) and not side.failed(ours):
        return ""
    if side.failed(ours) or side.failed(theirs):
        return f"{side.described(ours)}, but torch: {side.described(theirs)}"
    if any(node == "NotImplemented" for node, _ in theirs) and name.partition(".")[0].endswith("_like"):
        # What the user calls does not record: PyTorch's bindings see to that, ours to it all the same.
        theirs = [("", False) for _ in theirs]
    same = len(ours) == len(theirs) and all(map(agree, ours, theirs))
    return "" if same else f"{ours}, but torch: {theirs}"


def agree(ours: tuple[str, bool], theirs: tuple[str, bool]) -> bool:
    """Whether one result is as in torch; it may have a derivative here where there is none there."""
    excused = "argument" in (ours[0], theirs[0]) or (theirs[0], ours[0]) == ("NotImplemented", "history")
    return ours == theirs or (excused and ours[1] == theirs[1])


def histories(
    call: Call, values: list[Any], flat: Callable[[Any], list[Any]], function: Callable[[Any], Any]
) -> list[Any]:
    """Of each result whether it has a history, or is an argument, and whether it requires gradients."""
    given = flat(values)
    pairs = zip(call.arguments[1:], values[1:], strict=True)
    statistics = flat([v for a, v in pairs if a.alias is not None and a.alias.write])  # have no gradients
    for t in given:
        if (t.is_floating_point() or t.is_complex()) and not any(t is s for s in statistics):
            t.requires_grad_()
    return [(described(t, given), t.requires_grad) for t in flat(function(values))]


def described(result: Any, given: list[Any]) -> str:
    """What is compared of a history: Nodes are named otherwise, save for those of no derivative."""
    if any(result is t for t in given):
        return "argument"
    if result.grad_fn is None:
        return ""
    name = result.grad_fn.name().rpartition("::")[2]
    return str(name) if name == "NotImplemented" else "history"


@pytest.mark.parametrize("name", [n for n, o in OPERATORS.items() if not declared.writes(o)])
def test_nothing_is_recorded_without_need(name: str) -> None:
    """Neither for inputs that require no gradients, nor while recording is off."""
    call = calls(name)[0]
    kind = working_dtypes(call)[0]
    assert not any(t.requires_grad or t.grad_fn for t in declared.flat(run(name, call.tensors(kind))))
    with tengen.no_grad():
        values = call.tensors(kind)
        found = histories(call, values, declared.flat, lambda v: run(name, v))
    assert not any(node == "history" or (node != "argument" and wanted) for node, wanted in found)
