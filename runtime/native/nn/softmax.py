"""softmax, log_softmax and their gradients: few passes, large arrays by blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tengen.native import rows, sums
from tengen.native.dims import wrap_dim
from tengen.native.exponentials import (
    GREATEST,
    GREATEST_IN_LOG,
    LEAST_SUM,
    exponentials,
    is_table,
)
from tengen.native.nn.common import Array


def softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    """``exp(x) / sum(exp(x), dim)``, shape and dtype of ``self``.

    Raises IndexError for a bad dim; RuntimeError for ``half_to_float``, which CPUs do not have.
    """
    if half_to_float:
        _refuse_half_to_float()
    ones = sums.spread(self)
    if ones is not None and (dim == -1 or dim == self.ndim - 1) and self.item(self.argmax()) <= GREATEST:
        out: Array = np.exp(self)
        total = out.dot(ones)
        if total.item(total.argmin()) >= LEAST_SUM:
            out /= total
            return out
    if is_table(self, dim):
        return _by_rows(_softmax_of_rows, self, self.shape[-1])
    return _along(_softmax_along, self, dim, self)


def softmax_backward_data(grad_output: Array, output: Array, dim: int, input_dtype: np.dtype[Any]) -> Array:
    """``y * (g - sum(g * y, dim))``."""
    if is_table(output, dim) and grad_output.dtype == output.dtype:
        ones = sums.spread(output)
        if ones is not None:
            out: Array = grad_output * output
            np.subtract(grad_output, out.dot(ones), out=out)
            out *= output
            return out
        return _by_rows(_softmax_backward_of_rows, output, output.shape[-1], grad_output)
    return _along(_softmax_backward_along, output, dim, grad_output, output)


def log_softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    """``x - log(sum(exp(x), dim))``, shape and dtype of ``self``.

    Raises IndexError for a bad dim; RuntimeError for ``half_to_float``, which CPUs do not have.
    """
    if half_to_float:
        _refuse_half_to_float()
    ones = sums.spread(self)
    if (
        ones is not None
        and (dim == -1 or dim == self.ndim - 1)
        and self.item(self.argmax()) <= GREATEST_IN_LOG
    ):
        total: Array = np.exp(self).dot(ones)
        if total.item(total.argmin()) >= LEAST_SUM:
            np.log(total, out=total)
            return np.subtract(self, total, out=total)
    if is_table(self, dim):
        return _by_rows(_log_softmax_of_rows, self, self.shape[-1])
    return _along(_log_softmax_along, self, dim, self)


def log_softmax_backward_data(
    grad_output: Array, output: Array, dim: int, input_dtype: np.dtype[Any]
) -> Array:
    """``g - exp(y) * sum(g, dim)``."""
    if is_table(output, dim) and grad_output.dtype == output.dtype:
        ones = sums.spread(output)
        if ones is not None:
            out: Array = np.exp(output)
            out *= grad_output.dot(ones)
            return np.subtract(grad_output, out, out=out)
        return _by_rows(_log_softmax_backward_of_rows, output, output.shape[-1], grad_output)
    return _along(_log_softmax_backward_along, output, dim, grad_output, output)


def _refuse_half_to_float() -> None:
    raise RuntimeError("softmax with half to float conversion is not supported on CPU")


# -- rows of matrices --------------------------------------------------------------------------


def _by_rows(task: Any, self: Array, columns: int, grad_output: Array | None = None) -> Array:
    """What ``task(rows, [gradients,] out)`` makes of the rows of a contiguous array, in a new array."""
    out = np.empty(self.shape, self.dtype)
    operands: tuple[Array, ...] = (self, out) if grad_output is None else (self, grad_output, out)
    if self.ndim != 2:
        operands = tuple([operand.reshape(-1, columns) for operand in operands])
    if self.size > rows.LEAST:
        rows.in_blocks(task, len(operands[0]), columns * self.itemsize, columns, *operands)
    else:
        task(*operands)
    return out


def _softmax_of_rows(table: Array, out: Array) -> None:
    _, total, _ = exponentials(table, 1, GREATEST, out)
    out /= total


def _log_softmax_of_rows(table: Array, out: Array) -> None:
    _, total, top = exponentials(table, 1, GREATEST_IN_LOG, out)
    np.log(total, out=total)
    if top is None:
        np.subtract(table, total, out=out)
    else:
        np.subtract(table, top, out=out)
        out -= total


def _softmax_backward_of_rows(table: Array, grad_output: Array, out: Array) -> None:
    np.subtract(grad_output, np.vecdot(grad_output, table)[:, None], out=out)
    out *= table


def _log_softmax_backward_of_rows(table: Array, grad_output: Array, out: Array) -> None:
    np.exp(table, out=out)
    out *= sums.sum_along(grad_output, 1)
    np.subtract(grad_output, out, out=out)


# -- any axis ----------------------------------------------------------------------------------


def _along(task: Any, like: Array, dim: int, *operands: Array) -> Array:
    """What ``task(axis, *operands)`` makes of arrays of at least one dimension that are not empty."""
    axis = wrap_dim(dim, like.ndim)
    if not like.size:
        return np.empty(like.shape, like.dtype)
    if not like.ndim:
        return task(0, *[operand.reshape(1) for operand in operands]).reshape(())
    return task(axis, *operands)


def _softmax_along(axis: int, self: Array) -> Array:
    out, total, _ = exponentials(self, axis, GREATEST)
    out /= total
    return out


def _log_softmax_along(axis: int, self: Array) -> Array:
    _, total, top = exponentials(self, axis, GREATEST_IN_LOG)
    shifted = self if top is None else self - top
    out: Array = shifted - np.log(total)
    return out


def _softmax_backward_along(axis: int, grad_output: Array, output: Array) -> Array:
    out: Array = grad_output * output
    out -= output * sums.sum_along(out, axis)
    return out


def _log_softmax_backward_along(axis: int, grad_output: Array, output: Array) -> Array:
    out: Array = np.exp(output)
    out *= sums.sum_along(grad_output, axis)
    return np.subtract(grad_output, out, out=out)
