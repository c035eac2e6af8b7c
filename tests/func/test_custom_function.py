"""``autograd.Function`` under transforms."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

TRANSFORMS: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "grad": lambda m, f, x: m.func.grad(lambda v: f(v).sum())(x),
    "grad_and_value": lambda m, f, x: m.func.grad_and_value(lambda v: f(v).sum())(x),
    "vjp": lambda m, f, x: m.func.vjp(f, x),
    "jvp": lambda m, f, x: m.func.jvp(f, (x,), (x,)),
    "jacrev": lambda m, f, x: m.func.jacrev(f)(x),
    "jacfwd": lambda m, f, x: m.func.jacfwd(f)(x),
    "hessian": lambda m, f, x: m.func.hessian(lambda v: f(v).sum())(x),
    "vmap": lambda m, f, x: m.vmap(f)(x),
}


def old_square(m: ModuleType) -> Any:
    """A Function whose ``forward`` is given ``ctx``."""

    class Square(m.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * 2

    return Square


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("captured", [False, True], ids=["given", "captured"])
def test_a_forward_that_is_given_ctx_is_refused(m: ModuleType, transform: str, captured: bool) -> None:
    """Also on what the transform does not see; afterwards it may be applied again."""
    square, x, other = old_square(m), m.ones(2), m.ones(2)
    with pytest.raises(RuntimeError, match="must override the setup_context"):
        TRANSFORMS[transform](m, lambda v: v * square.apply(other if captured else v), x)
    assert square.apply(x).tolist() == [1.0, 1.0]


def test_linearize_takes_it(m: ModuleType) -> None:
    found, tangent = m.func.linearize(old_square(m).apply, m.ones(2))
    assert found.tolist() == [1.0, 1.0] and tangent(m.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_an_error_inside_ends_the_transform(m: ModuleType, transform: str) -> None:
    def fail(x: Any) -> Any:
        raise KeyError(transform)

    with contextlib.suppress(KeyError):
        TRANSFORMS[transform](m, fail, m.ones(2))
    assert old_square(m).apply(m.ones(2)).tolist() == [1.0, 1.0]


def test_the_pullback_is_no_transform(m: ModuleType) -> None:
    """What ``vjp`` returns runs when the function has ended: Functions may be applied around it."""
    square = old_square(m)
    pull = m.func.vjp(lambda v: v * 3, m.ones(2))[1]
    assert square.apply(pull(m.ones(2))[0]).tolist() == [9.0, 9.0]
