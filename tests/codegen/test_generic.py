"""Methods in a few words: what the flat ones become for Types where size counts more than speed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tengen.codegen.model.methods import CallMethod, KernelMethod
from tengen.codegen.model.results import Cast, Relaid, Result, ResultKind
from tengen.codegen.specialise.generic import generic, make_cold_generic
from tengen.codegen.specialise.hoist import ClassNode
from tengen.ir.expressions import Name
from tengen.ir.reader import read_expression as read
from tengen.ir.writer import write

RESULT = Result("r", "out", Name("T"))
FLAT = KernelMethod(
    "mul_Tensor",
    "mul.Tensor",
    (("self", "Tensor"), ("other", "Tensor")),
    "Tensor",
    read("self._array * other._array"),
    (RESULT,),
    tensors=("self", "other"),
    arguments=read("(self, other)"),
)
GIVEN = "run_kernel(T, 'mul_Tensor', (self, other),"
START = f"{GIVEN} lambda: self._array * other._array"
SECOND = replace(RESULT, variable="r1", optional=True)


@pytest.mark.parametrize(
    ("change", "call"),
    [
        ({}, f"{START}, result_type=T)"),
        ({"results": (replace(RESULT, type=None),)}, f"{START})"),
        ({"results": (replace(RESULT, cast=Cast.ALWAYS),)}, f"{START}, result_type=T, store=T.store)"),
        (
            {"results": (replace(RESULT, type=None, cast=Cast.UNDIRECTED),)},
            f"{START}, store=T.store_computed if dtype is None else None)",
        ),
        (
            {"results": (replace(RESULT, relaid=Relaid(read("r.ndim"), read("a(r) if flag else b(r)"))),)},
            f"{START}, result_type=T, layout=lambda r: (a(r) if flag else b(r)) if r.ndim else r)",
        ),
        ({"may_be_scalars": True}, f"{START}, result_type=T, as_array=_asarray)"),
        (
            {"call": read("a if b else c"), "operands": ("self",), "blocked": read("in_blocks()")},
            f"{GIVEN} lambda: (a if b else c) if self._array.size < LARGE else in_blocks(), result_type=T)",
        ),
        (
            {"call": read("_self * _self"), "locals": (("_self", read("self._array")),)},
            f"{GIVEN} lambda _self=self._array: _self * _self, result_type=T)",
        ),
        (
            {"arguments": None},
            'run_factory(T, "mul_Tensor", (self, other), lambda: self._array * other._array, result_type=T)',
        ),
        (
            {"arguments": None, "tensors": (), "call": read("zeros()")},
            'run_factory(T, "mul_Tensor", (), lambda: zeros(), result_type=T)',
        ),
        (
            {"arguments": None, "tensors": ("self",), "results": (replace(RESULT, kind=ResultKind.VIEW),)},
            'run_view(T, "mul_Tensor", (self,), lambda: self._array * other._array, result_type=T)',
        ),
        (
            {
                "results": (RESULT, replace(RESULT, variable="r1", optional=True)),
                "structure": "pair",
            },
            f"pair({START.replace('run_kernel', 'run_kernels')}, result_type=T))",
        ),
    ],
)
def test_calls(change: dict[str, object], call: str) -> None:
    made = generic(replace(FLAT, **change))  # type: ignore[arg-type]
    assert write(made.call) == write(read(call))
    assert (made.name, made.operator, made.signature) == (FLAT.name, FLAT.operator, FLAT.signature)


def test_what_hot_types_run_stays_flat() -> None:
    """Theirs, and what they inherit; not what they override, and nothing of their sisters."""
    hot = ClassNode("hot", methods={"own": FLAT})
    cold = ClassNode("cold", methods={"inherited": FLAT})
    top = ClassNode("top", [hot, cold], {"own": FLAT, "inherited": FLAT})
    make_cold_generic(top, {"hot"})
    flat = {(node.name, n) for node in (top, hot, cold) for n, m in node.methods.items() if m is FLAT}
    assert flat == {("hot", "own"), ("top", "inherited")}
    assert isinstance(cold.methods["inherited"], CallMethod)
