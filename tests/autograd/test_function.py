"""Functions whose derivative the user writes; in torch too."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tengen


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(list(values), requires_grad=True)


def make(m: Any, forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A Function with these methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("G", (m.autograd.Function,), methods)


def square(m: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return make(m, forward, lambda ctx, g: 2 * ctx.saved_tensors[0] * g)


def test_forward_and_backward(m: Any) -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, n: int, unused: Any = None) -> Any:
        seen.append((ctx.needs_input_grad, m.is_grad_enabled(), x.requires_grad))
        ctx.save_for_backward(x)
        ctx.n = n
        return x * n, "text", x.long()

    def backward(ctx: Any, g: Any, text: Any, whole: Any) -> Any:
        seen.append((g.tolist(), text, whole.tolist(), ctx.saved_tensors[0].tolist(), m.is_grad_enabled()))
        return g * ctx.n, None, None, None

    x = leaf(m, 1.0, 2.0)
    y, text, whole = make(m, forward, backward).apply(x, 2)
    assert (y.tolist(), text, whole.tolist(), whole.requires_grad) == ([2.0, 4.0], "text", [1, 2], False)
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "GBackward"
    assert len(y.grad_fn.next_functions) == 1
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert seen == [((True, False), False, True), ([1.0, 1.0], None, [0, 0], [1.0, 2.0], False)]
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.grad_fn.saved_tensors  # noqa: B018


def test_setup_context(m: Any) -> None:
    class Scale(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any, n: int = 3) -> Any:
            return x * n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.n = inputs[1]
            ctx.save_for_backward(inputs[0], output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert ctx.saved_tensors[1].grad_fn is y.grad_fn
            return g * ctx.n, None

    x = leaf(m, 1.0)
    for y in (Scale.apply(x), Scale.apply(x, 3), Scale.apply(x, n=3)):
        y.sum().backward()
    assert x.grad.tolist() == [9.0]


def test_twice_differentiable(m: Any) -> None:
    x = leaf(m, 3.0)
    (g,) = m.autograd.grad(square(m).apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [6.0]
    assert m.autograd.grad(g.sum(), x)[0].tolist() == [2.0]


def test_vjp_is_another_name(m: Any) -> None:
    def build(**methods: Any) -> Any:
        given = {name: staticmethod(f) for name, f in methods.items()}
        return type("H", (m.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2), **given})

    x = leaf(m, 3.0)
    build(vjp=lambda ctx, g: g * 7).apply(x).sum().backward()
    assert x.grad.tolist() == [7.0]
    with pytest.raises(RuntimeError, match="both 'backward' and 'vjp'"):
        build(vjp=lambda ctx, g: g, backward=lambda ctx, g: g).apply(x).sum().backward()
    with pytest.raises(NotImplementedError, match="either the backward or vjp method"):
        build().apply(x).sum().backward()


def test_forward_must_be_there(m: Any) -> None:
    class Nothing(m.autograd.Function):  # type: ignore[misc, name-defined]
        pass

    with pytest.raises(NotImplementedError, match="must implement the forward function"):
        Nothing.apply(m.ones(1))
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        made = Nothing()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        made(3)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        (lambda m: (m.ones(2), None, None), None, ""),
        (lambda m: None, None, ""),
        (lambda m: m.ones(3, 2), None, ""),
        (lambda m: m.ones(2).double(), None, ""),
        (lambda m: (m.ones(2), m.ones(2)), RuntimeError, r"number of gradients \(expected 1, got 2\)"),
        (lambda m: (), RuntimeError, r"number of gradients \(expected 1, got 0\)"),
        (lambda m: 3, RuntimeError, r"expected Variable or None \(got int\)"),
        (lambda m: [m.ones(2)], RuntimeError, r"expected Variable or None \(got list\)"),
        (lambda m: m.ones(3), RuntimeError, r"invalid gradient at index 0 - got \[3\]"),
    ],
)
def test_what_backward_returns(m: Any, given: Any, error: Any, match: str) -> None:
    x = leaf(m, 1.0, 2.0)
    y = make(m, lambda ctx, x: x * 2, lambda ctx, g: given(m)).apply(x)
    if error is None:
        y.sum().backward()
        assert x.grad is None or x.grad.dtype is m.float32
    else:
        with pytest.raises(error, match=match):
            y.sum().backward()


def test_a_gradient_of_what_is_no_tensor(m: Any) -> None:
    x = leaf(m, 1.0, 2.0)
    g = make(m, lambda ctx, x, n: x * n, lambda ctx, g: (g, g))
    with pytest.raises(RuntimeError, match="different than None at position 2"):
        g.apply(x, 3).sum().backward()
    g.apply(x, m.ones(2)).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_returned_input_is_a_view(m: Any) -> None:
    x = leaf(m, 1.0, 2.0) * 1
    for forward in (lambda ctx, x: x, lambda ctx, x: x.view(2, 1)):
        y = make(m, forward, lambda ctx, g: g.view(2) * 5).apply(x)
        assert y is not x and y._is_view() and y._base is x
        with pytest.raises(RuntimeError, match="created inside a custom Function"):
            y.mul_(2)
    _, second = make(m, lambda ctx, x: (x * 2, x), lambda ctx, g, h: g).apply(x)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        second.mul_(2)


def test_an_input_without_gradient_that_is_returned(m: Any) -> None:
    x, z = leaf(m, 1.0), m.ones(1)
    _, b = make(m, lambda ctx, x, z: (x * 2, z), lambda ctx, g, h: (g + h, None)).apply(x, z)
    assert b is not z and b.requires_grad and not z.requires_grad
    b.sum().backward()
    assert x.grad.tolist() == [1.0]


def double_in_place(ctx: Any, x: Any) -> Any:
    x.mul_(2)
    ctx.mark_dirty(x)
    return x


def test_mark_dirty(m: Any) -> None:
    x = leaf(m, 1.0, 2.0)
    g = make(m, double_in_place, lambda ctx, g: g * 10)
    a = x * 1
    y = g.apply(a)
    assert y is a and not y._is_view() and y.grad_fn.name() == "GBackward"
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        g.apply(x)


def test_mark_dirty_of_a_view(m: Any) -> None:
    x = leaf(m, 1.0, 2.0)
    a = x * 1
    v = a[0]
    y = make(m, double_in_place, lambda ctx, g: g * 10).apply(v)
    assert y is v and a.grad_fn.name().endswith("CopySlices")
    a.sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]

    def two(ctx: Any, x: Any) -> Any:
        return double_in_place(ctx, x), x * 2

    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        make(m, two, lambda ctx, g, h: g).apply((leaf(m, 1.0, 2.0) * 1)[0])


def test_bad_marks(m: Any) -> None:
    x = leaf(m, 1.0) * 1

    def not_returned(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 2

    def no_tensor(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(3)
        return x * 2

    def saves_number(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(3)
        return x * 2

    with pytest.raises(RuntimeError, match="marked as dirty during the forward method were not returned"):
        make(m, not_returned, lambda ctx, g: g).apply(x)
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables"):
        make(m, no_tensor, lambda ctx, g: g).apply(x)
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0"):
        make(m, saves_number, lambda ctx, g: g).apply(x)
    assert m.is_grad_enabled()


def test_mark_non_differentiable(m: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    x = leaf(m, 1.0)
    seen: list[Any] = []
    a, b = make(m, forward, lambda ctx, g, h: (seen.append(h.tolist()), g)[1]).apply(x)
    assert a.requires_grad and not b.requires_grad and b.grad_fn is None
    a.sum().backward()
    assert seen == [[0.0]]


@pytest.mark.parametrize("value", [True, False])
def test_materialize_grads(m: Any, value: bool) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(value)
        return x * 2, x * 3

    seen: list[Any] = []
    x = leaf(m, 1.0)
    a, _ = make(m, forward, lambda ctx, g, h: (seen.append(h), g)[1]).apply(x)
    a.sum().backward()
    assert [None if h is None else h.tolist() for h in seen] == [[0.0] if value else None]


def test_saved_values(m: Any) -> None:
    x = leaf(m, 1.0)
    y = square(m).apply(x)
    with m.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()

    def forward(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(None, out)
        return out

    y = make(m, forward, lambda ctx, g: g * ctx.saved_tensors[1]).apply(x)
    assert y.grad_fn.saved_tensors[0] is None
    assert y.grad_fn.saved_tensors[1].grad_fn is y.grad_fn
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saved_tensors_hooks(m: Any) -> None:
    x = leaf(m, 1.0)
    packed: list[Any] = []
    with m.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(t.tolist()), t)[1], lambda t: t * 2):
        y = square(m).apply(x)
    y.sum().backward()
    assert packed == [[1.0]] or packed == [[1.0]] * 2  # the second of an operator in forward
    assert x.grad.tolist() == [4.0]


def test_nothing_is_recorded(m: Any) -> None:
    x = leaf(m, 1.0)
    with m.no_grad():
        assert not square(m).apply(x).requires_grad
    assert not square(m).apply(m.ones(2)).requires_grad


def test_once_differentiable(m: Any) -> None:
    once = m.autograd.function.once_differentiable
    g = make(m, lambda ctx, x: x * 2, once(lambda ctx, g: g * 2))
    x = leaf(m, 1.0)
    (d,) = m.autograd.grad(g.apply(x).sum(), x, create_graph=True)
    assert not d.requires_grad and d.tolist() == [2.0]
    y = g.apply(x)
    (d,) = m.autograd.grad((y * y).sum(), x, create_graph=True)
    assert d.requires_grad
    with pytest.raises(RuntimeError, match="trying to differentiate twice"):
        d.sum().backward()


def test_hooks_of_a_function(m: Any) -> None:
    x = leaf(m, 1.0)
    y = square(m).apply(x)
    seen: list[Any] = []
    y.grad_fn.register_hook(lambda i, o: seen.append((len(i), len(o))))
    y.register_hook(lambda g: g * 3)
    y.sum().backward()
    assert seen == [(1, 1)]
    assert x.grad.tolist() == [6.0]


def test_an_error_in_backward_comes_through(m: Any) -> None:
    def backward(ctx: Any, g: Any) -> Any:
        raise KeyError("mine")

    x = leaf(m, 1.0)
    with pytest.raises(KeyError, match="mine"):
        make(m, lambda ctx, x: x * 2, backward).apply(x).sum().backward()
    assert m.is_grad_enabled()


def test_the_same_result_twice(m: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    x = leaf(m, 1.0)
    a, b = make(m, forward, lambda ctx, g, h: g + h).apply(x)
    (a * 3 + b).sum().backward()
    assert x.grad.tolist() == [4.0]


def test_no_cycle() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        out = x.exp()
        ctx.save_for_backward(x, out)
        return out

    gc.disable()
    try:
        y = make(tengen, forward, lambda ctx, g: g * ctx.saved_tensors[1]).apply(leaf(tengen, 1.0))
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None
    finally:
        gc.enable()


def test_any_attribute_may_be_set_on_ctx(m: Any) -> None:
    """Whatever the Node calls its own."""
    names = [
        "shape",
        "type",
        "extra",
        "next_edges",
        "sequence_nr",
        "keep",
        "wrap",
        "release",
        "ctx",
        "x",
    ]

    def forward(ctx: Any, x: Any) -> Any:
        for name in names:
            assert not hasattr(ctx, name) or callable(getattr(ctx, name)) or name == "ctx"
            setattr(ctx, name, f"my {name}")
        ctx.save_for_backward(x)
        return x * 2, x * 3

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        assert [getattr(ctx, name) for name in names] == [f"my {name}" for name in names]
        assert ctx.saved_tensors[0].tolist() == [1.0, 2.0] and ctx.needs_input_grad == (True,)
        assert ctx.next_functions[0][0].name().endswith("AccumulateGrad") and ctx.name() == "GBackward"
        return g * 2 + h * 3

    x = leaf(m, 1.0, 2.0)
    y, z = make(m, forward, backward).apply(x)
    assert y.grad_fn.x == "my x" and not hasattr(y.grad_fn, "nothing")
    (g,) = m.autograd.grad(y.sum() + z.sum(), x)
    assert g.tolist() == [5.0, 5.0]
