"""What is no gradient, and no mode, is an error of the right class, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def through(m: Any, gradient: Callable[[Any], Any], dtype: Any) -> Any:
    """The gradient of a leaf behind a Function whose backward gives ``gradient(grad)``."""

    class F(m.autograd.Function):  # type: ignore[misc]  # of either library
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return gradient(grad)

    leaf = m.ones(3, dtype=dtype, requires_grad=True)
    F.apply(leaf).abs().sum().backward()
    return leaf.grad


@pytest.mark.parametrize(
    ("gradient", "dtype"),
    [
        (lambda g: g * 1j, "float32"),
        (lambda g: g.to("meta"), "float32"),
        (lambda g: g[:2], "float32"),
        (lambda g: g.sum(), "float32"),
        (lambda g: g.real.long(), "complex64"),
        (lambda g: (g, g), "float32"),
        (lambda g: 1.0, "float32"),
    ],
)
def test_gradients_that_do_not_fit(m: Any, gradient: Callable[[Any], Any], dtype: str) -> None:
    with pytest.raises(RuntimeError, match=r"FBackward|isFloatingType|expected Variable"):
        through(m, gradient, getattr(m, dtype))


@pytest.mark.parametrize(
    ("gradient", "dtype"),
    [
        (lambda g: g.double(), "float32"),
        (lambda g: g.long(), "float32"),
        (lambda g: g.real, "complex64"),
        (lambda g: g.expand(2, 3), "float32"),
        (lambda g: None, "float32"),
        (lambda g: (g, None), "float32"),
    ],
)
def test_gradients_that_are_made_to_fit(m: Any, gradient: Callable[[Any], Any], dtype: str) -> None:
    found = through(m, gradient, getattr(m, dtype))
    assert found is None or (found.shape == (3,) and found.dtype == getattr(m, dtype))


@pytest.mark.parametrize("name", ["sum", "prod", "nansum", "cumsum", "cumprod"])
def test_a_result_without_gradients_has_no_history(m: Any, name: str) -> None:
    """An integer asked for of what requires gradients is an error, and none where nothing is recorded."""
    x = m.ones(3, requires_grad=True)
    arguments = (0,) if name.startswith("cum") else ()
    with pytest.raises(RuntimeError, match="Autograd not support dtype: Long"):
        getattr(m, name)(x, *arguments, dtype=m.int64)
    with m.no_grad():
        assert not getattr(m, name)(x, *arguments, dtype=m.int64).requires_grad
    assert not getattr(m, name)(x.detach(), *arguments, dtype=m.int64).requires_grad
    assert getattr(m, name)(x, *arguments, dtype=m.float64).requires_grad


SWITCHES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "set_grad_enabled": (lambda m, v: m.set_grad_enabled(v), lambda m: m.is_grad_enabled()),
    "set_detect_anomaly": (
        lambda m, v: m.autograd.set_detect_anomaly(v),
        lambda m: m.is_anomaly_enabled(),
    ),
    "check_nan": (
        lambda m, v: m.autograd.set_detect_anomaly(True, v),
        lambda m: m.is_anomaly_enabled(),
    ),
    "set_multithreading_enabled": (
        lambda m, v: m.autograd.set_multithreading_enabled(v),
        lambda m: m.is_grad_enabled(),
    ),
    "set_fwd_grad_enabled": (
        lambda m, v: m.autograd.forward_ad._set_fwd_grad_enabled(v),
        lambda m: m.is_grad_enabled(),
    ),
}


@pytest.mark.parametrize("value", ["x", 1, None, [], 0.0])
@pytest.mark.parametrize("name", SWITCHES)
def test_modes_are_bools(m: Any, name: str, value: Any) -> None:
    switch, current = SWITCHES[name]
    before = current(m)
    with pytest.raises(TypeError, match=r"must be bool|must be a bool"):
        switch(m, value)
    assert current(m) == before
