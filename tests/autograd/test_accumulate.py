"""Accumulation into leaves: what is taken over, what is copied, and that nothing is aliased."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from in_threads import in_threads

import tengen as tg
from tengen.autograd.accumulate_grad import AccumulateGrad, new_accumulator
from tengen.autograd.edge import gradient_edge
from tengen.autograd.input_buffer import add_arrays
from tengen.autograd.node import Node
from tengen.autograd.ownership import is_buffers_only, owns_memory
from tengen.kernels import cpu


def arrays(*tensors: tg.Tensor) -> list[np.ndarray]:
    return [t.detach().numpy() for t in tensors]


def assert_disjoint(*tensors: tg.Tensor) -> None:
    found = arrays(*tensors)
    for i, a in enumerate(found):
        for b in found[i + 1 :]:
            assert not np.shares_memory(a, b)


def test_no_gradient_aliases_the_given_one() -> None:
    x, w = tg.ones(3, requires_grad=True), tg.ones(3, requires_grad=True)
    given = tg.tensor([1.0, 2.0, 3.0])
    (x + w).backward(given)
    assert_disjoint(x.grad, w.grad, given)
    x.grad.mul_(0)
    assert w.grad.tolist() == given.tolist() == [1.0, 2.0, 3.0]


def test_captured_gradients_alias_nothing() -> None:
    x, w = tg.ones(3, requires_grad=True), tg.ones(3, requires_grad=True)
    given = tg.tensor([1.0, 2.0, 3.0])
    gx, gw = tg.autograd.grad(x + w, (x, w), given)
    assert_disjoint(gx, gw, given)


def test_what_is_captured_before_it_is_passed_on_is_a_copy() -> None:
    x = tg.ones(3, requires_grad=True)
    y = x + 1
    gy, gx = tg.autograd.grad((y * 2).sum(), (y, x))
    assert_disjoint(gy, gx)
    ga, gb = tg.autograd.grad((x * 2).sum(), (x, x))
    assert_disjoint(ga, gb)


def test_a_captured_gradient_is_not_copied_without_need() -> None:
    x = tg.ones(3, requires_grad=True)
    y = x * 2
    made = []

    class Recording(Node):
        __slots__ = ()

        def apply(self, grad: Any) -> tuple[Any, ...]:
            fresh = grad * 2
            made.append(cpu.data_ptr(fresh))
            return (fresh,)

    y._edge = (Recording((gradient_edge(x),), (3,), y._type), 0)
    (g,) = tg.autograd.grad(y, x, tg.ones(3))
    assert g.data_ptr() == made[0]


def test_no_gradient_aliases_what_was_saved() -> None:
    x, w = tg.ones(3, requires_grad=True), tg.tensor([2.0, 3.0, 4.0])
    y = x * w
    y.backward(tg.ones(3), retain_graph=True)
    assert_disjoint(x.grad, w, y)
    z = tg.ones(3, requires_grad=True)
    e = z.exp()
    e.backward(tg.ones(3))
    assert_disjoint(z.grad, e)


def test_no_gradient_is_an_expanded_view() -> None:
    x = tg.ones(2, 3, requires_grad=True)
    x.sum().backward()
    assert x.grad.stride() == (3, 1)
    x.grad.mul_(2)
    x.sum().backward()
    assert x.grad.tolist() == [[3.0] * 3] * 2


def test_later_passes_add_in_place() -> None:
    x = tg.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    first, pointer = x.grad, x.grad.data_ptr()
    version = first._version
    (x * 2).sum().backward()
    assert x.grad is first and x.grad.data_ptr() == pointer
    assert first.tolist() == [4.0] * 3
    assert first._version == version + 1


def test_create_graph_adds_out_of_place() -> None:
    x = tg.ones(3, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not first
    assert first.tolist() == [2.0] * 3 and x.grad.tolist() == [4.0] * 3
    assert x.grad.requires_grad


def test_the_first_array_is_taken_when_nobody_holds_it() -> None:
    x = tg.ones(4, 5, requires_grad=True)
    accumulator = new_accumulator(x)

    def run() -> int:
        array = np.full((4, 5), 2.0, np.float32)
        accumulator.apply(array)
        return cpu.data_ptr(array)

    assert run() == x.grad.data_ptr()


def test_the_first_array_is_copied_when_somebody_holds_it() -> None:
    x = tg.ones(4, 5, requires_grad=True)
    accumulator = new_accumulator(x)
    held = [np.full((4, 5), 2.0, np.float32)]

    def run() -> None:
        array = held[0]
        accumulator.apply(array)

    run()
    assert cpu.data_ptr(held[0]) != x.grad.data_ptr()


def test_an_array_that_a_view_looks_at_is_copied() -> None:
    x = tg.ones(4, 5, requires_grad=True)
    accumulator = new_accumulator(x)

    def run(views: list[np.ndarray]) -> None:
        array = np.full((4, 5), 2.0, np.float32)
        views.append(array[0])
        accumulator.apply(array)

    views: list[np.ndarray] = []
    run(views)
    assert not np.shares_memory(views[0], x.grad.numpy())


def test_the_gradient_has_the_leafs_layout() -> None:
    x = tg.tensor(np.ones((3, 2))).t().detach().requires_grad_()
    assert x.stride() == (1, 2)
    (x * tg.ones(2, 3)).sum().backward()
    assert x.grad.stride() == (1, 2)
    expanded = tg.ones(1, 3).expand(2, 3).detach().requires_grad_()
    (expanded * 2).sum().backward()
    assert expanded.grad.stride() == (3, 1)


def test_memory_is_owned_or_it_is_not() -> None:
    whole = np.ones((2, 6), np.float32)
    assert owns_memory(whole)
    assert not owns_memory(whole.reshape(3, 4))  # `whole` is held here

    def reshaped() -> np.ndarray:
        return np.ones((2, 6), np.float32).reshape(3, 4)

    def row() -> np.ndarray:
        return np.ones((2, 6), np.float32)[0]

    fresh = reshaped()
    assert owns_memory(fresh)
    part = row()
    assert not owns_memory(part)  # keeps more alive than it shows
    assert not owns_memory(np.broadcast_to(np.ones(3), (1, 3)))
    assert not owns_memory(np.frombuffer(b"12345678", np.float32))


def test_sums_go_into_buffers_of_our_own_only() -> None:
    given = np.ones(3, np.float32)
    buffers = {0: given}
    add_arrays(cpu, buffers, 0, np.ones(3, np.float32))
    assert given.tolist() == [1.0] * 3 and buffers[0] is not given
    assert is_buffers_only(buffers, 0)
    pointer = cpu.data_ptr(buffers[0])
    add_arrays(cpu, buffers, 0, given)
    assert cpu.data_ptr(buffers[0]) == pointer
    assert buffers[0].tolist() == [3.0] * 3


def test_a_leaf_has_one_accumulator_while_it_is_used() -> None:
    x = tg.ones(3, requires_grad=True)
    y, z = x * 2, x * 3
    node = y.grad_fn.next_functions[0][0]
    assert isinstance(node, AccumulateGrad)
    assert node is z.grad_fn.next_functions[0][0]
    assert node.variable is x


def test_a_leaf_that_needs_no_gradient_any_more_gets_none() -> None:
    for create_graph in (False, True):
        x, w = tg.ones(3, requires_grad=True), tg.ones(3, requires_grad=True)
        y = (x * w).sum()
        x.requires_grad_(False)
        y.backward(create_graph=create_graph)
        assert x.grad is None and w.grad.tolist() == [1.0] * 3


def test_a_leaf_that_became_a_result_is_an_error() -> None:
    x, w = tg.ones(3, requires_grad=True), tg.ones(3, requires_grad=True)
    y = (x + w).sum()
    x.detach_()
    x.mul_(w)
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.backward()


def test_threads_give_the_exact_sum() -> None:
    x = tg.ones(1000, requires_grad=True)
    passes, count = 100, 4
    barrier = threading.Barrier(count)

    def work() -> None:
        barrier.wait()
        for _ in range(passes):
            (x * 1).sum().backward()

    in_threads(lambda _: work(), range(count))
    assert x.grad.tolist() == [float(passes * count)] * 1000


def test_threads_share_a_graph() -> None:
    x = tg.ones(100, requires_grad=True)
    y = x
    for _ in range(50):
        y = y * 1 + x * 0
    total = y.sum()
    count = 4
    barrier = threading.Barrier(count)

    def work() -> None:
        barrier.wait()
        for _ in range(10):
            total.backward(retain_graph=True)

    in_threads(lambda _: work(), range(count))
    assert x.grad.tolist() == [float(10 * count)] * 100
