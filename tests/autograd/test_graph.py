"""The graph itself: its order, its depth, its life, and what a Node shows."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import tengen as tg
from tengen.autograd.edge import gradient_edge
from tengen.autograd.node import Error, Node, NotImplementedNode, UndefinedGrad


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


class Watched(Node):
    """Passes its gradient on and says when it ran."""

    __slots__ = ("label", "log")

    def apply(self, grad: Any) -> tuple[Any, ...]:
        self.log.append(self.label)
        return (grad,) * len(self.next_edges)

    apply_graph = apply


def watched(label: str, log: list[str], *inputs: tg.Tensor) -> tg.Tensor:
    """A tensor of ones whose history is a Watched."""
    out = tg.ones(1)
    node = Watched(tuple([gradient_edge(t) for t in inputs]), out._array.shape, out._type)
    node.label, node.log = label, log
    out._edge = (node, 0)
    out._requires_grad = True
    return out


def test_the_newest_node_runs_first_and_a_leaf_as_soon_as_it_can() -> None:
    log: list[str] = []
    x, w = leaf(1.0), leaf(1.0)
    x.register_hook(lambda g: log.append("x"))
    w.register_hook(lambda g: log.append("w"))
    a = watched("a", log, x)
    b = watched("b", log, a)
    c = watched("c", log, w)
    d = watched("d", log, b, c, w)
    d.backward()
    assert log == ["d", "c", "w", "b", "a", "x"]


def test_the_order_does_not_depend_on_that_of_the_roots() -> None:
    log: list[str] = []
    x = leaf(1.0)
    a = watched("a", log, x)
    b = watched("b", log, x)
    c = watched("c", log, a, b)
    tg.autograd.backward([a, c, b])
    assert log == ["c", "b", "a"]
    assert x.grad.item() == 4.0


def test_a_leaf_that_is_also_a_root() -> None:
    log: list[str] = []
    x = leaf(1.0)
    x.register_hook(lambda g: log.append(f"x {g.item()}"))
    tg.autograd.backward([x, watched("a", log, x)])
    assert log == ["a", "x 2.0"]


def test_a_chain_of_200000(capsys: pytest.CaptureFixture[str]) -> None:
    x = leaf(1.0, 1.0)
    y = x
    for _ in range(200_000):
        y = y + 0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    del y  # which takes the chain apart, without recursion


def test_a_deep_graph_that_was_never_run_can_be_dropped() -> None:
    y = leaf(1.0, 1.0)
    for _ in range(200_000):
        y = y * y
    del y


def test_a_chain_of_20000_with_create_graph() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y * 1
    (g,) = tg.autograd.grad(y, x, create_graph=True)
    assert g.item() == 1.0
    del y, g


def test_a_ladder_runs_each_node_once() -> None:
    x = leaf(1.0)
    log: list[str] = []
    y = x
    for i in range(60):  # 2**60 paths
        y = watched(str(i), log, y, y)
    y.backward()
    assert log == [str(i) for i in reversed(range(60))]
    assert x.grad.item() == 2.0**60


def test_forward_and_backward_make_no_reference_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x * x).exp() + x
        y[0].mul_(2)
        z = (y * y).sum()
        refs = [weakref.ref(z.grad_fn), weakref.ref(y.grad_fn), weakref.ref(y), weakref.ref(z)]
        z.backward()
        del y, z
        assert [r() for r in refs] == [None] * 4
        a = (x * x).exp()
        (g,) = tg.autograd.grad(a.sum(), x, create_graph=True)
        refs = [weakref.ref(a.grad_fn), weakref.ref(g.grad_fn), weakref.ref(g)]
        del a, g
        assert [r() for r in refs] == [None] * 3
    finally:
        gc.enable()


def test_a_leaf_does_not_keep_its_graph() -> None:
    gc.disable()
    try:
        x = leaf(1.0)
        y = x * x
        accumulator = weakref.ref(y.grad_fn.next_functions[0][0])
        del y
        assert accumulator() is None
    finally:
        gc.enable()


def test_what_a_node_shows() -> None:
    x = leaf(1.0)
    y = x * tg.ones(1)
    node = y.grad_fn
    assert node is y.grad_fn and node.name() == "MulBackward0"
    assert node.next_functions[0][0].name() == "AccumulateGrad"
    assert node.next_functions[1] == (None, 0)
    assert repr(node).startswith("<MulBackward0 object at 0x")
    node.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert (x * 2).grad_fn._sequence_nr() > node._sequence_nr()


def test_a_gradient_that_does_not_fit_is_an_error() -> None:
    class Wrong(Node):
        __slots__ = ()

        def apply(self, grad: Any) -> tuple[Any, ...]:
            return (tg.ones(5)._array,)

        def apply_graph(self, grad: Any) -> tuple[Any, ...]:
            return (tg.ones(5),)

    x = tg.ones(3, requires_grad=True)
    for create_graph in (False, True):
        y = tg.ones(1)
        y._edge = (Wrong((gradient_edge(x),), (1,), y._type), 0)
        y._requires_grad = True
        with pytest.raises(
            RuntimeError, match=r"Wrong returned an invalid gradient at index 0 - got \[5\] but .* \[3\]"
        ):
            y.backward(create_graph=create_graph)


def test_a_node_that_leads_to_a_newer_one_is_an_error() -> None:
    log: list[str] = []
    x = leaf(1.0)
    a = watched("a", log, x)
    b = watched("b", log, x)
    a._edge[0].next_edges = (gradient_edge(b),)
    with pytest.raises(RuntimeError, match="Watched after its turn: it is newer"):
        tg.autograd.backward([a, b])


def test_missing_derivatives_are_errors_of_the_backward_pass() -> None:
    x = leaf(1.0)
    y = tg.ones(1)
    y._edge = (NotImplementedNode("frobnicate", (gradient_edge(x),), (1,), y._type), 0)
    y._requires_grad = True
    with pytest.raises(RuntimeError, match="derivative for frobnicate is not implemented"):
        y.backward()
    y._edge = (Error("not this way", (gradient_edge(x),), (1,), y._type), 0)
    with pytest.raises(RuntimeError, match="not this way"):
        (y * 2).sum().backward()


def test_an_undefined_gradient_runs_down_to_hooks_but_not_into_grad() -> None:
    x = leaf(1.0)
    seen: list[Any] = []
    y = x * 2
    y.register_hook(seen.append)
    x.register_hook(seen.append)
    z = tg.ones(1)
    node = UndefinedGrad((gradient_edge(y),), (1,), z._type)
    node.operator = "step_"
    z._edge = (node, 0)
    z._requires_grad = True
    z.backward()
    assert seen == [None, None] and x.grad is None
    assert node.name() == "StepBackward0"


def test_what_no_gradient_reaches_is_freed_too() -> None:
    x = leaf(1.0)
    y = x * x
    z = tg.ones(1)
    node = UndefinedGrad((gradient_edge(y),), (1,), z._type)
    z._edge = (node, 0)
    z._requires_grad = True
    z.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_nodes_of_several_results() -> None:
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a, b = x.unbind(0)
    assert (a.output_nr, b.output_nr) == (0, 1)
    assert a.grad_fn is b.grad_fn
    b.retain_grad()
    (b * b).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [6.0, 8.0]]
    assert b.grad.tolist() == [6.0, 8.0]
    (only,) = tg.ones(1, 2, requires_grad=True).unbind(0)
    assert tg.autograd.grad(only.sum(), only)[0].tolist() == [1.0, 1.0]


def test_one_of_several_results_may_be_captured() -> None:
    x = tg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    a, b = x.unbind(0)
    ga, gb, gx = tg.autograd.grad((a * 2 + b * b).sum(), (a, b, x), retain_graph=True)
    assert ga.tolist() == [2.0, 2.0] and gb.tolist() == [6.0, 8.0]
    assert gx.tolist() == [[2.0, 2.0], [6.0, 8.0]]
    assert tg.autograd.grad(a.sum(), b, allow_unused=True) == (None,)
