"""``autograd.graph`` and its neighbours: versions, writes to saved tensors, edges, Nodes; in torch too."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import tengen


def saved_and_written(m: Any) -> tuple[Any, Any, Any]:
    a = m.ones(3, requires_grad=True)
    b = a * 2
    o = (b * b).sum()
    b.mul_(5)
    return a, b, o


# -- increment_version ------------------------------------------------------------------------


def test_a_write_that_is_only_counted(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    m.autograd.graph.increment_version(y)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_several_versions_and_what_has_none(m: Any) -> None:
    a, b = m.ones(2), m.ones(2)
    m.autograd.graph.increment_version([a, b])
    m.autograd.graph.increment_version(iter((a, a.detach())))
    assert (a._version, b._version) == (3, 1)
    with pytest.raises(RuntimeError, match="increment_version expect"):
        m.autograd.graph.increment_version(3)
    with m.inference_mode():
        c = m.ones(2)
    m.autograd.graph.increment_version([a, c])
    assert a._version == 4


# -- allow_mutation_on_saved_tensors --------------------------------------------------------


def test_saved_tensors_may_be_written_to(m: Any) -> None:
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        a, b, o = saved_and_written(m)
        assert b.tolist() == [10.0] * 3
        o.backward()
    assert a.grad.tolist() == [8.0] * 3
    _, _, o = saved_and_written(m)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        o.backward()


def test_each_write_after_each_saving(m: Any) -> None:
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        a = m.ones(3, requires_grad=True)
        b = a * 2
        first = b * b
        b.mul_(5)
        second = b * b
        b.add_(1)
        (first + second).sum().backward()
    assert a.grad.tolist() == [208.0] * 3


def test_writes_through_views_and_to_results(m: Any) -> None:
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        a = m.ones(3, requires_grad=True)
        b = a * 1
        v = b[:2]
        o = (v * v).sum()
        b.mul_(5)
        o.backward()
        assert a.grad.tolist() == [2.0, 2.0, 0.0]
        a.grad = None
        r = a.exp()
        r[0] = 3.0
        m.add(m.ones(3), 1, out=r.detach())
        r.sum().backward()
    assert a.grad[0].item() == 0 and a.grad[1].item() == pytest.approx(2.718281828)


def test_second_derivatives_of_what_was_written_to(m: Any) -> None:
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        a, _, o = saved_and_written(m)
        (g,) = m.autograd.grad(o, a, create_graph=True)
        (h,) = m.autograd.grad(g.sum(), a)
    assert h.tolist() == [8.0] * 3


def test_where_the_context_ends(m: Any) -> None:
    allow = m.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        _, _, o = saved_and_written(m)
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation"):
        o.backward()
    with allow() as context:
        _, _, o = saved_and_written(m)
        context.clear()
        with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation"):
            o.backward()
    with allow(), pytest.raises(RuntimeError, match="contexts cannot be nested"), allow():
        pass
    with pytest.raises(ValueError, match="inside"), allow():
        raise ValueError("inside")
    with allow():
        a, _, o = saved_and_written(m)
        o.backward()
    assert a.grad.tolist() == [8.0] * 3


WRITES = {
    "in place": lambda t: t.mul_(5),
    "out": lambda t: tengen.mul(t.clone(), 5, out=t),
    "out by position": lambda t: tengen.add(t.clone(), 1, alpha=7, out=t),
    "copy": lambda t: t.copy_(tengen.full_like(t, 9)),
    "index": lambda t: t.__setitem__(..., 9),
    "places": lambda t: t.index_fill_(0, tengen.tensor([0]), 9),
}


@pytest.mark.parametrize("of", [lambda t: t, lambda t: t[1:], lambda t: t[::2], lambda t: t.view(2, 2).t()])
@pytest.mark.parametrize(
    "saved", [lambda t: t, lambda t: t[1:], lambda t: t[2:].neg(), lambda t: t.view(2, 2)[1]]
)
@pytest.mark.parametrize("write", WRITES)
def test_every_write_to_memory_that_is_saved(write: str, saved: Any, of: Any) -> None:
    """Whatever part of it was saved, and whatever part is written: torch looks where the part begins."""
    with tengen.autograd.graph.allow_mutation_on_saved_tensors():
        leaf = tengen.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        base = leaf * 1
        kept = saved(base)
        square = (kept * kept).sum()
        with tengen.no_grad():
            WRITES[write](of(base))
        (found,) = tengen.autograd.grad(square, leaf)
    other = tengen.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    (expected,) = tengen.autograd.grad((saved(other * 1) ** 2).sum(), other)
    assert found.tolist() == expected.tolist()


def test_what_was_saved_is_let_go() -> None:
    with tengen.autograd.graph.allow_mutation_on_saved_tensors() as context:
        a = tengen.ones(3, requires_grad=True)
        b = a * 2
        o = (b * b).sum()
        node = weakref.ref(o.grad_fn)
        o.backward()
        del o, b
        assert node() is None and not len(context._alive)


# -- edges in the place of tensors -----------------------------------------------------------


def test_gradients_at_edges(m: Any) -> None:
    graph = m.autograd.graph
    x = m.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    edge = graph.get_gradient_edge(y)
    assert isinstance(edge, graph.GradientEdge) and edge.node is y.grad_fn and edge.output_nr == 0
    z = (y * y).sum()
    assert m.autograd.grad(z, edge, retain_graph=True)[0].tolist() == [6.0, 12.0]
    found = m.autograd.grad(z, {"x": x, "edge": edge}, retain_graph=True)
    assert list(found) == ["x", "edge"] and found["x"].tolist() == [18.0, 36.0]
    z.backward(inputs={"x": x}, retain_graph=True)
    z.backward(inputs=[edge, x], retain_graph=True)
    assert x.grad.tolist() == [36.0, 72.0]
    leaf = graph.get_gradient_edge(x)
    assert leaf.node.variable is x
    assert m.autograd.grad(z, leaf, retain_graph=True)[0].tolist() == [18.0, 36.0]
    assert m.autograd.grad(edge, x, grad_outputs=m.ones(2))[0].tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(m.ones(2))
    with pytest.raises((AttributeError, TypeError)):
        graph.get_gradient_edge(3)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a Grad"):
        m.autograd.grad((x * 2).sum(), edge, materialize_grads=True)


def test_an_edge_keeps_the_graph(m: Any) -> None:
    x = m.ones((), requires_grad=True)
    edge = m.autograd.graph.get_gradient_edge(x * 2)
    m.autograd.backward(edge)
    assert x.grad.item() == 2


# -- Nodes ------------------------------------------------------------------------------------


def test_a_node_is_a_function_of_gradients(m: Any) -> None:
    x = m.tensor([1.0, 2.0], requires_grad=True)
    node = (x * x).grad_fn
    left, right = node(m.ones(2))
    assert left.tolist() == right.tolist() == [1.0, 2.0] and left.requires_grad
    assert node(None) == (None, None)
    assert x.neg().grad_fn(m.ones(2)).tolist() == [-1.0, -1.0]  # one, and no tuple
    accumulator = node.next_functions[0][0]
    accumulator(m.ones(2))
    accumulator(m.ones(2))
    assert x.grad.tolist() == [2.0, 2.0]
    assert node.requires_grad is True
    for wrong in ((), (m.ones(2), m.ones(2)), (3,)):
        with pytest.raises(TypeError):
            node(*wrong)


def test_every_node_is_one(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    graph = m.autograd.graph
    for node in (x.exp().grad_fn, x.exp().grad_fn.next_functions[0][0], x.unbind()[0].grad_fn):
        assert isinstance(node, graph.Node) and isinstance(node, m.autograd.graph.Node)
    assert not isinstance(x, graph.Node)


# -- modes that are asked about --------------------------------------------------------------


def test_hooks_that_are_forbidden(m: Any) -> None:
    graph = m.autograd.graph

    def same(t: Any) -> Any:
        return t

    with graph.disable_saved_tensors_hooks("not here"):
        with (
            graph.disable_saved_tensors_hooks("nor here"),
            pytest.raises(RuntimeError, match="nor here"),
            graph.saved_tensors_hooks(same, same),
        ):
            pass
        with pytest.raises(RuntimeError, match="not here"), graph.saved_tensors_hooks(same, same):
            pass
    with (
        graph.saved_tensors_hooks(same, same),
        pytest.raises(RuntimeError, match="not here"),
        graph.disable_saved_tensors_hooks("not here"),
    ):
        pass
    with graph.saved_tensors_hooks(same, same), graph.saved_tensors_hooks(same, same):
        x = m.ones(2, requires_grad=True)
        (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_multithreading_is_a_word(m: Any) -> None:
    enabled = m.autograd.is_multithreading_enabled
    assert enabled()
    with m.autograd.set_multithreading_enabled(False):
        assert not enabled()
        with m.autograd.grad_mode.set_multithreading_enabled(True):
            assert enabled()
        assert not enabled()
    m.autograd.set_multithreading_enabled(False)
    assert not enabled()
    m.autograd.set_multithreading_enabled(True)
    assert enabled()


@pytest.mark.parametrize("transposed", [False, True])
def test_the_layout_policy(m: Any, transposed: bool) -> None:
    """Gradients have the layouts of their leaves under the policy, without it those that they come in."""
    policy = m.autograd.enforce_grad_layout_policy
    given = (m.zeros(2, 3).t() if transposed else m.zeros(3, 2)).detach().requires_grad_()
    other = m.ones(3, 2) if transposed else m.ones(2, 3).t()

    def strides(held: bool = False) -> Any:
        (given if held else given * 1).backward(other)
        found, given.grad = given.grad.stride(), None
        return found

    assert given.stride() != other.stride()
    assert strides() == policy()(strides)() == given.stride()
    with policy(False):
        assert policy(True)(strides)() == given.stride()
        assert strides() == other.stride()
        assert strides(held=True) == given.stride()  # it is copied anyway
        given.backward(other)
        (given * 1).backward(other)  # added to the one that is there
        assert given.grad.stride() == given.stride() and (given.grad == 2).all()
        given.grad = None
    assert policy(False)(strides)() == other.stride()
    policy(False)
    try:
        assert strides() == other.stride()
    finally:
        policy(True)
    assert strides() == given.stride()


def test_names_at_the_top(m: Any) -> None:
    assert not m.is_anomaly_enabled() and m.is_anomaly_check_nan_enabled()
    with pytest.warns(UserWarning), m.autograd.detect_anomaly(check_nan=False):
        assert m.is_anomaly_enabled() and not m.is_anomaly_check_nan_enabled()
    with m.inference_mode():
        x = m.ones(2)
    assert m.is_inference(x) and not m.is_inference(m.ones(2))
    assert m.autograd.grad_mode.inference_mode is m.inference_mode
    assert m.autograd.grad_mode.no_grad is m.no_grad


@pytest.mark.filterwarnings("ignore:volatile")
def test_variable(m: Any) -> None:
    v = m.autograd.Variable
    x = m.ones(2)
    assert isinstance(x, v) and not isinstance(3, v)
    y = v(x, requires_grad=True)
    assert y.requires_grad and y.is_leaf and y.data_ptr() == x.data_ptr()
    assert not v(y).requires_grad and v(y) is not y
    assert v().shape == (0,) and not v(x, volatile=True).requires_grad
    with pytest.raises(TypeError, match="Variable data has to be a tensor"):
        v([1.0])
