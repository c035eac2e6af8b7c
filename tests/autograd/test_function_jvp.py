"""Forward mode through a user's Function: ``jvp``, and what it may save, return and write."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd.forward.forward_grad import ForwardLevel


def apply(m: ModuleType, function: Any, *rest: Any) -> list[Any]:
    """The tangents of a Function's results, its first argument being the dual of (1, 2) and (3, 4)."""
    ad = m.autograd.forward_ad
    with ad.dual_level():
        result = function.apply(ad.make_dual(m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])), *rest)
        found = [ad.unpack_dual(r).tangent for r in (result if isinstance(result, tuple) else (result,))]
    return [None if t is None else t.tolist() for t in found]


def twice(m: ModuleType, jvp: Any) -> Any:
    """A Function that doubles, with this ``jvp``."""

    class Twice(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

    if jvp is not None:
        Twice.jvp = staticmethod(jvp)
    return Twice


def pair(m: ModuleType, jvp: Any, materialize: bool = True) -> Any:
    """A Function of two results, with this ``jvp``."""

    class Pair(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            return a * 2, b * 3

    Pair.jvp = staticmethod(jvp)
    return Pair


def test_it_is_asked_for(m: ModuleType) -> None:
    with pytest.raises(
        NotImplementedError, match=r"must implement the jvp function for custom autograd\.Function"
    ):
        apply(m, twice(m, None))
    assert apply(m, twice(m, lambda ctx, t: t * 2)) == [[6.0, 8.0]]


def test_forward_and_jvp_see_no_tangents(m: ModuleType) -> None:
    ad, seen = m.autograd.forward_ad, []

    class Cube(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, power: int) -> Any:
            ctx.save_for_forward(a, a**2)
            ctx.power = power
            seen.append(ad.unpack_dual(a * 1).tangent)
            return a**power

        @staticmethod
        def jvp(ctx: Any, a_t: Any, power_t: None) -> Any:
            a, square = ctx.saved_tensors
            seen.extend([ad.unpack_dual(a).tangent, ad.unpack_dual(a * 1).tangent, power_t])
            return ctx.power * square * a_t

    assert apply(m, Cube, 3) == [[9.0, 48.0]]
    assert seen == [None] * 4


def test_setup_context(m: ModuleType) -> None:
    class Exp(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(a: Any) -> Any:
            return a.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(output)
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * ctx.saved_tensors[0]

    np.testing.assert_allclose(apply(m, Exp), [np.exp([1.0, 2.0]) * [3.0, 4.0]], rtol=1e-6)
    ad, x = m.autograd.forward_ad, m.tensor([0.5], requires_grad=True)
    with ad.dual_level():
        result = Exp.apply(ad.make_dual(x, m.ones(1)))
        (over,) = m.autograd.grad(ad.unpack_dual(result).tangent, x, retain_graph=True)
        (gradient,) = m.autograd.grad(result, x, retain_graph=True)
        under = ad.unpack_dual(gradient).tangent
    np.testing.assert_allclose([over.item(), under.item()], [np.exp(0.5)] * 2, rtol=1e-6)


def test_what_is_saved_for_the_modes_is_kept_apart(m: ModuleType) -> None:
    ad, seen = m.autograd.forward_ad, []

    class Both(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a * 5)
            ctx.save_for_forward(a * 7)
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(ctx.saved_tensors[0].item())
            return g * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            seen.append(ctx.saved_tensors[0].item())
            return t * 2

    with ad.dual_level():
        Both.apply(ad.make_dual(m.ones(1, requires_grad=True), m.ones(1))).sum().backward()
    assert seen == [7.0, 5.0]


def test_arguments_without_tangent(m: ModuleType) -> None:
    seen = []

    def jvp(ctx: Any, a_t: Any, b_t: Any) -> Any:
        seen.append(None if b_t is None else b_t.tolist())
        return a_t * 2, (a_t if b_t is None else b_t) * 3

    ones = m.ones(2)
    assert apply(m, pair(m, jvp), ones) == [[6.0, 8.0], [0.0, 0.0]]
    assert apply(m, pair(m, jvp, materialize=False), ones) == [[6.0, 8.0], [9.0, 12.0]]
    assert seen == [[0.0, 0.0], None]


@pytest.mark.parametrize(
    "returned, message",
    [
        (lambda t: t, r"invalid number of forward gradients \(expected 2 but got 1\)"),
        (lambda t: (t, t, t), r"invalid number of forward gradients \(expected 2 but got 3\)"),
        (lambda t: (t, 3), r"\(got int\)"),
        (lambda t: (t, t[:1]), r"different size.*of size \[2\].*size \[1\]"),
    ],
)
def test_wrong_tangents(m: ModuleType, returned: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        apply(m, pair(m, lambda ctx, a_t, b_t: returned(a_t)), m.ones(2))


def test_results_that_have_no_tangent(m: ModuleType) -> None:
    class Marked(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, wrong: bool) -> Any:
            fixed, whole = a * 2, a.long()
            ctx.mark_non_differentiable(fixed)
            ctx.wrong = wrong
            return fixed, a * 3, whole

        @staticmethod
        def jvp(ctx: Any, a_t: Any, _: None) -> Any:
            return (a_t if ctx.wrong else None), a_t * 3, None

    assert apply(m, Marked, False) == [None, [9.0, 12.0], None]
    with pytest.raises(RuntimeError, match=r"gradient at position 0.*not a differentiable Tensor"):
        apply(m, Marked, True)


def test_what_was_written_to(m: ModuleType) -> None:
    class Double(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, jvp: Any) -> Any:
            ctx.mark_dirty(a)
            ctx.jvp = jvp
            return a.mul_(2)

        @staticmethod
        def jvp(ctx: Any, a_t: Any, _: None) -> Any:
            return ctx.jvp(a_t)

    assert apply(m, Double, lambda t: t.mul_(2)) == [[6.0, 8.0]]
    for wrong in (lambda t: t * 2, lambda t: t.mul_(2).clone()):
        with pytest.raises(
            RuntimeError, match=r"An inplace custom Function is not .* the forward mode gradients"
        ):
            apply(m, Double, wrong)


def test_views(m: ModuleType) -> None:
    class Column(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, fresh: bool) -> Any:
            ctx.fresh = fresh
            return a.view(2, 1)

        @staticmethod
        def jvp(ctx: Any, a_t: Any, _: None) -> Any:
            return a_t.view(2, 1).clone() if ctx.fresh else a_t.view(2, 1)

    assert apply(m, Column, False) == [[[3.0], [4.0]]]
    with pytest.raises(RuntimeError, match=r"returning a view.*but the jvp is not returning a view"):
        apply(m, Column, True)


def test_error_in_jvp_leaves_all_as_it_was(m: ModuleType) -> None:
    def failing(ctx: Any, t: Any) -> Any:
        raise ValueError("no")

    ad = m.autograd.forward_ad
    with ad.dual_level():
        dual = ad.make_dual(m.ones(2), m.ones(2))
        with pytest.raises(ValueError, match="no"):
            twice(m, failing).apply(dual)
        assert ad._is_fwd_grad_enabled() and m.is_grad_enabled()
        assert ad.unpack_dual(dual * 2).tangent.tolist() == [2.0, 2.0]


def test_only_tensors_are_saved(m: ModuleType) -> None:
    class Wrong(m.autograd.Function):  # type: ignore[name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_forward(3)
            return a

    with pytest.raises(
        (TypeError, AssertionError), match="save_for_forward expects all arguments to be tensors"
    ):
        Wrong.apply(m.ones(1))


def test_levels_nest() -> None:
    class Cube(tengen.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_forward(a)
            return a**3

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * t

    x = tengen.tensor(2.0)
    with ForwardLevel() as outer:
        dual = outer.make_dual(x, tengen.tensor(1.0))
        with ForwardLevel() as inner:
            value, tangent = inner.unpack(Cube.apply(inner.make_dual(dual, tengen.tensor(1.0))))
            pairs = outer.unpack(value), outer.unpack(tangent)
    assert [t.item() for pair in pairs for t in pair] == [8.0, 12.0, 12.0, 12.0]
