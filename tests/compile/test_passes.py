"""The compiler's passes: what they make of a program's text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen.ir.fuse.memory import Plan
from tengen.ir.fuse.nodes import live
from tengen.ir.fuse.schedule import Schedule
from tengen.ir.fuse.text import memory_text, program_text, schedule_text
from tengen.ir.fuse.views import merged, reshaped

pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")
from tengen.compilation.capture import captured
from tengen.jit.trace import record


def passes(function: Callable[..., Any], *inputs: Any) -> tuple[str, str, str]:
    """The texts of a function's nodes, groups and memory."""
    graph = record(function, inputs, {}, "function").graph.inlined().without_dead()
    constants = [(each.value, each.tensor) for each in graph.constants]
    found = captured(graph, [*zip(graph.inputs, inputs, strict=True), *constants])
    outputs = list(dict.fromkeys([view.node for view in found.outputs]))
    nodes = live(found.program.nodes, outputs)
    schedule = Schedule(nodes)
    return program_text(nodes), schedule_text(schedule), memory_text(Plan(schedule, outputs, {}))


def ones(*shape: int) -> tengen.Tensor:
    return tengen.ones(*shape)


def test_elementwise_operators_are_one_loop() -> None:
    nodes, groups, memory = passes(lambda x, y: (x * y).tanh() + x, ones(4, 8), ones(8))
    assert nodes == (
        "%0 : float32[4, 8] = a0 * a1 (input0, input1[0, 1])\n"
        "%1 : float32[4, 8] = tanh(a0) (%0)\n"
        "%2 : float32[4, 8] = a0 + a1 (%1, input0)"
    )
    assert groups == "0: [4, 8]: %0, %1, %2"
    assert memory == "%0: output 0\ninput0: input 0\ninput1: input 1\narena: 0"


def test_reductions_are_passes_over_rows() -> None:
    _, groups, memory = passes(lambda x: tengen.softmax(x, -1), ones(4, 80))
    assert groups == "0: [4]|[80]: row %0; %1, %2, row %3; %4"
    assert "row" in memory  # what a later pass reads is kept for one row at a time


def test_other_reductions_are_known_behind_the_loops() -> None:
    _, groups, _ = passes(lambda x: (x * 2, (x * 2).sum(0)), ones(40, 8))
    assert groups == "0: [40, 8]: %0, late %1"


def test_short_reductions_are_operations_of_slices() -> None:
    nodes, _, _ = passes(lambda x: x.sum(0), ones(3, 8))
    assert nodes == (
        "%0 : float32[8] = a0 + a1 (input0[1], input0[1] + 8)\n%1 : float32[8] = a0 + a1 (%0, input0[1] + 16)"
    )
    nodes, _, _ = passes(lambda x: (x * x).sum(1), ones(8, 3))
    assert "sum over [1] of [8, 3]" in nodes  # whose elements are in registers


def test_views_are_no_nodes() -> None:
    nodes, _, _ = passes(lambda x: x.t()[1:].reshape(-1, 2) + 1, ones(4, 8))
    assert nodes == "%0 : float32[7, 4] = a0 (input0[1, 8] + 1)\n%1 : float32[14, 2] = a0 + 1.0 (%0[2, 1])"


def test_what_is_alike_is_computed_once() -> None:
    nodes, _, _ = passes(lambda x: x.exp() * x.exp(), ones(4))
    assert nodes == "%0 : float32[4] = exp(a0) (input0)\n%1 : float32[4] = a0 * a0 (%0)"


def test_numbers_are_parts_of_expressions() -> None:
    nodes, _, _ = passes(lambda x: x * 1.0 + tengen.zeros(4), ones(4))
    assert nodes == "%0 : float32[4] = a0 + 0.0 (input0)"


def test_gradients_of_parts_are_one_buffer() -> None:
    def function(x: tengen.Tensor) -> tengen.Tensor:
        found = tengen.func.grad(lambda x: x[0].exp().sum() + x[1].sin().sum() + x[2].cos().sum())(x)
        assert isinstance(found, tengen.Tensor)
        return found

    nodes, _, _ = passes(function, ones(3, 5))
    assert nodes.splitlines()[-1].startswith("%")
    assert nodes.count("pieces") == 1
    assert ", else 0" not in nodes


def test_products_lie_as_they_are() -> None:
    nodes, groups, _ = passes(lambda a, b: a @ b.t(), ones(4, 8), ones(6, 8))
    assert nodes == "%0 : float32[4, 6] = product (4, 8, 6) (input0[8, 1], input1[1, 8])"
    assert groups == "0: call %0"


def test_memory_is_used_again() -> None:
    def function(x: tengen.Tensor) -> tengen.Tensor:
        for _ in range(6):
            x = (x @ x) * 0.5
        return x

    *_, memory = passes(function, ones(16, 16))
    assert int(memory.rpartition(" ")[2]) == 2 * 16 * 16 * 4


@pytest.mark.parametrize(
    ("shape", "strides", "new", "found"),
    [
        ((4, 8), (8, 1), (32,), (1,)),
        ((4, 8), (1, 4), (32,), None),
        ((4, 8), (1, 4), (2, 2, 8), (2, 1, 4)),
        ((4, 1, 8), (16, 0, 1), (4, 2, 4), (16, 4, 1)),
        ((2, 3, 4), (24, 4, 1), (2, 12), (24, 1)),
        ((2, 3, 4), (24, 4, 1), (6, 4), None),
        ((5,), (0,), (5, 1), (0, 0)),
        ((1, 1), (7, 9), (1,), (1,)),
    ],
)
def test_views_in_other_shapes(shape: Any, strides: Any, new: Any, found: Any) -> None:
    assert reshaped(shape, strides, new) == found


def test_loops_are_merged_where_all_accesses_allow() -> None:
    assert merged((4, 8), [(8, 1), (8, 1)]) == [(32, (0, 1))]
    assert merged((4, 8), [(8, 1), (0, 1)]) == [(4, (0,)), (8, (1,))]
    assert merged((4, 8, 2), [(16, 2, 1), (0, 2, 1)]) == [(4, (0,)), (16, (1, 2))]
    assert merged((), []) == []


# -- indices -------------------------------------------------------------------------------------


def test_writes_at_indices_are_loops_over_what_is_written() -> None:
    nodes, groups, memory = passes(
        lambda t, i, v: t.index_add(0, i, v.exp()), ones(5, 3), tengen.tensor([4, 0]), ones(2, 3)
    )
    assert nodes == (
        "%0 : float32[2, 3] = exp(a0) (input2)\n"
        "%1 : bool[2] = a0 >= 0 (input1)\n"
        "%2 : bool[2] = a0 < 5 (input1)\n"
        "%3 : bool[2] = a0 & a1 (%1, %2)\n"
        "%4 : int64[2] = checked (input1, %3)\n"
        "%5 : float32[5, 3] = add in a copy by [0, 1] and 3 of [2, 3] (%4[1, 0], %0, input0[])"
    )
    assert groups == "0: [2]: %0, %1, %2, %3\n1: [2, 3]: %4, late %5"
    assert memory.endswith("arena: 64")  # of the index alone


def test_places_in_constant_steps_are_views() -> None:
    nodes, _, _ = passes(lambda i: i * tengen.arange(2, 10, 2), tengen.ones(6, 4, dtype=tengen.int64))
    assert nodes == "%0 : int64[6, 4] = a0 * a1 (input0, places[0, 2] + 2)"
    nodes, _, _ = passes(lambda x: tengen.unfold_copy(x, 1, 4, 2) + 1, ones(6, 8))
    assert nodes == "%0 : float32[6, 3, 4] = a0 + 1.0 (input0[8, 2, 1])"


def test_what_one_later_loop_reads_is_computed_there() -> None:
    def function(x: tengen.Tensor) -> tengen.Tensor:
        scaled = x * 2
        return scaled + (x.sum(0) + 1).sum()

    _, groups, memory = passes(function, ones(40, 80))
    assert groups == "0: [40, 80]: late %0\n1: []|[80]: %1, row %2\n2: [40, 80]: %3, %4"
    assert "%3:" not in memory
