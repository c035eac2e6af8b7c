"""Sums of floating arrays: by native kernels where there are some, else by NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.costs import GEMV_ALONE, NATIVE_GRAIN, SUM_ROWS, SUM_WHOLE
from .dims import Dims, reduce_dims, wrap_dims
from .dtypes import FLOAT32, NATIVE_FLOATS, REDUCED
from .native_kernels import as_bits, kernel_of, kernels, of_reduced_rows
from .reduced import converted
from .rows import are_contiguous_rows
from .shares import share_columns, share_rows

Array = Any
#: dtype.char of what ``sum_floats`` adds, and of what native kernels do.
SUMMED, _NATIVE = NATIVE_FLOATS + REDUCED, "fd"


def sum_floats(self: Array, dim: Dims, keepdim: bool) -> Array:
    """The sum over ``dim`` of floating-point numbers (``SUMMED``), those of 16 bits computed in float32."""
    if self.dtype.char in REDUCED:
        found = _sum_reduced(self, dim, keepdim)
        if found is not None:
            return found
        return converted(np.asarray(sum_floats(converted(self, FLOAT32), dim, keepdim)), self.dtype)
    if self.size > SUM_WHOLE and self.flags.c_contiguous:
        found = sum_contiguous(self, dim, keepdim)
        if found is not None:
            return found
    return reduce_dims(np.add, self, dim, keepdim)


def _sum_reduced(self: Array, dim: Dims, keepdim: bool) -> Array | None:
    """The sum of rows, or of columns of a matrix, of a reduced type, without a float32 copy; else None."""
    if not dim or len(dim) != 1:
        return None
    if are_contiguous_rows(self, dim[0]):
        return of_reduced_rows("row_sum", self, keepdim)
    if self.ndim != 2 or dim[0] not in (0, -2) or not self.flags.c_contiguous or not self.size:
        return None
    kernel = kernel_of("column_sum", self.dtype)
    if kernel is None:
        return None
    out = np.empty((1, self.shape[1]) if keepdim else self.shape[1], self.dtype)
    share_columns(kernel, (as_bits(self),), (), (as_bits(out.reshape(-1)),))
    return out


def sum_contiguous(self: Array, dim: Dims, keepdim: bool) -> Array | None:
    """The sum over ``dim`` of a contiguous array of at least one dimension, as a new array or a number.

    None where ``dim`` is an error, or is not some of the first and some of the last dimensions.
    """
    shape, ndim = self.shape, self.ndim
    try:
        dims = sorted(wrap_dims(dim, ndim)) if dim else [*range(ndim)]
    except (IndexError, RuntimeError):
        return None  # whoever adds says what is wrong
    if len(dims) == ndim:
        return sum_all(self).reshape((1,) * ndim if keepdim else ())
    lead = next((d for d, found in enumerate(dims) if found != d), len(dims))
    trail = len(dims) - lead
    if trail and (dims[lead] != ndim - trail or dims[-1] != ndim - 1):
        return None
    result = self
    if trail:
        result = sum_rows(self.reshape(-1, math.prod(shape[ndim - trail :])))
    if lead:
        result = sum_columns(result.reshape(math.prod(shape[:lead]), -1))
    kept = shape[lead : ndim - trail]
    return result.reshape((1,) * lead + kept + (1,) * trail if keepdim else kept)


def sum_all(self: Array) -> Any:
    """The sum of all elements of a contiguous array, which has some."""
    flat = self.ravel()
    kernel = kernels.row_sum if flat.dtype.char in _NATIVE else None
    if kernel is None:
        return np.add.reduce(flat)
    blocks, rest = divmod(flat.size, NATIVE_GRAIN)
    if blocks < 2:
        return kernel(flat)
    cut = flat.size - rest
    partial = np.empty(blocks + (rest > 0), flat.dtype)
    share_rows(kernel, (flat[:cut].reshape(blocks, NATIVE_GRAIN),), (), (partial[:blocks],))
    if rest:
        kernel(flat[cut:], out=partial[blocks:].reshape(()))
    return sum_all(partial)


def sum_rows(table: Array) -> Array:
    """The sums of the rows of a contiguous matrix."""
    kernel = kernels.row_sum if table.size > SUM_WHOLE and table.dtype.char in _NATIVE else None
    if kernel is None:
        return np.add.reduce(table, 1)
    found = np.empty(len(table), table.dtype)
    share_rows(kernel, (table,), (), (found,))
    return found


def sum_columns(table: Array, factors: Array | None = None) -> Array:
    """The sums of the columns of a contiguous matrix, its rows times ``factors`` where there are any.

    NumPy adds row after row, in blocks of them, for the rounding errors of a long chain would add up.
    """
    if factors is not None:
        table = table * factors[:, np.newaxis]
    kernel = kernels.column_sum if table.size > SUM_WHOLE and table.dtype.char in _NATIVE else None
    if kernel is not None:
        out = np.empty(table.shape[1], table.dtype)
        share_columns(kernel, (table,), (), (out,))
        return out
    while (rows := len(table)) > SUM_ROWS:
        blocks, rest = divmod(rows, SUM_ROWS)
        partial = np.add.reduce(table[: rows - rest].reshape(blocks, SUM_ROWS, -1), 1)
        if rest:
            partial[-1] += np.add.reduce(table[rows - rest :], 0)
        table = partial
    return np.add.reduce(table, 0)


def matvec(table: Array, vector: Array) -> Array:
    """The product of a contiguous matrix and a vector; its bits do not depend on the number of threads."""
    return sum_rows(table * vector)


def blocked_dot(first: Array, second: Array) -> Any:
    """The sum of the products of two vectors of real floats; of its bits the same is true."""
    if first.size <= GEMV_ALONE:
        return first.dot(second)
    blocks, rest = divmod(first.size, GEMV_ALONE)
    cut = blocks * GEMV_ALONE
    shape = blocks, GEMV_ALONE
    found = sum_all(np.vecdot(first[:cut].reshape(shape), second[:cut].reshape(shape)))
    return found + first[cut:].dot(second[cut:]) if rest else found


def sum_along(self: Array, axis: int) -> Array:
    """The sum of a floating array along an axis, which stays with size 1."""
    return np.asarray(sum_floats(self, (axis,), True))
