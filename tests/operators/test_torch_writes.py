"""What may be written to between a call and its backward pass: as in PyTorch, for every operator.

Which tensors a Node saves is seen by users: a write to one of them makes the backward pass an error. Each
input and each result of a sample is written to in turn.
"""

from __future__ import annotations

from typing import Any

import pytest
from sides import TENGEN
from test_torch_gradients import OPERATORS, TORCH
from writing import Place, after, named, shares, unlike, writable

from tengen.testing import declared
from tengen.testing.declared import calls, run, working_dtypes
from tengen.testing.differentiable import inputs_of
from tengen.testing.samples import Call

side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

WRITABLE = {n: o for n, o in OPERATORS.items() if not declared.writes(o)}


@pytest.mark.parametrize("name", WRITABLE)
def test_same_writes(name: str) -> None:
    """What PyTorch lets one write to we do, with its gradients; else gradients are right, or an error."""
    differences = []
    for call in calls(name):
        for kind in working_dtypes(call):
            differences += differing(call, kind)
    side.fail_for(sorted(set(differences)), WRITABLE[name], "writes")


@pytest.mark.parametrize(
    "name", [n for n in WRITABLE if not {"writes", "gradient"} & {*OPERATORS[n].differs}]
)
def test_backward_again(name: str) -> None:
    """A second backward pass is no error where it is none in PyTorch, for a Node that saves nothing."""
    for call in calls(name):
        for kind in working_dtypes(call)[:1]:
            places = inputs_of(call, call.tensors(kind))
            if places and not side.failed(side.outcome(after, TORCH, call, kind, places, None, passes=2)):
                after(TENGEN, call, kind, places, None, passes=2)


def differing(call: Call, kind: Any) -> list[str]:
    """How writes to the inputs and results of one call differ."""
    values = call.tensors(kind)
    places = inputs_of(call, values)
    if not places or side.failed(side.outcome(run, str(call.operator.name), values)):
        return []
    found = []
    shared = shares(TENGEN, call, kind) or shares(TORCH, call, kind)
    alone = [[place] for place in places] if len(places) > 1 else []
    for chosen in (places, *alone):
        if side.failed(side.outcome(after, TORCH, call, kind, chosen, None)):
            continue  # torch has no gradient to begin with
        for write in writable(TENGEN, call, kind):
            what = difference(call, kind, chosen, write, shared)
            where = f"a write to {named(call, write)}, by {', '.join(named(call, p) for p in chosen)}"
            if what:
                found.append(f"{call}: {where}: {what} in {kind}")
    return found


def difference(call: Call, kind: Any, chosen: list[Place], write: Place, shared: bool) -> str:
    """How one write differs; "" where it does not. ``shared``: results may be views."""
    ours = side.outcome(after, TENGEN, call, kind, chosen, write)
    theirs = side.outcome(after, TORCH, call, kind, chosen, write)
    if not side.failed(ours):
        if shared and side.failed(theirs):
            return f"no error, but torch: {side.described(theirs)}"
        # The gradients themselves are compared with torch's elsewhere, save where they go through views.
        return unlike(call, kind, ours, theirs if shared else after(TENGEN, call, kind, chosen, write, True))
    if side.failed(theirs) or not any(g is not None and g.any() for g in theirs):
        return ""  # of what is empty, nothing was changed
    if not shared and unlike(call, kind, theirs, after(TORCH, call, kind, chosen, write, True)):
        return ""  # torch does not see that what it saved was written to
    return f"{side.described(ours)}, but torch has no error"
