"""Dtypes that few operators take: they take, give and refuse what PyTorch's do."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.core.scalar_type import dtype, named
from tengen.testing import declared
from tengen.testing.declared import calls, operators, run

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

#: What operators take is compared in all of them, what they refuse in one of each category.
LIMITED = [named(s.dtype) for s in declared.declarations().scalar_types if s.is_limited]
#: The operators that compare with PyTorch's: those that give memory as it was, or random numbers, cannot.
OPERATORS = {
    n: o
    for n, o in operators().items()
    if side.same_schema(o) and declared.deterministic(o) and declared.has_values(o)
}
CLAIMED = [(n, d) for n, o in OPERATORS.items() for d in declared.limited_dtypes_of(o)]
REFUSED = [
    n
    for n, o in OPERATORS.items()
    if not o.is_composite and not {*LIMITED} <= {*declared.limited_dtypes_of(o)}
]


def usual_of(kind: dtype) -> dtype:
    """The dtype in which numbers of a limited one are made."""
    if kind.is_complex:
        return tengen.complex64
    return tengen.float32 if kind.is_floating_point else tengen.int64


def tensors(call: Any, kind: dtype, library: Any, make: Any) -> list[Any]:
    """The arguments of a call whose random tensors are of a limited dtype, by way of a usual one."""
    usual = usual_of(kind)
    wanted = getattr(library, kind.name)

    def made(array: Any) -> Any:
        tensor = make(array)
        if not str(tensor.dtype).endswith(usual.name):
            return tensor
        return (tensor + 0 if usual.is_complex else tensor.abs()).to(wanted)

    return [kind if value is usual else value for value in call.tensors(usual, make=made)]


def outcomes(name: str, kind: dtype) -> list[tuple[Any, Any, Any]]:
    """Of each sample for such numbers the call, what it gives here, and what PyTorch gives."""
    usual = usual_of(kind)
    found = []
    for call in [c for c in calls(name) if c.takes(usual)]:
        ours = side.outcome(run, name, tensors(call, kind, tengen, tengen.from_numpy))
        theirs = side.outcome(side.run, OPERATORS[name], tensors(call, kind, torch, side.from_array))
        found.append((call, ours, theirs))
    return found


@pytest.mark.parametrize(("name", "kind"), CLAIMED, ids=str)
def test_claimed(name: str, kind: dtype) -> None:
    """The same values, of the same dtype and strides."""
    for call, ours, theirs in outcomes(name, kind):
        differs = kind.type_name in OPERATORS[name].differs
        assert side.failed(ours) == (side.failed(theirs) and not differs), f"{call}: {ours!r}, but {theirs!r}"
        if side.failed(ours) or side.failed(theirs):
            continue
        for t, e in zip(declared.flat(ours), side.flat(theirs), strict=True):
            assert side.same_dtype(t, e), f"{call}: {t.dtype} is not {e.dtype}"
            assert t.shape == tuple(e.shape), call
            assert t.stride() == e.stride() or not t.numel() or "layout" in OPERATORS[name].differs
            wide = "complex128" if t.dtype.is_complex else "float64"
            pairs = [r.to(getattr(m, wide)).flatten().tolist() for r, m in ((t, tengen), (e, torch))]
            # Of complex32 PyTorch rounds the products, too, before it adds them.
            close = 2.0**-9 * max([1.0, *map(abs, pairs[1])]) if kind.is_complex else 1e-6
            assert pairs[0] == pytest.approx(pairs[1], rel=1e-5, abs=close, nan_ok=True), call


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """What PyTorch computes for no sample is an error, which names the operator or why dtypes do not meet.

    A composite has no dtypes of its own: one that does without a part of PyTorch's says so.
    """
    for kind in {d.category: d for d in LIMITED}.values():
        if kind in declared.limited_dtypes_of(OPERATORS[name]):
            continue
        for call, ours, theirs in outcomes(name, kind):
            if side.failed(ours):
                assert isinstance(ours, (NotImplementedError, RuntimeError, TypeError)), f"{call}: {ours!r}"
            else:
                differs = kind.type_name in OPERATORS[name].differs
                assert side.failed(theirs) == differs, f"{call} in {kind} gives {ours}, but torch: {theirs}"
