"""The rarer parts of Functions: private switches of ``ctx``, old names, subclasses, views in ``jvp``."""

from __future__ import annotations

from typing import Any

import pytest

import tengen


def function(m: Any, forward: Any, backward: Any = lambda ctx, *grads: grads[0], jvp: Any = None) -> Any:
    """A Function of these methods."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if jvp is not None:
        methods["jvp"] = staticmethod(jvp)
    return type("Made", (m.autograd.Function,), methods)


def leaf(m: Any) -> Any:
    return m.tensor([1.0, 2.0], requires_grad=True)


def saving(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * 2


# -- gradients of results that have none -------------------------------------------------------


def gradients_seen(m: Any, switch: bool | None) -> list[Any]:
    """What ``backward`` is given, where of three results only the first is used and one has no gradient."""
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        if switch is not None:
            ctx._materialize_non_diff_grads = switch
        marked = x * 2
        ctx.mark_non_differentiable(marked)
        return x * 1, marked, x.to(m.int32), x * 3

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend([ctx._materialize_non_diff_grads, *[g if g is None else g.tolist() for g in grads]])
        return grads[0]

    function(m, forward, backward).apply(leaf(m))[0].sum().backward()
    return seen


def test_results_without_a_gradient_need_not_have_zeros(m: Any) -> None:
    zeros = [0.0, 0.0]
    assert gradients_seen(m, None) == [True, [1.0, 1.0], zeros, [0, 0], zeros]
    assert gradients_seen(m, True) == gradients_seen(m, None)
    assert gradients_seen(m, False) == [False, [1.0, 1.0], None, None, zeros]
    with pytest.raises(TypeError):
        gradients_seen(m, 3)  # type: ignore[arg-type]


# -- views -------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_is", [True, False])
def test_what_is_purely_a_view_may_be_written_to(m: Any, as_is: bool) -> None:
    def forward(ctx: Any, x: Any, pure: bool) -> Any:
        ctx._is_pure_view = pure
        return x if as_is else x.view(4)

    f = function(m, forward, lambda ctx, grad: (grad.view(2, 2), None))
    x = m.ones(2, 2, requires_grad=True)
    base = x * 1
    view = f.apply(base, True)
    assert view._is_view() and view._base is base
    view.mul_(3)
    base.sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        f.apply(x * 1, False).mul_(3)


def test_an_input_of_a_subclass_is_returned_as_one(m: Any) -> None:
    class Own(m.Tensor):  # type: ignore[misc, name-defined]
        pass

    f = function(m, lambda ctx, x: x)
    x = m.ones(2).as_subclass(Own)
    for _ in range(2):
        y = f.apply(x)
        assert type(y) is Own and y is not x and y.requires_grad is x.requires_grad and y._is_view()
        x.requires_grad_()
    f.apply(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert type(f.apply(m.ones(2))) is m.Tensor


# -- old names ---------------------------------------------------------------------------------


def test_saved_variables_is_the_old_name(m: Any) -> None:
    seen = []

    def backward(ctx: Any, grad: Any) -> Any:
        with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated"):
            seen.extend(ctx.saved_variables)
        return grad

    x = leaf(m)
    y = function(m, saving, backward).apply(x)
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated"):
        assert y.grad_fn.saved_variables[0] is x
    y.sum().backward()
    assert seen[0] is x


def test_what_was_saved_is_gone_after_the_pass(m: Any) -> None:
    y = function(m, saving).apply(leaf(m))
    assert len(y.grad_fn._raw_saved_tensors) == 1
    y.sum().backward()
    for name in ("_raw_saved_tensors", "saved_tensors"):
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            getattr(y.grad_fn, name)
    z = leaf(m)[m.tensor([0])]
    assert len(z.grad_fn._raw_saved_indices) == 1
    z.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.grad_fn._raw_saved_indices  # noqa: B018


def test_mark_shared_storage_says_that_it_is_old(m: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        with pytest.warns(FutureWarning, match="mark_shared_storage.* deprecated"):
            ctx.mark_shared_storage((x, x))
        return x * 2

    assert function(m, forward).apply(m.ones(2)).tolist() == [2.0, 2.0]


def test_classes(m: Any) -> None:
    module = m.autograd.function
    f = function(m, lambda ctx, x: x * 2)
    node = f.apply(leaf(m)).grad_fn
    assert isinstance(node, module.BackwardCFunction) and type(node) is f._backward_cls
    assert node._forward_cls is f and isinstance(f, module.FunctionMeta)

    class Old(module.InplaceFunction):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = leaf(m)
    Old.apply(x * 1).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        assert Old(True).inplace is True


def test_once_differentiable_hands_on_keywords(m: Any) -> None:
    backward = m.autograd.function.once_differentiable(lambda ctx, grad, scale=1.0: grad * scale)
    assert backward(None, m.ones(2), scale=3.0).tolist() == [3.0, 3.0]


# -- jvp ---------------------------------------------------------------------------------------


def tangents(m: Any, f: Any, *rest: Any) -> list[Any]:
    """The tangents of the results, of a dual and of what has no tangent."""
    forward = m.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(m.ones(2, 2), m.full((2, 2), 2.0))
        found = f.apply(dual, *rest)
        results = found if isinstance(found, tuple) else (found,)
        return [forward.unpack_dual(r).tangent.tolist() for r in results]


def test_only_what_can_have_a_tangent_has_a_zero_one(m: Any) -> None:
    seen: list[Any] = []

    def jvp(ctx: Any, tangent: Any, *rest: Any) -> Any:
        seen.extend([r if r is None else (r.dtype, r.tolist()) for r in rest])
        return tangent * 2

    f = function(m, lambda ctx, x, *rest: x * 2, jvp=jvp)
    rest = m.ones(2, dtype=m.int64), 3, "a", m.ones(2, dtype=m.bool), m.ones(2), None
    assert tangents(m, f, *rest) == [[[4.0, 4.0], [4.0, 4.0]]]
    assert seen == [None, None, None, None, (m.float32, [0.0, 0.0]), None]


def test_the_tangent_of_a_view_is_a_view_of_the_tangent(m: Any) -> None:
    def of(jvp: Any, *rest: Any) -> Any:
        return tangents(m, function(m, lambda ctx, x, *rest: x.view(4), jvp=jvp), *rest)

    assert of(lambda ctx, t: t.view(4)) == [[2.0] * 4]
    with pytest.raises(RuntimeError, match="but the jvp is not returning a view of the given grad input"):
        of(lambda ctx, t: t.clone().view(4))
    with pytest.raises(RuntimeError, match="but the jvp is not returning a view"):
        of(lambda ctx, t: t.repeat(2, 1)[0].clone().repeat(2))


def test_a_view_of_what_has_no_tangent_may_have_any(m: Any) -> None:
    f = function(m, lambda ctx, x, y: (x * 1, y.view(2)), jvp=lambda ctx, t, u: (t * 1, m.ones(2)))
    assert tangents(m, f, m.ones(2)) == [[[2.0, 2.0], [2.0, 2.0]], [1.0, 1.0]]


# -- several passes at once ----------------------------------------------------------------------


def square_by_functions(m: Any) -> Any:
    """``x * x`` by a Function whose ``forward`` is given ctx; its derivatives are such Functions, too."""

    class Derivative(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, g: Any, x: Any) -> Any:
            ctx.save_for_backward(g, x)
            ctx.save_for_forward(g, x)
            return g * x * 2

        @staticmethod
        def backward(ctx: Any, h: Any) -> Any:
            g, x = ctx.saved_tensors
            return Derivative.apply(h, x), Derivative.apply(h, g)

        @staticmethod
        def jvp(ctx: Any, g_t: Any, x_t: Any) -> Any:
            g, x = ctx.saved_tensors
            return (g_t * x + g * x_t) * 2

    class Square(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Derivative.apply(g, *ctx.saved_tensors)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * t

    return Square


def test_several_passes_through_functions_that_are_given_ctx(m: Any) -> None:
    """Batches of gradients and tangents transform nothing: what ``vmap`` refuses is allowed."""
    square = square_by_functions(m)
    x = m.tensor([1.0, 2.0, 3.0], dtype=m.float64, requires_grad=True)
    for create_graph in (False, True):
        (rows,) = m.autograd.grad(
            square.apply(x),
            x,
            m.eye(3, dtype=m.float64),
            is_grads_batched=True,
            create_graph=create_graph,
        )
        assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
    calculus = m.autograd.functional
    for strategy in ("reverse-mode", "forward-mode"):
        rows = calculus.jacobian(square.apply, x, vectorize=True, strategy=strategy)
        assert rows.tolist() == [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
        hessian = calculus.hessian(
            lambda x: square.apply(x).sum(), x, vectorize=True, outer_jacobian_strategy=strategy
        )
        assert hessian.tolist() == [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    checks = {"check_batched_grad": True, "check_forward_ad": True, "check_batched_forward_grad": True}
    assert m.autograd.gradcheck(square.apply, (x,), **checks)
    assert m.autograd.gradgradcheck(square.apply, (x,), check_batched_grad=True)
    with pytest.raises(RuntimeError, match="setup_context"):
        m.func.vmap(square.apply)(x.detach())


def test_gradients_of_several_passes_are_differentiable() -> None:
    """The loop over the batch is recorded. (torch loses the history.)"""
    x = tengen.tensor([1.0, 2.0], requires_grad=True)
    (rows,) = tengen.autograd.grad(
        square_by_functions(tengen).apply(x), x, tengen.eye(2), is_grads_batched=True, create_graph=True
    )
    assert tengen.autograd.grad(rows.sum(), x)[0].tolist() == [2.0, 2.0]


def test_backward_may_record_while_several_passes_run(m: Any) -> None:
    class Square(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with m.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                return g * m.autograd.grad((x * x).sum(), x)[0]

    x = m.tensor([1.0, 2.0], requires_grad=True)
    (rows,) = m.autograd.grad(Square.apply(x), x, m.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
