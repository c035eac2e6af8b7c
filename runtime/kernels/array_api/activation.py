"""Activation functions and their gradients; their names are those of ``kernels.nn``."""

from __future__ import annotations

import math
from typing import Any

from ..dims import wrap_dim
from ..nn.activation import glu_halves
from .common import Array, as_array, is_complex, number_of
from .pointwise import within

Number = bool | int | float | complex
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715
_PDF_SCALE = 1 / math.sqrt(2 * math.pi)


def _sigmoid(xp: Any, x: Array) -> Array:
    """``1 / (1 + exp(-x))`` without overflow."""
    if is_complex(xp, x):
        return 1 / (1 + xp.exp(-x))
    small = xp.exp(-xp.abs(x))
    return xp.where(x < 0, small / (1 + small), 1 / (1 + small))


def _softplus(xp: Any, x: Array) -> Array:
    return xp.log1p(xp.exp(-xp.abs(x))) + xp.where(x > 0, x, xp.zeros_like(x))


def _tanh_inner(xp: Any, x: Array) -> Array:
    return xp.tanh((x * x * _TANH_CUBIC + 1) * x * _TANH_SCALE)


def _is_tanh(approximate: str) -> bool:
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return approximate == "tanh"


def gelu_forward(xp: Any, self: Array, approximate: str) -> Array:
    """``x * Phi(x)``, with Phi the normal distribution function or its tanh approximation."""
    if _is_tanh(approximate):
        return (_tanh_inner(xp, self) + 1) * 0.5 * self
    return xp.special("ndtr")(self) * self


def gelu_backward(xp: Any, grad_output: Array, self: Array, approximate: str) -> Array:
    """The gradient of ``gelu_forward``."""
    if _is_tanh(approximate):
        tanh = _tanh_inner(xp, self)
        inner = self * self * (3 * _TANH_CUBIC * _TANH_SCALE) + _TANH_SCALE
        return ((1 - tanh * tanh) * inner * self + tanh + 1) * 0.5 * grad_output
    density = xp.exp(self * self * -0.5) * _PDF_SCALE
    return (density * self + xp.special("ndtr")(self)) * grad_output


def leaky_relu_forward(xp: Any, self: Array, negative_slope: Number) -> Array:
    """``x`` where positive, else ``negative_slope * x``."""
    return xp.where(self > 0, self, self * negative_slope)


def leaky_relu_backward(xp: Any, grad_output: Array, self: Array, negative_slope: Number) -> Array:
    """The gradient of ``leaky_relu_forward``."""
    return xp.where(self > 0, grad_output, grad_output * negative_slope)


def hardtanh_forward(xp: Any, self: Array, min_val: Number, max_val: Number) -> Array:
    """``x`` brought into ``[min_val, max_val]``; NaN stays NaN. RuntimeError for negative limits of unsigned
    integers."""
    low, high = within(xp, min_val, self), within(xp, max_val, self)
    if xp.isdtype(self.dtype, "unsigned integer") and (low < 0 or high < 0):  # type: ignore[operator]
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return xp.minimum(xp.maximum(self, as_array(xp, low, self)), as_array(xp, high, self))


def hardtanh_backward(xp: Any, grad_output: Array, self: Array, min_val: Number, max_val: Number) -> Array:
    """The gradient of ``hardtanh_forward``."""
    return xp.where((self <= min_val) | (self >= max_val), xp.zeros_like(grad_output), grad_output)


def softshrink(xp: Any, self: Array, lambd: float) -> Array:
    """``self`` brought nearer to 0 by ``lambd``; NaN stays NaN. RuntimeError unless ``lambd`` is at least
    0."""
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}")
    result = xp.where(self > 0, self - lambd, self + lambd)
    return xp.where(xp.abs(self) <= lambd, xp.zeros_like(self), result)


def softplus_forward(xp: Any, self: Array, beta: Number, threshold: Number) -> Array:
    """``log(1 + exp(beta x)) / beta``, and ``x`` itself where ``beta x > threshold``."""
    scaled = self * beta
    return xp.where(scaled > threshold, self, _softplus(xp, scaled) / beta)


def softplus_backward(xp: Any, grad_output: Array, self: Array, beta: Number, threshold: Number) -> Array:
    """The gradient of ``softplus_forward``."""
    scaled = self * beta
    return xp.where(scaled > threshold, grad_output, _sigmoid(xp, scaled) * grad_output)


def softplus_double_backward(
    xp: Any, grad_output: Array, self: Array, beta: Number, threshold: Number
) -> Array:
    """The derivative of ``softplus_backward`` by ``self``."""
    scaled = self * beta
    small = xp.exp(-xp.abs(scaled))
    below = small / ((small + 1) * (small + 1)) * grad_output * beta
    return xp.where(scaled > threshold, xp.zeros_like(below), below)


def elu_forward(xp: Any, self: Array, alpha: Number, scale: Number, input_scale: Number) -> Array:
    """``scale * x`` where x is not negative, else ``scale * alpha * (exp(input_scale x) - 1)``."""
    return xp.where(self < 0, xp.expm1(self * input_scale) * (alpha * scale), self * scale)


def elu_backward(
    xp: Any, grad_output: Array, self: Array, alpha: Number, scale: Number, input_scale: Number
) -> Array:
    """The gradient of ``elu_forward``."""
    slope = xp.exp(self * input_scale) * (input_scale * alpha * scale) * grad_output
    return xp.where(self <= 0, slope, grad_output * scale)


def log_sigmoid_forward(xp: Any, self: Array) -> Array:
    """``log(1 / (1 + exp(-x)))``."""
    return xp.minimum(self, xp.zeros_like(self)) - xp.log1p(xp.exp(-xp.abs(self)))


def log_sigmoid_backward(xp: Any, grad_output: Array, self: Array) -> Array:
    """The gradient of ``log_sigmoid_forward``."""
    return _sigmoid(xp, -self) * grad_output


def silu_forward(xp: Any, self: Array) -> Array:
    """``x / (1 + exp(-x))``."""
    return self / (xp.exp(-self) + 1)


def silu_backward(xp: Any, grad_output: Array, self: Array) -> Array:
    """The gradient of ``silu_forward``."""
    sigmoid = _sigmoid(xp, self)
    slope = ((1 - sigmoid) * self + 1) * sigmoid
    return (xp.conj(slope) if is_complex(xp, slope) else slope) * grad_output


def mish_forward(xp: Any, self: Array) -> Array:
    """``x * tanh(softplus(x))``."""
    return self * xp.tanh(_softplus(xp, self))


def mish_backward(xp: Any, grad_output: Array, self: Array) -> Array:
    """The gradient of ``mish_forward``."""
    tanh = xp.tanh(_softplus(xp, self))
    return (tanh + self * _sigmoid(xp, self) * (1 - tanh * tanh)) * grad_output


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


def native_dropout_backward(xp: Any, grad_output: Array, mask: Array, scale: float) -> Array:
    """The gradient where elements were kept, scaled."""
    return xp.where(mask, grad_output * scale, xp.zeros_like(grad_output))
