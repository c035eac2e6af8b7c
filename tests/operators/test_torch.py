"""The declared samples in PyTorch: the same values, dtypes, views and errors."""

from __future__ import annotations

from typing import Any

import pytest

from tengen.core.scalar_type import named
from tengen.testing import declared
from tengen.testing.bad_input import bad_dtypes
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import (
    aliases,
    bad_calls,
    calls,
    declared_operators,
    determined,
    flat,
    operators,
    run,
    working_dtypes,
)
from tengen.testing.samples import Call, strided

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

DECLARED = declared_operators()
SAME = {n: o for n, o in DECLARED.items() if side.same_schema(o)}
OPERATORS = [n for n in operators() if n in SAME]
WITH_ERRORS = [n for n in SAME if bad_calls(SAME[n])]
SCALARS = {named(s.dtype): s.name for s in declared.scalar_types()}


def test_same_schemas() -> None:
    """An operator of PyTorch's name has its arguments; those that nn.yaml makes are our own."""
    others = [n for n, o in DECLARED.items() if n not in SAME and side.overload(n) is not None]
    made = ("_forward", "_backward")
    differences = [n for n in others if not (DECLARED[n].mechanism == "nn" and n.endswith(made))]
    assert differences == [n for n, o in DECLARED.items() if "schema" in o.differs]


def excused(name: str) -> set[str]:
    """The dtypes in which a backward operator is not compared: its operator differs there."""
    operator = DECLARED.get(declared.made_beside(SAME[name]))
    if operator is None:
        return set()
    return set(SCALARS.values()) if "gradient" in operator.differs else set(operator.differs)


@pytest.mark.parametrize("name", OPERATORS)
def test_same_results(name: str) -> None:
    """Values, dtypes and views agree in every dtype; what is an error there is one here."""
    differences = []
    for kind, scalar in SCALARS.items():
        if scalar in excused(name):
            continue
        pairs = []
        for call in filter(lambda c: c.takes(kind), calls(name)):
            ours = side.outcome(run, name, call.tensors(kind))
            theirs = side.outcome(side.run, SAME[name], call.tensors(kind, make=side.from_array))
            pairs.append((call, ours, theirs))
        refused = any(side.failed(theirs) for _, _, theirs in pairs)
        found = [difference(call, kind, ours, theirs, refused) for call, ours, theirs in pairs]
        here = [f"{d} in {kind}" for d in found if d]
        if scalar in SAME[name].differs:
            side.fail_for(here, SAME[name], scalar)
        else:
            differences += here
    assert not differences, "\n".join(differences)


@pytest.mark.parametrize("name", [n for n in OPERATORS if aliases(SAME[n])])
def test_same_views_of_views(name: str) -> None:
    """Of tensors that are not contiguous the same views can be made, with the same strides."""
    differences = []
    for call in calls(name):
        kind = working_dtypes(call)[0]
        ours = side.outcome(run, name, call.tensors(kind, make=strided))
        there = call.tensors(kind, make=lambda array: strided(array, side.from_array))
        differences.append(difference(call, kind, ours, side.outcome(side.run, SAME[name], there), False))
    assert not any(differences), "\n".join(differences)


def difference(call: Call, kind: Any, ours: Any, theirs: Any, refused: bool) -> str:
    """How two outcomes differ; "" where they do not.

    ``refused`` says that torch does not take this dtype for all samples: it lets some pass that
    have no elements, where we ask for a dtype first.
    """
    if side.failed(ours) and side.failed(theirs):
        return ""
    if side.failed(ours) and (refused or not all(map(side.has_dtype, side.flat(theirs)))):
        return (
            "" if isinstance(ours, (NotImplementedError, RuntimeError)) else f"{call}: {side.described(ours)}"
        )
    if side.failed(ours) or side.failed(theirs):
        return f"{call}: {side.described(ours)}, but torch: {side.described(theirs)}"
    try:
        compare(call, kind, ours, theirs)
    except AssertionError as error:
        return f"{call}: {error}"
    return ""


def compare(call: Call, kind: Any, ours: Any, theirs: Any) -> None:
    """One call's results. AssertionError where they differ."""
    operator = call.operator
    if not flat(ours) and not isinstance(ours, (tuple, list)):
        assert ours == theirs or (ours != ours and theirs != theirs), f"{ours} is not {theirs}"
        return
    counts = len(flat(ours)), len(side.flat(theirs))
    assert counts[0] == counts[1], f"{counts[0]} results, not {counts[1]}"
    for t, e in zip(flat(ours), side.flat(theirs), strict=True):
        same = side.same_dtype(t, e)
        assert same, f"{t.dtype} is not {e.dtype}"
        assert tuple(t.shape) == tuple(e.shape), f"shape {tuple(t.shape)} is not {tuple(e.shape)}"
        if aliases(operator):
            same = (t.stride(), t.storage_offset()) == (e.stride(), e.storage_offset())
            assert same or t.numel() == 0, f"stride {t.stride()} is not {e.stride()}"
    if declared.deterministic(operator) and declared.has_values(operator):
        pairs = zip(determined(operator, ours), side.determined(operator, theirs), strict=True)
        for t, e in pairs:
            close(t.detach().numpy(), side.to_array(e), tolerance(operator, kind, t.dtype))


# -- errors ------------------------------------------------------------------------------------


def family(error: Any) -> type[Exception]:
    """The class of Python's own that an error is of."""
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


@pytest.mark.parametrize("name", WITH_ERRORS)
def test_same_errors(name: str) -> None:
    """A declared bad call is an error of the same kind in torch."""
    differences = []
    for bad, _ in bad_calls(SAME[name]):
        for kind in bad_dtypes(bad):
            ours = side.outcome(run, name, bad.tensors(kind))
            theirs = side.outcome(side.run, SAME[name], bad.tensors(kind, make=side.from_array))
            related = issubclass(family(ours), family(theirs)) or issubclass(family(theirs), family(ours))
            if not side.failed(theirs) or not related:
                differences.append(
                    f"{bad} in {kind}: {side.described(ours)}, but torch: {side.described(theirs)}"
                )
    side.fail_for(differences, SAME[name], "errors")
