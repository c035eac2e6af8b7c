"""The gradients of the declared samples in PyTorch: of the same inputs and results, with the same values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sides import TENGEN, Side, cotangent, start

from tengen.core.scalar_type import named
from tengen.testing import declared
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import calls, operators, run
from tengen.testing.differentiable import all_inputs, inputs_of
from tengen.testing.samples import Call

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

INEXACT = {named(s.dtype): s.name for s in declared.scalar_types() if s.category not in ("bool", "integral")}
OPERATORS = {
    n: o
    for n, o in operators().items()
    if declared.deterministic(o) and declared.has_values(o) and o.factory is None and side.same_schema(o)
}


@pytest.mark.parametrize("name", OPERATORS)
def test_same_gradients(name: str) -> None:
    """The gradients for the same random gradients of the results, wherever torch has any."""
    operator = OPERATORS[name]
    differences = []
    for call in calls(name):
        has = declared.dtypes_of(operator) or list(INEXACT)
        for kind in (d for d in INEXACT if d in has and call.takes(d) and INEXACT[d] not in operator.differs):
            found = difference(call, kind)
            if found:
                differences.append(f"{call}: {found} in {kind}")
    side.fail_for(differences, operator, "gradient")


def difference(call: Call, kind: Any) -> str:
    """How the gradients of one call differ; "" where they do not, or torch has none."""
    if side.failed(side.outcome(run, str(call.operator.name), call.tensors(kind))):
        return ""  # test_same_results looks at that
    values = call.tensors(kind)
    for places in (all_inputs(call, values), inputs_of(call, values)):
        theirs = side.outcome(gradients, TORCH, call, kind, places)
        if not side.failed(theirs):
            break
    else:
        return "torch has no gradient" if "gradient" in call.operator.differs else ""
    ours = side.outcome(gradients, TENGEN, call, kind, places)
    if side.failed(ours):
        return str(side.described(ours))
    try:
        compare(call, kind, ours, theirs)
    except AssertionError as error:
        return str(error)
    return ""


def compare(call: Call, kind: Any, ours: Any, theirs: Any) -> None:
    """Which results are recorded, and the gradients; None counts as zero."""
    if any(e is not None and e.any() for e in theirs[1]):
        assert ours[0] == theirs[0], f"results that require grad: {ours[0]}, but torch: {theirs[0]}"
    assert len(ours[1]) == len(theirs[1])
    for g, e in zip(ours[1], theirs[1], strict=True):
        if g is None or e is None:
            rest = g if e is None else e
            assert rest is None or not rest.any(), f"the gradient {g} is not {e}"
            continue
        close(g, e, 10 * tolerance(call.operator, kind), "gradient")


TORCH = side.SIDE


def gradients(of: Side, call: Call, kind: Any, places: Sequence[Any]) -> tuple[list[bool], list[Any]]:
    """Which results are recorded, and the gradients of the inputs at these places."""
    values = call.tensors(kind, make=of.make)
    inputs = [values[i] if j is None else values[i][j] for i, j in places]
    for t in inputs:
        t.requires_grad_()
    results = of.unique(call.operator, of.call(call, start(call, values)))
    recorded = [bool(r.requires_grad) for r in results]
    wanted = [r for r in results if r.requires_grad]
    if not wanted:
        return recorded, [None] * len(inputs)
    seeds = [of.make(cotangent(r, i)).to(r.dtype) for i, r in enumerate(wanted)]
    found = of.library.autograd.grad(wanted, inputs, seeds, allow_unused=True)
    return recorded, [None if g is None else of.array(g) for g in found]
