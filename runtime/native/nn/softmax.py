"""softmax, log_softmax and their gradients, in one pass with the temporaries reused."""

from __future__ import annotations

from typing import Any

import numpy as np

from tengen.native import sums
from tengen.native.dims import wrap_dim
from tengen.native.nn.common import Array


def softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    """``exp(x) / sum(exp(x), dim)``, shape and dtype of ``self``.

    Raises IndexError for a bad dim; RuntimeError for ``half_to_float``, which CPUs do not have.
    """
    _check_half_to_float(half_to_float)
    if not self.size:
        wrap_dim(dim, self.ndim)
        return np.empty(self.shape, self.dtype)
    out, axis = _shifted(self, dim)
    np.exp(out, out=out)
    out /= sums.sum_along(out, axis)
    return out.reshape(self.shape)


def softmax_backward_data(grad_output: Array, output: Array, dim: int, input_dtype: np.dtype[Any]) -> Array:
    """``y * (g - sum(g * y, dim))``."""
    if not output.size:
        return np.empty(output.shape, output.dtype)
    grad_output, output, shape = _at_least_1d(grad_output, output)
    axis = wrap_dim(dim, output.ndim)
    out: Array = grad_output * output
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
    out, axis = _shifted(self, dim)
    out -= np.log(sums.sum_along(np.exp(out), axis))
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


def _shifted(self: Array, dim: int) -> tuple[np.ndarray[Any, np.dtype[Any]], int]:
    """``self`` less its maximum along the axis, new and at least 1-d; and the axis."""
    axis = wrap_dim(dim, self.ndim)
    if not self.ndim:
        self = self.reshape(1)
    return self - self.max(axis, keepdims=True), axis


def _at_least_1d(grad_output: Array, output: Array) -> tuple[Array, Array, tuple[int, ...]]:
    shape = output.shape
    if shape:
        return grad_output, output, shape
    return grad_output.reshape(1), output.reshape(1), shape
