"""Gradients that are summed before they are reduced: what many steps send to one small leaf."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd import engine


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.numpy(), np.asarray(expected), rtol=1e-5, atol=1e-6)


def test_many_steps_reduce_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    settle = engine.settle
    monkeypatch.setattr(engine, "settle", lambda *args: made.append(1) or settle(*args))
    b = tengen.ones(3, requires_grad=True)
    x = tengen.zeros(4, 3)
    for _ in range(5):
        x = x * 2 + b
    x.backward(tengen.ones(4, 3))
    close(b.grad, np.full(3, 4.0 * 31))
    assert len(made) == 1


def test_shapes_that_differ_meet_at_one_leaf() -> None:
    b = tengen.ones(3, requires_grad=True)
    y = (tengen.ones(4, 3) * b).sum() + (tengen.ones(2, 5, 3) * b).sum() + (b * 3).sum() + b.sum()
    y.backward()
    close(b.grad, np.full(3, 4.0 + 10.0 + 3.0 + 1.0))


def test_large_gradients_are_reduced_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(engine, "settle", never)
    b = tengen.ones(2, requires_grad=True)
    (tengen.ones(10_000, 2) + b).sum().backward()
    close(b.grad, [10_000.0, 10_000.0])


def test_what_arrives_stays_whole() -> None:
    """The first array that waits is also another leaf's gradient: the sum is not formed in it."""
    b = tengen.ones(3, requires_grad=True)
    x = tengen.ones(4, 3, requires_grad=True)
    (((x + b) * 2 + b) * 5).backward(tengen.ones(4, 3))
    close(x.grad, np.full((4, 3), 10.0))
    close(b.grad, np.full(3, 4 * 15.0))


def test_hooks_and_retained_gradients_see_the_sum() -> None:
    b = tengen.ones(3, requires_grad=True)
    c = b * 1
    c.retain_grad()
    seen: list[Any] = []
    c.register_hook(seen.append)
    b.register_hook(seen.append)
    y = (tengen.ones(4, 3) * c).sum() + (tengen.ones(4, 3) * 2 * c).sum()
    y.backward()
    assert len(seen) == 2
    for found in (*seen, c.grad, b.grad):
        close(found, np.full(3, 12.0))


def test_captured_gradients_are_the_sum() -> None:
    b = tengen.ones(3, requires_grad=True)
    c = b * 2
    y = (tengen.ones(4, 3) * c).sum() + (tengen.ones(4, 3) * c).sum()
    at_c, at_b = tengen.autograd.grad(y, [c, b])
    close(at_c, np.full(3, 8.0))
    close(at_b, np.full(3, 16.0))


def test_a_function_of_the_users_own_may_write_to_what_it_is_given() -> None:
    class Doubled(tengen.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.mul_(2)

    b = tengen.ones(3, requires_grad=True)
    x = tengen.ones(4, 3, requires_grad=True)
    c = b * 1  # older, so that it waits while the function runs
    (Doubled.apply(x) + c).backward(tengen.ones(4, 3))
    close(b.grad, np.full(3, 4.0))
    close(x.grad, np.full((4, 3), 2.0))


def test_a_shape_that_does_not_fit_is_an_error() -> None:
    class Wrong(tengen.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return tengen.ones(4, 7)

    b = tengen.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"invalid gradient at index 0 - got \[4, 7\]"):
        (Wrong.apply(b) + (tengen.ones(2, 3) * b)).sum().backward()


def test_anomaly_mode_and_the_profiler_see_the_same() -> None:
    def run() -> Any:
        b = tengen.ones(3, requires_grad=True)
        x = tengen.zeros(4, 3)
        for _ in range(3):
            x = x * 2 + b
        x.sum().backward()
        return b.grad

    with pytest.warns(UserWarning, match="Anomaly Detection"), tengen.autograd.detect_anomaly():
        close(run(), np.full(3, 28.0))
    with tengen.autograd.profiler.profile():
        close(run(), np.full(3, 28.0))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64"])
def test_other_dtypes(dtype: str) -> None:
    b = tengen.ones(3, dtype=getattr(tengen, dtype), requires_grad=True)
    x = tengen.zeros(4, 3, dtype=getattr(tengen, dtype))
    for _ in range(3):
        x = x * 2 + b
    x.backward(tengen.ones_like(x))
    assert b.grad is not None and b.grad.dtype is b.dtype
    close(b.grad.to(tengen.complex64).abs(), np.full(3, 28.0))
