"""Activation functions and their gradients.

Every forward kernel takes the input and gives an array of its shape and dtype. Every backward
kernel takes the gradient of the output first, then what the forward kernel took (and its
buffers), and gives the gradient of the input.
"""

from __future__ import annotations

import math

import numpy as np

from ..creation import as_number
from ..dims import wrap_dim
from ..dtypes import INT64
from ..native_kernels import kernel_of_floats
from ..pointwise import within
from ..select import select
from .common import Array, Number, as_array, stable_sigmoid

_SQRT_HALF = math.sqrt(0.5)
_TANH_SCALE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715
_PDF_SCALE = 1 / math.sqrt(2 * math.pi)

# ------------------------------------------------------------------------------------ gelu


def _normal_cdf(x: Array) -> Array:
    """The standard normal distribution function, in a new array."""
    if x.dtype == np.float32:
        return _normal_cdf_float32(x, _falling(x))
    from scipy.special import ndtr  # on first use: importing scipy takes long

    return ndtr(x)


def _falling(x: Array) -> Array:
    """``exp(-x^2 / 2)``, in a new array."""
    out = x * x
    out *= -0.5
    return np.exp(out)


# Zelen and Severo's approximation (Abramowitz and Stegun 26.2.17), in units of the density at 0.
_TAIL_SCALE = 0.2316419
_TAIL = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530)


def _normal_cdf_float32(x: Array, falling: Array) -> Array:
    """The distribution function to float32's precision (the error is below 4e-7).

    ``falling`` is ``exp(-x^2 / 2)``. About ten times as fast as SciPy's, which knows no vectors.
    """
    t = np.abs(x)
    t *= _TAIL_SCALE
    t += 1
    t = np.reciprocal(t)
    tail = t * _TAIL[0]
    for coefficient in _TAIL[1:]:
        tail += coefficient
        tail *= t
    tail *= falling
    tail *= -_PDF_SCALE
    tail += 0.5  # the probability between 0 and |x|
    out = np.copysign(tail, x)
    out += 0.5
    return out


def _tanh_inner(x: Array) -> Array:
    """``tanh(sqrt(2 / pi) * (x + 0.044715 x^3))``."""
    inner = x * x
    inner *= _TANH_CUBIC
    inner += 1
    inner *= x
    inner *= _TANH_SCALE
    return np.tanh(inner)


def _check_approximate(approximate: str) -> bool:
    """Whether the tanh form is meant; RuntimeError for what is neither form."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return approximate == "tanh"


def gelu_forward(self: Array, approximate: str) -> Array:
    """``x * Phi(x)``, with Phi the normal distribution function or its tanh approximation."""
    if _check_approximate(approximate):
        out = _tanh_inner(self)
        out += 1
        out *= 0.5
    else:
        out = _normal_cdf(self)
    out *= self
    return out


def gelu_backward(grad_output: Array, self: Array, approximate: str) -> Array:
    if _check_approximate(approximate):
        tanh = _tanh_inner(self)
        square = self * self
        inner = square * (3 * _TANH_CUBIC * _TANH_SCALE)
        inner += _TANH_SCALE
        slope = tanh * tanh
        slope = 1 - slope
        slope *= inner
        slope *= self
        slope += tanh
        slope += 1
        slope *= 0.5
    else:
        slope = _falling(self)
        cdf = _normal_cdf_float32(self, slope) if self.dtype == np.float32 else _normal_cdf(self)
        slope *= self
        slope *= _PDF_SCALE
        slope += cdf
    slope *= grad_output
    return slope


# ----------------------------------------------------------------------- piecewise linear


def leaky_relu_forward(self: Array, negative_slope: Number) -> Array:
    """``x`` where positive, else ``negative_slope * x``."""
    if not isinstance(negative_slope, complex) and 0 < negative_slope <= 1:
        return np.maximum(self, self * negative_slope)
    return select(self > 0, self, self * negative_slope)


def leaky_relu_backward(grad_output: Array, self: Array, negative_slope: Number) -> Array:
    return select(self > 0, grad_output, grad_output * negative_slope)


def hardtanh_forward(self: Array, min_val: Number, max_val: Number) -> Array:
    """``x`` brought into ``[min_val, max_val]``; NaN stays NaN, and where the bounds cross it is ``max_val``.

    Raises RuntimeError for bounds that integers cannot hold, and for negative ones of unsigned integers.
    """
    if self.dtype.kind in "iu":  # integers have the bounds' integer parts
        min_val, max_val = as_number(min_val, INT64), as_number(max_val, INT64)
        if self.dtype.kind == "u" and (min_val < 0 or max_val < 0):  # type: ignore[operator]
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        min_val, max_val = as_number(min_val, self.dtype), as_number(max_val, self.dtype)
    return np.minimum(np.maximum(self, min_val), max_val)


def hardtanh_backward(grad_output: Array, self: Array, min_val: Number, max_val: Number) -> Array:
    outside = np.less_equal(self, min_val) | np.greater_equal(self, max_val)
    return select(outside, 0, grad_output)


def softshrink(self: Array, lambd: float) -> Array:
    """``self`` brought nearer to 0 by ``lambd``; NaN stays NaN. RuntimeError for a negative ``lambd``."""
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}")
    kernel = kernel_of_floats("softshrink", self.dtype)
    if kernel is not None:
        return kernel(self, self.dtype.type(lambd), out=...)
    moved = np.where(self > 0, self - lambd, self + lambd).astype(self.dtype, copy=False)
    return np.where(np.abs(self) <= lambd, np.zeros((), self.dtype), moved)


def threshold_values(self: Array, threshold: Number, value: Number) -> Array:
    """``x`` where it is above the threshold (or NaN), else ``value``, which is cast to the dtype of x."""
    dtype = self.dtype
    return select(self <= within(threshold, self), np.asarray(within(value, self)).astype(dtype), self)


def threshold_gradient(grad_output: Array, self: Array, threshold: Number) -> Array:
    """The gradient where ``x`` is above the threshold (or NaN), else 0."""
    return select(self <= within(threshold, self), 0, grad_output)


# ---------------------------------------------------------------------- of the exponential


def softplus_forward(self: Array, beta: Number, threshold: Number) -> Array:
    """``log(1 + exp(beta x)) / beta``, and ``x`` itself where ``beta x > threshold``."""
    scaled = self * beta
    out = np.log1p(np.exp(scaled))
    out /= beta
    return select(scaled > threshold, self, out)


def softplus_backward(grad_output: Array, self: Array, beta: Number, threshold: Number) -> Array:
    scaled = self * beta
    slope = stable_sigmoid(scaled)
    slope *= grad_output
    return select(scaled > threshold, grad_output, slope)


def softplus_double_backward(grad_output: Array, self: Array, beta: Number, threshold: Number) -> Array:
    """``grad_output`` times ``beta e / (1 + e)^2`` with ``e = exp(-|beta x|)``, or 0 above the threshold."""
    scaled = self if beta == 1 else self * beta
    out = as_array(np.abs(scaled))
    np.negative(out, out=out)
    np.exp(out, out=out)
    below = out + 1
    below *= below
    out /= below
    out *= grad_output
    if beta != 1:
        out *= beta
    if out.size and not scaled.item(scaled.argmax()) <= threshold:  # or NaN
        out[scaled > threshold] = 0
    return out


def elu_forward(self: Array, alpha: Number, scale: Number, input_scale: Number) -> Array:
    """``scale * x`` where x is not negative, else ``scale * alpha * (exp(input_scale x) - 1)``."""
    negative = np.expm1(self * input_scale)
    negative *= alpha * scale
    return select(self < 0, negative, self * scale if scale != 1 else self)


def elu_backward(grad_output: Array, self: Array, alpha: Number, scale: Number, input_scale: Number) -> Array:
    slope = np.exp(self * input_scale)
    slope *= input_scale * alpha * scale
    slope *= grad_output
    return select(self <= 0, slope, grad_output * scale if scale != 1 else grad_output)


def log_sigmoid_forward(self: Array) -> Array:
    """``log(1 / (1 + exp(-x)))``."""
    out = np.minimum(self, 0)
    out -= np.log1p(np.exp(-np.abs(self)))
    return out


def log_sigmoid_backward(grad_output: Array, self: Array) -> Array:
    """``grad / (1 + exp(x))``."""
    slope = stable_sigmoid(-self)
    slope *= grad_output
    return slope


def silu_forward(self: Array) -> Array:
    """``x / (1 + exp(-x))``."""
    out = np.exp(-self)
    out += 1
    return self / out


def silu_backward(grad_output: Array, self: Array) -> Array:
    sigmoid = stable_sigmoid(self)
    slope = 1 - sigmoid
    slope *= self
    slope += 1
    slope *= sigmoid
    if self.dtype.kind == "c":
        slope = slope.conj()
    slope *= grad_output
    return slope


def _softplus(x: Array) -> Array:
    """``log(1 + exp(x))`` in a new array, without overflow."""
    out = np.log1p(np.exp(-np.abs(x)))
    out += np.maximum(x, 0)
    return out


def mish_forward(self: Array) -> Array:
    """``x * tanh(log(1 + exp(x)))``."""
    out = np.tanh(_softplus(self))
    out *= self
    return out


def mish_backward(grad_output: Array, self: Array) -> Array:
    tanh = np.tanh(_softplus(self))
    slope = 1 - tanh * tanh
    slope *= stable_sigmoid(self)
    slope *= self
    slope += tanh
    slope *= grad_output
    return slope


# ------------------------------------------------------------------------------------- glu


def glu_halves(self: Array, dim: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Indices of the two halves along ``dim``.

    Raises RuntimeError for a 0-d input and an odd size, IndexError for a bad dim. Works on shapes
    only, so that Meta shares it.
    """
    if self.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    before = (slice(None),) * dim
    return (*before, slice(None, size // 2)), (*before, slice(size // 2, None))


def glu_forward(self: Array, dim: int) -> Array:
    """``a / (1 + exp(-b))`` with a and b the halves of the input along ``dim``."""
    first, second = glu_halves(self, dim)
    kernel = kernel_of_floats("gated", self.dtype)
    if kernel is not None:
        return kernel(self[first], self[second], out=np.empty(self[first].shape, self.dtype))
    out = stable_sigmoid(self[second])
    out *= self[first]
    return out


def glu_backward(grad_output: Array, self: Array, dim: int) -> Array:
    first, second = glu_halves(self, dim)
    kernel = kernel_of_floats("gated_backward", self.dtype)
    if kernel is not None and grad_output.dtype == self.dtype:
        out = np.empty(self.shape, self.dtype)
        kernel(grad_output, self[first], self[second], out=(out[first], out[second]))
        return out
    sigmoid = stable_sigmoid(self[second])
    out = np.empty(self.shape, self.dtype)
    np.multiply(grad_output, sigmoid, out=out[first])
    slope = 1 - sigmoid
    slope *= out[first]
    np.multiply(slope, self[first], out=out[second])
    return out
