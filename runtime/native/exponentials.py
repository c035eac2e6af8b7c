"""Exponentials of rows and their sums, which softmax, log_softmax and logsumexp are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from tengen.native import rows, sums
from tengen.native.reductions import fold, max_along, sum_dim

Array = Any

#: Up to here exp does not overflow, and a sum of exps of which one is not too small is exact.
GREATEST, LEAST_SUM = 64.0, 1e-3
#: Up to here the logarithm of the sum, from which results near zero may be left, is as exact as is usual.
GREATEST_IN_LOG = 8.0


def exponentials(
    self: Array, axis: int, greatest: float, out: Array | None = None
) -> tuple[Array, Array, Array | None]:
    """``exp(x)``, in ``out`` if there is one; its sums along the (valid) axis; and what ``x`` was less by.

    That is its maximum along the axis where it must be, and None where all are moderate numbers,
    which is much faster to see than to find and to subtract the maxima. The array is not empty.
    """
    if self.dtype.char in "fd" and self.item(self.argmax()) <= greatest:
        found = np.exp(self, out=out)
        total = sums.sum_along(found, axis)
        if total.item(total.argmin()) >= LEAST_SUM:
            return found, total, None
    top = max_along(self, axis)
    found = np.subtract(self, top, out=out)
    np.exp(found, out=found)
    return found, sums.sum_along(found, axis), top


def is_table(self: Array, dim: int) -> bool:
    """Whether ``dim`` is the last of a non-empty contiguous array, of a dtype that BLAS has."""
    return (
        (dim == -1 or dim == self.ndim - 1)
        and self.dtype.char in "fd"
        and self.flags.c_contiguous
        and self.size > 0
        and self.ndim > 0
    )


def logsumexp(self: Array, dim: tuple[int, ...] | None, keepdim: bool) -> Array:
    """``log(sum(exp(self)))`` over ``dim``; ``-inf`` of no elements."""
    if dim and len(dim) == 1 and is_table(self, dim[0]):
        shape = self.shape
        table = self if len(shape) == 2 else self.reshape(-1, shape[-1])
        out = np.empty(len(table), self.dtype)
        if self.size > rows.LEAST:
            rows.in_blocks(_logsumexp_of_rows, len(table), shape[-1] * self.itemsize, shape[-1], table, out)
        else:
            _logsumexp_of_rows(table, out)
        return out.reshape((*shape[:-1], 1) if keepdim else shape[:-1])
    if self.size == 0:
        return np.log(sum_dim(self, dim, keepdim, None))
    top = fold(np.maximum, self.real, dim, True)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    total = np.log(sum_dim(np.exp(self - top), dim, keepdim, None))
    return total + (top if keepdim else top.reshape(total.shape))


def _logsumexp_of_rows(table: Array, out: Array) -> None:
    if table.item(table.argmax()) <= GREATEST_IN_LOG:
        total = sums.sum_rows(np.exp(table))
        if total.item(total.argmin()) >= LEAST_SUM:
            np.log(total, out=out)
            return
    top = max_along(table, 1)
    top[~np.isfinite(top)] = 0  # NaN comes back through the sum, and so do infinities
    shifted = table - top
    np.log(sums.sum_rows(np.exp(shifted, out=shifted)), out=out)
    out += top[:, 0]
