"""What a Function's ``ctx`` says and takes, and what is an error there; in torch too."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tengen


def function(
    m: Any,
    forward: Callable[..., Any],
    backward: Callable[..., Any] = lambda ctx, *grads: grads[0],
    **attributes: Any,
) -> Any:
    """A Function of these methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (m.autograd.Function,), methods | attributes)


def saving(ctx: Any, a: Any) -> Any:
    ctx.save_for_backward(a)
    return a * 2


def leaf(m: Any) -> Any:
    return m.tensor([1.0, 2.0], requires_grad=True)


# -- which gradients are wanted ----------------------------------------------------------------


def test_needs_input_grad_is_what_forward_was_given(m: Any) -> None:
    """Whatever a backward pass wants of it: what requires gradients may be asked for."""
    seen: list[Any] = []

    def forward(ctx: Any, a: Any, b: Any, k: int) -> Any:
        seen.append(ctx.needs_input_grad)
        return a * b

    def backward(ctx: Any, grad: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return grad, grad, None

    f = function(m, forward, backward)
    x, w = leaf(m), leaf(m)
    y = f.apply(x, w, 3).sum()
    m.autograd.grad(y, x, retain_graph=True)
    y.backward(inputs=[w])
    assert x.grad is None and w.grad.tolist() == [1.0, 1.0]
    f.apply(x, w.detach(), 3).sum().backward()
    assert seen == [(True, True, False)] * 3 + [(True, False, False)] * 2


def test_gradients_that_have_not_come(m: Any) -> None:
    seen: list[Any] = []

    def backward(ctx: Any, first: Any, second: Any) -> Any:
        seen.append((first, second))

    def plain(ctx: Any, a: Any) -> Any:
        return a * 1, a * 2

    def by_method(ctx: Any, a: Any) -> Any:
        ctx.set_materialize_grads(False)
        return a * 1, a * 2

    def by_attribute(ctx: Any, a: Any) -> Any:
        ctx.materialize_grads = False
        return a * 1, a * 2

    x = leaf(m)
    for forward in (plain, by_method, by_attribute):
        function(m, forward, backward).apply(x)[0].sum().backward()
    assert [first.tolist() for first, _ in seen] == [[1.0, 1.0]] * 3
    assert seen[0][1].tolist() == [0.0, 0.0] and seen[1][1] is None and seen[2][1] is None
    assert x.grad is None


# -- what was saved ----------------------------------------------------------------------------


def test_saved_tensors_that_are_let_go_on_access(m: Any) -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        (a,) = ctx.saved_tensors
        return grad * a

    f = function(m, saving, backward, clear_saved_tensors_on_access=True)
    x = leaf(m)
    y = f.apply(x).sum()
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once"):
        y.backward()


def test_saved_tensors_are_freed_while_backward_still_runs(m: Any) -> None:
    dead: list[bool] = []

    def forward(ctx: Any, a: Any) -> Any:
        kept = a * 2
        ctx.kept = weakref.ref(kept)
        ctx.save_for_backward(kept)
        return a * 3

    def backward(ctx: Any, grad: Any) -> Any:
        (kept,) = ctx.saved_tensors
        result = grad * kept
        del kept
        dead.append(ctx.kept() is None)
        return result

    for clear in (True, False):
        function(m, forward, backward, clear_saved_tensors_on_access=clear).apply(leaf(m)).sum().backward()
    assert dead == [True, False]


def test_saved_tensors_after_they_were_freed(m: Any) -> None:
    y = function(m, saving, lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(m))
    y.sum().backward()
    for again in (lambda: y.grad_fn.saved_tensors, lambda: y.sum().backward()):
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            again()


def kept(ctx: Any, a: Any, into: list[Any]) -> Any:
    into.append(ctx)
    result = a * 2
    ctx.save_for_backward(a, result)
    ctx.note = "kept"
    return result


def test_a_ctx_that_is_kept_keeps_what_was_saved(m: Any) -> None:
    """Also when nothing else of the graph is there any more."""
    found: list[Any] = []
    double = function(m, lambda ctx, a: kept(ctx, a, found))
    x = leaf(m)
    for keep_graph in (True, False):
        y = double.apply(x * 1)
        if not keep_graph:
            del y
        gc.collect()
        ctx = found.pop()
        a, result = ctx.saved_tensors
        assert a.tolist() == [1.0, 2.0] and result.tolist() == [2.0, 4.0]
        assert result.grad_fn.name() == "MadeBackward" and ctx.needs_input_grad == (True,)
        assert ctx.next_functions[0][0].name() == "MulBackward0" and ctx.note == "kept"
    (result * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        ctx.saved_tensors  # noqa: B018


def test_a_ctx_of_a_call_that_was_not_recorded(m: Any) -> None:
    found: list[Any] = []
    with m.no_grad():
        function(m, lambda ctx, a: kept(ctx, a, found)).apply(leaf(m))
    assert found[0].saved_tensors == () and found[0].needs_input_grad == (True,)


def test_a_ctx_that_was_kept_is_freed_with_its_graph() -> None:
    found: list[Any] = []
    y = function(tengen, lambda ctx, a: kept(ctx, a, found)).apply(leaf(tengen))
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is not None
    found.clear()
    gc.collect()
    assert node() is None


def test_only_tensors_are_saved(m: Any) -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(a, None, 3)
        return a * 2

    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 2"):
        function(m, forward).apply(leaf(m))


# -- marks ---------------------------------------------------------------------------------------


def test_marks_are_for_tensors(m: Any) -> None:
    def dirty(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(3)
        return a * 2

    def fixed(ctx: Any, a: Any) -> Any:
        ctx.mark_non_differentiable("a")
        return a * 2

    x = leaf(m)
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables"):
        function(m, dirty).apply(x)
    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable arguments"):
        function(m, fixed).apply(x)
    assert m.is_grad_enabled()


def test_dirty_inputs(m: Any) -> None:
    def returned(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a.mul_(2))
        return a

    def not_returned(ctx: Any, a: Any) -> Any:
        ctx.mark_dirty(a.mul_(2))
        return a.clone()

    x = leaf(m)
    b = x * 1
    c = function(m, returned, lambda ctx, g: g * 2).apply(b)
    assert c is b and b.grad_fn.name() == "MadeBackward" and b.tolist() == [2.0, 4.0]
    c.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        function(m, returned).apply(leaf(m))
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward"):
        function(m, not_returned).apply(x * 1)


def test_results_that_are_not_differentiable(m: Any) -> None:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any) -> Any:
        mask = a > 1
        ctx.mark_non_differentiable(mask)
        return a * 2, mask

    def backward(ctx: Any, grad: Any, none: Any) -> Any:
        seen.append((none.dtype, none.tolist()))
        return grad * 2

    x = leaf(m)
    result, mask = function(m, forward, backward).apply(x)
    assert result.requires_grad and not mask.requires_grad and mask.is_leaf
    result.sum().backward()
    assert seen == [(m.bool, [False, False])] and x.grad.tolist() == [2.0, 2.0]


def test_an_input_that_is_returned_is_a_view(m: Any) -> None:
    x = leaf(m)
    y = function(m, lambda ctx, a: a, lambda ctx, g: g * 3).apply(x)
    assert y is not x and y._is_view() and y.grad_fn.name() == "MadeBackward"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        y.add_(1)


# -- gradients that are returned ---------------------------------------------------------------

RETURNED: dict[str, tuple[Callable[..., Any], str | None]] = {
    "enough": (lambda ctx, g: (g, g), None),
    "trailing None": (lambda ctx, g: (g, g, None, None), None),
    "summed over": (lambda ctx, g: (g.expand(3, 2), g), None),
    "another dtype": (lambda ctx, g: (g.double(), g), None),
    "one": (lambda ctx, g: g, "incorrect number of gradients .expected 2, got 1"),
    "too many": (lambda ctx, g: (g, g, g), "incorrect number of gradients .expected 2, got 3"),
    "none at all": (lambda ctx, g: (), "incorrect number of gradients .expected 2, got 0"),
    "a number": (lambda ctx, g: (3, g), "expected Variable or None .got int"),
    "another shape": (lambda ctx, g: (g.new_ones(5), g), "returned an invalid gradient at index 0"),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_backward_returns(m: Any, name: str) -> None:
    backward, message = RETURNED[name]
    x, w = leaf(m), leaf(m)
    loss = function(m, lambda ctx, a, b: a * b, backward).apply(x, w).sum()
    if message is None:
        loss.backward()
        assert x.grad.dtype is m.float32 and x.grad.shape == (2,)
        return
    with pytest.raises(RuntimeError, match=message):
        loss.backward()
    assert x.grad is None and w.grad is None


# -- how it is called ----------------------------------------------------------------------------


def test_forward_without_ctx(m: Any) -> None:
    seen: list[Any] = []

    class Times(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(a: Any, k: float = 2.0) -> Any:
            return a * k

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            seen.append((inputs[1], output.grad_fn))
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.k, None

    x = leaf(m)
    (Times.apply(x, 5.0) + Times.apply(x) + Times.apply(x, k=3.0)).sum().backward()
    assert x.grad.tolist() == [10.0, 10.0] and seen == [(5.0, None), (2.0, None), (3.0, None)]


@pytest.mark.filterwarnings("ignore:.*should not be instantiated")
def test_the_legacy_style(m: Any) -> None:
    class Old(m.autograd.Function):  # type: ignore[misc, name-defined]
        def forward(self, a: Any) -> Any:
            return a * 2

    legacy = "Legacy autograd function with non-static forward method is deprecated"
    with pytest.raises(RuntimeError, match=legacy):
        Old()(leaf(m))


def test_once_differentiable(m: Any) -> None:
    modes: list[bool] = []

    @m.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        modes.append(m.is_grad_enabled())
        return grad * ctx.saved_tensors[0]

    f = function(m, saving, backward)
    x = leaf(m)
    assert m.autograd.grad(f.apply(x).sum(), x)[0].tolist() == [1.0, 2.0]
    (g,) = m.autograd.grad((f.apply(x) * x).sum(), x, create_graph=True)
    assert g.requires_grad and modes == [False, False]
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked"):
        g.sum().backward()


def test_methods_that_are_missing(m: Any) -> None:
    class Nothing(m.autograd.Function):  # type: ignore[misc, name-defined]
        pass

    class Half(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Nothing.apply(leaf(m))
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp method"):
        Half.apply(leaf(m)).sum().backward()


def test_an_error_in_a_method_leaves_the_modes_as_they_were(m: Any) -> None:
    def fail(ctx: Any, *args: Any) -> Any:
        raise ValueError("mine")

    x = leaf(m)
    with pytest.raises(ValueError, match="mine"):
        function(m, fail).apply(x)
    assert m.is_grad_enabled()
    with pytest.raises(ValueError, match="mine"):
        function(m, saving, fail).apply(x).sum().backward()
    assert m.is_grad_enabled() and x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_no_cycle_is_made() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(tengen)
        y = function(tengen, saving, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x)
        node = weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert node() is None
    finally:
        gc.enable()
