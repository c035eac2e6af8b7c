"""Hooks of Nodes and accumulators, of several tensors, and at the end of a pass; in torch too."""

from __future__ import annotations

from typing import Any

import pytest
from in_threads import in_threads

import tengen


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(list(values), requires_grad=True)


def plain(value: Any) -> Any:
    """Tensors as lists, in whatever they are."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return tuple(plain(v) for v in value) if isinstance(value, tuple | list) else value


def test_the_order_of_all_hooks(m: Any) -> None:
    x = leaf(m, 1.0, 2.0)
    y = x.exp().log()  # Nodes of one input in both
    log: list[Any] = []

    def note(name: str) -> Any:
        return lambda *given: log.append((name, len(given)))

    y.register_hook(note("tensor 1"))
    y.retain_grad()
    y.register_hook(note("tensor 2"))
    y.grad_fn.register_hook(note("post"))
    y.grad_fn.register_prehook(note("pre"))
    exp = y.grad_fn.next_functions[0][0]
    accumulator = exp.next_functions[0][0]
    accumulator.register_hook(lambda i, o: log.append(("acc post", plain(i), len(o))))
    accumulator.register_prehook(note("acc pre"))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("post acc", p is x, p.grad is not None)))
    x.register_hook(note("leaf"))
    y.sum().backward()
    assert log == [
        ("tensor 1", 1),
        ("tensor 2", 1),
        ("pre", 1),
        ("post", 2),
        ("leaf", 1),
        ("acc pre", 1),
        ("post acc", True, True),
        ("acc post", (), 1),
    ]
    assert accumulator.variable is x


@pytest.mark.parametrize("graph", [False, True])
def test_hooks_of_nodes_replace_gradients(m: Any, graph: bool) -> None:
    x = leaf(m, 1.0, 2.0)
    y = x.exp()
    seen: list[Any] = []

    def before(grads: Any) -> Any:
        seen.append(plain(grads))
        return (grads[0] * 10,)

    def after(inputs: Any, outputs: Any) -> Any:
        seen.append(plain(outputs))
        return (inputs[0] * 0 + 7,)

    y.grad_fn.register_prehook(before)
    y.grad_fn.register_hook(after)
    y.backward(m.ones(2), create_graph=graph)
    assert seen == [([1.0, 1.0],), ([10.0, 10.0],)]
    assert x.grad.tolist() == [7.0, 7.0]


def test_a_gradient_taken_away(m: Any) -> None:
    x = leaf(m, 1.0)
    y = x.exp()
    handle = y.grad_fn.register_prehook(lambda grads: (None,))
    y.sum().backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    with y.grad_fn.register_hook(lambda i, o: (None,)):
        y.sum().backward(retain_graph=True)
    assert x.grad is None
    y.sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (lambda m: 3, TypeError, "expected tuple, but hook.*returned 'int'"),
        (lambda m: m.ones(2), TypeError, "expected tuple, but hook.*returned 'Tensor'"),
        (lambda m: (1,), TypeError, "returned 'int'"),
        (lambda m: (), RuntimeError, r"incorrect number of values \(got 0, but expected 1\)"),
        (lambda m: (m.ones(3),), RuntimeError, "'my_hook' has changed the size of value"),
        (lambda m: (m.ones(2).double(),), RuntimeError, "'my_hook' has changed the type of value"),
    ],
)
def test_bad_results(m: Any, register: str, value: Any, error: type[Exception], match: str) -> None:
    def my_hook(*given: Any) -> Any:
        return value(m)

    x = leaf(m, 1.0, 2.0)
    y = x.exp()
    handle = getattr(y.grad_fn, register)(my_hook)
    with pytest.raises(error, match=match):
        y.sum().backward(retain_graph=True)
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_post_accumulate_hooks(m: Any) -> None:
    x = leaf(m, 1.0)
    x.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    (x * 2).sum().backward()
    (x * 2).sum().backward()  # another accumulator
    assert x.grad is None
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        m.ones(1).register_post_accumulate_grad_hook(lambda p: None)
    other = leaf(m, 1.0)
    other.register_post_accumulate_grad_hook(lambda p: 3)
    with pytest.raises(TypeError):
        (other * 2).sum().backward()


def test_hooks_of_an_accumulator_go_with_it(m: Any) -> None:
    x = leaf(m, 1.0)
    seen: list[str] = []
    x.register_hook(lambda g: seen.append("tensor"))
    y = x.exp()
    y.grad_fn.next_functions[0][0].register_prehook(lambda g: seen.append("node"))
    y.sum().backward()
    del y
    x.exp().sum().backward()
    assert seen == ["tensor", "node", "tensor"]


def test_a_hook_registered_on_the_tensor_after_one_on_its_accumulator(m: Any) -> None:
    x = leaf(m, 1.0)
    seen: list[str] = []
    y = x.exp()
    y.grad_fn.next_functions[0][0].register_prehook(lambda g: seen.append("node"))
    x.register_hook(lambda g: seen.append("tensor"))
    y.sum().backward()
    assert seen == ["tensor", "node"]


def test_multi_grad_hooks(m: Any) -> None:
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    c, d = a * b, a * 3
    seen: list[Any] = []
    every = m.autograd.graph.register_multi_grad_hook((a, c, d), lambda gs: seen.append(plain(gs)))
    c.sum().backward(retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    assert seen == [([2.0], [1.0], None), ([5.0], [1.0], [1.0])]
    with every:
        pass
    seen.clear()
    handle = m.autograd.graph.register_multi_grad_hook((c, d), lambda g: seen.append(plain(g)), mode="any")
    (c + d).sum().backward(retain_graph=True)
    c.sum().backward(retain_graph=True)
    handle.remove()
    c.sum().backward()
    assert seen == [[1.0], [1.0]]
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        m.autograd.graph.register_multi_grad_hook((a,), print, mode="x")


def test_callbacks_at_the_end_of_a_pass(m: Any) -> None:
    queue = m.autograd.Variable._execution_engine.queue_callback
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        queue(lambda: None)
    x = leaf(m, 1.0)
    seen: list[Any] = []

    def last() -> None:
        seen.append(x.grad.tolist())
        if len(seen) < 2:
            queue(last)

    y = x * 2
    y.register_hook(lambda g: queue(last))
    y.sum().backward()
    assert seen == [[2.0], [2.0]]


def test_a_hook_that_raises_leaves_nothing_behind(m: Any) -> None:
    x = leaf(m, 1.0)
    y = x * 2
    called: list[int] = []

    def fail(*given: Any) -> None:
        m.autograd.Variable._execution_engine.queue_callback(lambda: called.append(1))
        raise KeyError("mine")

    for register in (y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook):
        with register(fail), pytest.raises(KeyError, match="mine"):
            y.sum().backward(retain_graph=True)
        assert m.is_grad_enabled()
        with pytest.raises(RuntimeError, match="during backward"):
            m.autograd.Variable._execution_engine.queue_callback(print)
    y.sum().backward()
    assert x.grad.tolist() == [2.0]
    assert not called


def test_a_backward_pass_inside_a_hook(m: Any) -> None:
    x, w = leaf(m, 1.0), leaf(m, 3.0)

    def inner(grad: Any) -> None:
        with m.enable_grad():
            (w * w).sum().backward()

    y = x * 2
    y.register_hook(inner)
    y.sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([2.0], [6.0])


def test_variable(m: Any) -> None:
    x = m.autograd.Variable(m.ones(2), requires_grad=True)
    assert x.requires_grad and isinstance(x, m.Tensor) and isinstance(x, m.autograd.Variable)
    assert not isinstance(3, m.autograd.Variable)


def test_multi_grad_hooks_of_several_threads() -> None:
    a = leaf(tengen, 1.0)
    seen: list[Any] = []
    tengen.autograd.graph.register_multi_grad_hook((a,), lambda gs: seen.append(plain(gs)))
    in_threads(lambda _: (a * 2).sum().backward(), range(8))
    assert seen == [([2.0],)] * 8
    assert a.grad.tolist() == [16.0]
