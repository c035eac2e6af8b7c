"""softmax, log_softmax and their gradients, in one pass with the temporaries reused."""

from __future__ import annotations

from typing import Any

import numpy as np

from tengen.native import sums
from tengen.native.dims import wrap_dim
from tengen.native.nn.common import Array
from tengen.native.reductions import max_along


def softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    """``exp(x) / sum(exp(x), dim)``, shape and dtype of ``self``.

    Raises IndexError for a bad dim; RuntimeError for ``half_to_float``, which CPUs do not have.
    """
    _check_half_to_float(half_to_float)
    if not self.size:
        wrap_dim(dim, self.ndim)
        return np.empty(self.shape, self.dtype)
    exponentials, total, _ = _exponentials(self, dim, _GREATEST)
    exponentials /= total
    return exponentials.reshape(self.shape)


def softmax_backward_data(grad_output: Array, output: Array, dim: int, input_dtype: np.dtype[Any]) -> Array:
    """``y * (g - sum(g * y, dim))``."""
    if not output.size:
        return np.empty(output.shape, output.dtype)
    grad_output, output, shape = _at_least_1d(grad_output, output)
    axis = wrap_dim(dim, output.ndim)
    if axis == output.ndim - 1 and output.dtype == grad_output.dtype:
        out: Array = grad_output - np.vecdot(grad_output, output)[..., None]
        out *= output
    else:
        out = grad_output * output
        out -= output * sums.sum_along(out, axis)
    return out.reshape(shape)


def log_softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    """``x - log(sum(exp(x), dim))``, shape and dtype of ``self``.

    Raises IndexError for a bad dim; RuntimeError for ``half_to_float``, which CPUs do not have.
    """
    _check_half_to_float(half_to_float)
    if not self.size:
        wrap_dim(dim, self.ndim)
        return np.empty(self.shape, self.dtype)
    _, total, shifted = _exponentials(self, dim, _GREATEST_IN_LOG)
    out = np.asarray(shifted - np.log(total))
    return out.reshape(self.shape)


def log_softmax_backward_data(
    grad_output: Array, output: Array, dim: int, input_dtype: np.dtype[Any]
) -> Array:
    """``g - exp(y) * sum(g, dim)``."""
    if not output.size:
        return np.empty(output.shape, output.dtype)
    grad_output, output, shape = _at_least_1d(grad_output, output)
    axis = wrap_dim(dim, output.ndim)
    out: Array = np.exp(output)
    out *= sums.sum_along(grad_output, axis)
    return np.subtract(grad_output, out, out=out).reshape(shape)


def _check_half_to_float(half_to_float: bool) -> None:
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")


#: Up to here exp does not overflow, and a sum of exps of which one is not too small is exact.
_GREATEST, _LEAST_SUM = 64.0, 1e-3
#: Up to here the logarithm of the sum, from which results near zero may be left, is as exact as is usual.
_GREATEST_IN_LOG = 8.0


def _exponentials(self: Array, dim: int, greatest: float) -> tuple[Array, Array, Array]:
    """``exp(x)`` in new memory, its sums along the axis, and ``x``, all at least 1-d.

    Where it must be, ``x`` is less its maximum along the axis: not where all are moderate numbers,
    which is much faster to see than to find and to subtract the maxima.
    """
    axis = wrap_dim(dim, self.ndim)
    if not self.ndim:
        self = self.reshape(1)
    if self.dtype.char in "fd" and self.item(self.argmax()) <= greatest:
        exponentials = np.exp(self)
        total = sums.sum_along(exponentials, axis)
        if total.item(total.argmin()) >= _LEAST_SUM:
            return exponentials, total, self
    shifted = self - max_along(self, axis)
    exponentials = np.exp(shifted)
    return exponentials, sums.sum_along(exponentials, axis), shifted


def _at_least_1d(grad_output: Array, output: Array) -> tuple[Array, Array, tuple[int, ...]]:
    shape = output.shape
    if shape:
        return grad_output, output, shape
    return grad_output.reshape(1), output.reshape(1), shape
