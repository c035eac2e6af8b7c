"""Activation functions and their gradients; their names are those of ``kernels.nn``."""

from __future__ import annotations

from typing import Any

from ..dims import wrap_dim
from ..nn.activation import glu_halves
from .common import Array, is_complex, number_of
from .pointwise import within

Number = bool | int | float | complex
Mask = Any


def _sigmoid(xp: Any, x: Array) -> Array:
    """``1 / (1 + exp(-x))`` without overflow."""
    if is_complex(xp, x):
        return 1 / (1 + xp.exp(-x))
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0, small / (1 + small), 1 / (1 + small))


def hardtanh_bound(xp: Any, bound: Number, self: Array) -> Number:
    """A bound of ``hardtanh``; integers have its integer part. RuntimeError for a negative one of unsigned
    integers."""
    number: Number = within(xp, bound, self)
    if xp.isdtype(self.dtype, "unsigned integer") and number < 0:  # type: ignore[operator]
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return number


def _halves(self: Array, dim: int) -> tuple[Array, Array]:
    first, second = glu_halves(self, dim)
    return self[(*first, ...)], self[(*second, ...)]


def glu_forward(xp: Any, self: Array, dim: int) -> Array:
    """The first half along ``dim`` times the sigmoid of the second."""
    first, second = _halves(self, dim)
    return first * _sigmoid(xp, second)


def glu_backward(xp: Any, grad_output: Array, self: Array, dim: int) -> Array:
    """The gradient of ``glu_forward``."""
    first, second = _halves(self, dim)
    gate = _sigmoid(xp, second)
    parts = [grad_output * gate, grad_output * first * gate * (1 - gate)]
    return xp.concat(parts, axis=wrap_dim(dim, self.ndim))


# -- softmax ------------------------------------------------------------------------------------


def native_dropout(xp: Any, input: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    """The input with each element kept with probability ``1 - p`` and divided by it; and which were kept.
    RuntimeError for a ``p`` outside of [0, 1], even where nothing is dropped because ``train`` is False."""
    from ..random import source

    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    shape = tuple(input.shape)
    if train is False or p == 0:
        return input, xp.ones(shape, dtype=xp.bool)
    if p == 1:
        return xp.zeros(shape, dtype=input.dtype), xp.zeros(shape, dtype=xp.bool)
    keyed = xp.random_source(None)
    if keyed is None:
        kept = xp.from_host(source(None).random(shape, "float32") >= p)
    else:
        kept = keyed.uniform(shape, xp.float32) >= p
    return xp.where(kept, input * number_of(1 / (1 - p), input.dtype, xp), xp.zeros_like(input)), kept


def dropout_mask(xp: Any, mask: Array, dtype: Any) -> Mask:
    """Which elements were kept, as 1 and 0 of the dtype."""
    return xp.astype(mask, dtype)
