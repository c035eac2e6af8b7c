"""Activation functions and their gradients.

Every forward kernel takes the input and gives an array of its shape and dtype. Every backward
kernel takes the gradient of the output first, then what the forward kernel took (and its
buffers), and gives the gradient of the input.
"""

from __future__ import annotations

import numpy as np

from ..creation import as_number
from ..dims import wrap_dim
from ..dtypes import INT64
from ..native_kernels import kernel_of_floats
from ..pointwise import within
from ..select import select
from .common import Array, Number, stable_sigmoid

# ----------------------------------------------------------------------- piecewise linear


def hardtanh_bound(bound: Number, self: Array) -> Number:
    """A bound of ``hardtanh``; integers have its integer part.

    Raises RuntimeError for one that integers cannot hold, and for a negative one of unsigned integers.
    """
    if self.dtype.kind not in "iu":
        return bound
    bound = as_number(bound, INT64)
    if self.dtype.kind == "u" and bound < 0:  # type: ignore[operator]
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return as_number(bound, self.dtype)


def threshold_values(self: Array, threshold: Number, value: Number) -> Array:
    """``x`` where it is above the threshold (or NaN), else ``value``, which is cast to the dtype of x."""
    dtype = self.dtype
    return select(self <= within(threshold, self), np.asarray(within(value, self)).astype(dtype), self)


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
