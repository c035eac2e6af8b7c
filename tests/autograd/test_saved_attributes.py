"""What Nodes show of what they saved, GradientEdge, and hooks on one saved tensor; in torch too."""

from __future__ import annotations

from typing import Any

import pytest

import tengen

FREED = "Trying to backward through the graph a second time"


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(list(values), requires_grad=True)


def test_saved_inputs(m: Any) -> None:
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    y = a * b
    node = y.grad_fn
    assert node._saved_self is a and node._saved_other is b
    assert node._raw_saved_self.data is a
    assert {"_saved_self", "_raw_saved_other"} <= set(dir(node))
    with pytest.raises(AttributeError, match="_saved_nothing"):
        node._saved_nothing  # noqa: B018
    with pytest.raises(AttributeError):
        node.nothing  # noqa: B018
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        node._saved_self  # noqa: B018
    assert node._raw_saved_self.data is None


def test_a_saved_result_has_its_history(m: Any) -> None:
    y = leaf(m, 0.0).exp()
    saved = y.grad_fn._saved_result
    assert saved.tolist() == [1.0]
    assert saved.grad_fn is y.grad_fn
    assert saved.is_leaf is False
    y.sum().backward()
    with pytest.raises(RuntimeError, match=FREED):
        y.grad_fn._saved_result  # noqa: B018


def test_named_results_and_values(m: Any) -> None:
    x = m.tensor([[3.0, 1.0], [2.0, 5.0]], requires_grad=True)
    values, indices = x.sort(1)
    assert values.grad_fn._saved_indices.tolist() == indices.tolist()
    assert not values.grad_fn._saved_indices.requires_grad
    s = x.sum(1)
    assert s.grad_fn._saved_keepdim is False
    assert s.grad_fn._saved_dim == (1,)
    assert tuple(s.grad_fn._saved_self_sym_sizes) == (2, 2)


def test_a_saved_input_that_was_written_to(m: Any) -> None:
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    y = a * b
    with m.no_grad():
        a.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.grad_fn._saved_self  # noqa: B018


def test_input_metadata(m: Any) -> None:
    y = leaf(m, 1.0, 2.0).exp()
    (found,) = y.grad_fn._input_metadata
    assert tuple(found.shape) == (2,)
    assert found.dtype is m.float32
    assert str(found.device) == "cpu"


# -- hooks on one saved tensor ------------------------------------------------------------


def test_register_hooks_on_a_saved_input(m: Any) -> None:
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    y = a * b
    raw = y.grad_fn._raw_saved_self
    seen: list[Any] = []

    def pack(t: Any) -> int:
        seen.append((t.tolist(), t.requires_grad))
        return 3

    raw.register_hooks(pack, lambda packed: m.tensor([packed + 4.0]))
    assert seen == [([1.0], False)]
    assert raw.data == 3
    shown = y.grad_fn._saved_self
    assert shown.tolist() == [7.0]
    assert shown.requires_grad and shown.is_leaf
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        raw.register_hooks(pack, pack)
    y.sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([2.0], [7.0])
    with pytest.raises(RuntimeError, match="register_hooks on a saved tensor after it has been freed"):
        raw.register_hooks(pack, pack)


def test_register_hooks_on_a_saved_result(m: Any) -> None:
    x = leaf(m, 0.0)
    y = x.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), lambda v: m.tensor(v) * 5)
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    y.sum().backward()
    assert x.grad.tolist() == [5.0]


def test_bad_hooks(m: Any) -> None:
    y = leaf(m, 0.0).exp()
    with pytest.raises(TypeError):
        y.grad_fn._raw_saved_result.register_hooks(3, 4)
    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_result.register_hooks(lambda t: t.mul_(2), lambda t: t)
    z = leaf(m, 0.0).exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: 3)
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type int"):
        z.sum().backward()


# -- GradientEdge -------------------------------------------------------------------------


def test_gradient_edges_stand_for_tensors(m: Any) -> None:
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    edge = m.autograd.graph.get_gradient_edge
    y = a * b
    assert edge(y).node is y.grad_fn and edge(y).output_nr == 0
    assert edge(a).node is y.grad_fn.next_functions[0][0]
    assert m.autograd.grad(edge(y), edge(a), retain_graph=True)[0].tolist() == [2.0]
    assert m.autograd.grad((y * 3).sum(), [edge(y), b])[0].tolist() == [3.0]
    m.autograd.backward(edge(a * b), m.ones(1))
    assert a.grad.tolist() == [2.0]
    a.grad = b.grad = None
    (a * b).sum().backward(inputs=edge(a))
    assert a.grad.tolist() == [2.0] and b.grad is None
    y = a * b
    (y * 2).sum().backward(inputs=[edge(y)])
    assert b.grad is None


def test_gradient_edges_keep_nothing_but_the_graph(m: Any) -> None:
    a = leaf(m, 1.0)
    y = a.exp()
    edge = m.autograd.graph.get_gradient_edge(y)
    z = y * 2
    del y
    assert m.autograd.grad(z.sum(), edge)[0].tolist() == [2.0]


def test_bad_gradient_edges(m: Any) -> None:
    edge = m.autograd.graph.get_gradient_edge
    with pytest.raises(RuntimeError, match="does not require gradients"):
        edge(m.ones(1))
    a = leaf(m, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        m.autograd.grad(edge(a * 2), a)
    with pytest.raises(RuntimeError, match="not have been used"):
        m.autograd.grad((a * 2).sum(), edge(a * 3))
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used"):
        m.autograd.grad((a * 2).sum(), edge(a * 3), materialize_grads=True)


def test_zeros_for_what_is_unused_stand_beside_edges(m: Any) -> None:
    a, unused = leaf(m, 1.0, 2.0), leaf(m, 3.0)
    b = a * a
    targets = m.autograd.graph.get_gradient_edge(b), unused
    found = m.autograd.grad(b.sum(), targets, materialize_grads=True)
    assert [g.tolist() for g in found] == [[1, 1], [0]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_zeros_require_gradients_as_the_others_do(m: Any, create_graph: bool) -> None:
    a, unused = leaf(m, 1.0, 2.0), leaf(m, 3.0)
    found = m.autograd.grad((a**3).sum(), (a, unused), create_graph=create_graph, materialize_grads=True)
    assert [g.requires_grad for g in found] == [create_graph, create_graph]
    if create_graph:
        assert m.autograd.grad(found[1].sum(), unused, allow_unused=True) == (None,)


def test_every_node_shows_what_it_saved() -> None:
    x = tengen.rand(3, 3, requires_grad=True)
    for y in (x.tanh(), x.softmax(0), x @ x, x[[0, 1]], x.max(0).values, x.clamp(0.1, 0.5), x.prod()):
        for name in dir(y.grad_fn):
            getattr(y.grad_fn, name)


def test_nodes_have_no_getattr() -> None:
    # With one, the interpreter no longer specialises any access to a Node's slots: 10 % of a backward pass.
    assert not hasattr(tengen.autograd.Node, "__getattr__")
