"""Sums of floating arrays; of real ones that are contiguous as products with ones.

BLAS forms these in a third of the time that NumPy's own loops take, and of their overhead. A chain
of additions is never longer than ``SUM_BLOCK``: what the blocks give is added by NumPy, in pairs.
Native kernels form those of rows, and of all elements, in half of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.costs import (
    FEW_PRODUCTS,
    GEMV_ALONE,
    NATIVE_GRAIN,
    SUM_BLOCK,
    SUM_BLOCK_MIN,
    SUM_GRAIN,
    SUM_ROWS_BLOCK,
    SUM_ROWS_LARGE,
    SUM_WHOLE,
)
from .dims import Dims, reduce_dims, wrap_dims
from .dtypes import FLOAT32, NATIVE_FLOATS, REDUCED
from .native_kernels import as_bits, kernel_of, kernels, of_reduced_rows
from .parallel import in_threads, items_of_block
from .reduced import converted
from .rows import are_contiguous_rows
from .shares import share_columns, share_rows

Array = Any
#: dtype.char of what ``sum_floats`` adds.
SUMMED = NATIVE_FLOATS + REDUCED
_ONES: dict[tuple[str, int], Array] = {}


def cached_ones(char: str, count: int) -> Array:
    """``count`` ones of a dtype, at most ``SUM_WHOLE``; they are kept, and nobody may write to them."""
    found = _ONES.get((char, count))
    if found is None:
        found = np.ones(count, char)
        found.flags.writeable = False
        _ONES[char, count] = found
    return found


@lru_cache(maxsize=256)
def block_length(count: int) -> int:
    """The greatest divisor of ``count`` up to ``SUM_BLOCK``; 0 where that is too small to pay."""
    found = next(n for n in range(min(SUM_BLOCK, count), 0, -1) if count % n == 0)
    return found if found >= SUM_BLOCK_MIN else 0


def sum_floats(self: Array, dim: Dims, keepdim: bool) -> Array:
    """The sum over ``dim`` of floating-point numbers (``SUMMED``), those of 16 bits computed in float32."""
    char = self.dtype.char
    if char in "fd" and self.flags.c_contiguous:
        found = sum_contiguous(self, dim, keepdim)
        if found is not None:
            return found
    elif char in REDUCED:
        found = _sum_reduced(self, dim, keepdim)
        if found is not None:
            return found
        return converted(np.asarray(sum_floats(converted(self, FLOAT32), dim, keepdim)), self.dtype)
    if dim and self.ndim > 1 and self.size > SUM_ROWS_LARGE and self.flags.c_contiguous:
        dims = wrap_dims(dim, self.ndim)
        if set(dims) == set(range(len(dims))) and math.prod(self.shape[: len(dims)]) >= SUM_ROWS_LARGE:
            return _sum_leading(self, len(dims), keepdim)
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


def _sum_leading(self: Array, count: int, keepdim: bool) -> Array:
    """The sum of a contiguous array over its first dimensions, in blocks of rows.

    NumPy adds row after row there, and the rounding errors of a long chain would add up.
    """
    rows = math.prod(self.shape[:count])
    rest = self.shape[count:]
    table = self.reshape(rows, -1)
    while rows >= SUM_ROWS_LARGE:
        blocks = rows // SUM_ROWS_BLOCK
        cut = blocks * SUM_ROWS_BLOCK
        partial = np.add.reduce(table[:cut].reshape(blocks, SUM_ROWS_BLOCK, -1), 1)
        if rows > cut:
            partial[-1] += np.add.reduce(table[cut:], 0)
        table, rows = partial, blocks
    return np.add.reduce(table, 0).reshape((1,) * count + rest if keepdim else rest)


def sum_contiguous(self: Array, dim: tuple[int, ...] | None, keepdim: bool) -> Array | None:
    """The sum over ``dim`` of a contiguous array of a dtype that BLAS has, as a new array or a number.

    None where ``dim`` is none of the cases here, or an error, or the array has nothing to add.
    """
    ndim = self.ndim
    if not self.size or not ndim:
        return None
    if not dim:
        found = sum_all(self)
        return found.reshape((1,) * ndim) if keepdim else found
    if len(dim) == 1:
        d = dim[0]
        if d == -1 or d == ndim - 1:
            return sum_last(self, keepdim)
        if d == 0 and ndim == 2:
            found = sum_columns(self)
            return found[None] if keepdim else found
    try:
        dims = sorted(wrap_dims(dim, ndim))
    except (IndexError, RuntimeError):
        return None  # whoever adds says what is wrong
    return sum_dims(self, dims, keepdim)


def sum_last(self: Array, keepdim: bool) -> Array:
    """The sum over the last dimension of a contiguous array."""
    shape = self.shape
    if len(shape) == 2:
        count = shape[1]
        if count <= SUM_BLOCK:
            ones = _ONES.get((self.dtype.char, count))
            if ones is None:
                ones = cached_ones(self.dtype.char, count)
            found = self.dot(ones) if self.size <= SUM_WHOLE else sum_rows(self)
        else:
            found = sum_rows(self)
        return found[:, None] if keepdim else found
    return sum_rows(self.reshape(-1, shape[-1])).reshape((*shape[:-1], 1) if keepdim else shape[:-1])


def sum_all(self: Array) -> Any:
    """The sum of all elements of a contiguous array, which has some."""
    count = self.size
    char = self.dtype.char
    if count <= SUM_WHOLE:
        return self.ravel().dot(cached_ones(char, count))
    if (kernel := kernels.row_sum) is not None:
        flat = self.ravel()
        blocks, rest = divmod(count, NATIVE_GRAIN)
        if blocks < 2:
            return kernel(flat)
        cut = count - rest
        partial = np.empty(blocks + (rest > 0), char)
        share_rows(kernel, (flat[:cut].reshape(blocks, NATIVE_GRAIN),), (), (partial[:blocks],))
        if rest:
            kernel(flat[cut:], out=partial[blocks:].reshape(()))
        return sum_all(partial)
    blocks, rest = divmod(count, SUM_BLOCK)
    if not rest:
        return sum_all(matvec(self.reshape(blocks, SUM_BLOCK), cached_ones(char, SUM_BLOCK)))
    flat = self.ravel()
    return sum_all(flat[:-rest]) + flat[-rest:].dot(cached_ones(char, rest))


def sum_rows(table: Array) -> Array:
    """The sums of the rows of a contiguous matrix."""
    rows, count = table.shape
    if (kernel := kernels.row_sum) is not None:
        found = np.empty(rows, table.dtype)
        share_rows(kernel, (table,), (), (found,))
        return found
    if count <= SUM_BLOCK:
        return matvec(table, cached_ones(table.dtype.char, count))
    length = block_length(count)
    if not length:
        return np.add.reduce(table, 1)
    char = table.dtype.char
    partial = matvec(table.reshape(-1, length), cached_ones(char, length))
    return sum_rows(partial.reshape(rows, -1))


def sum_columns(table: Array, factors: Array | None = None) -> Array:
    """The sums of the columns of a contiguous matrix, its rows times ``factors`` where there are any."""
    rows, columns = table.shape
    kernel = kernels.column_sum if factors is None else None
    if kernel is not None and table.size > SUM_WHOLE:
        out = np.empty(columns, table.dtype)
        share_columns(kernel, (table,), (), (out,))
        return out
    length = min(SUM_BLOCK, GEMV_ALONE // min(max(columns, 1), SUM_BLOCK))
    if rows <= FEW_PRODUCTS * length and columns <= SUM_BLOCK:
        if factors is None:
            factors = cached_ones(table.dtype.char, rows)
        found = factors[:length].dot(table[:length])
        for i in range(length, rows, length):
            found += factors[i : i + length].dot(table[i : i + length])
        return found
    while rows > length:
        blocks = rows // length
        cut = blocks * length
        heads, rest = (
            (None, None) if factors is None else (factors[:cut].reshape(blocks, length), factors[cut:])
        )
        partial = _columns(table[:cut].reshape(blocks, length, columns), heads)
        if rows > cut:
            partial[-1] += _columns(table[cut:], rest)
        table, rows, factors = partial, blocks, None
    return _columns(table, factors)


def _columns(tables: Array, factors: Array | None) -> Array:
    """``sum_columns`` of one or many matrices of few rows, in products that BLAS does not share out."""
    columns = tables.shape[-1]
    if factors is None:
        factors = cached_ones(tables.dtype.char, tables.shape[-2])
    out = np.empty((*tables.shape[:-2], columns), tables.dtype)
    for i in range(0, columns, SUM_BLOCK):
        np.matmul(factors[..., None, :], tables[..., i : i + SUM_BLOCK], out[..., None, i : i + SUM_BLOCK])
    return out


def matvec(table: Array, vector: Array) -> Array:
    """The product of a contiguous matrix and a vector; its bits do not depend on the number of threads."""
    if table.size <= GEMV_ALONE:
        return table.dot(vector)
    rows, count = table.shape
    step = items_of_block(GEMV_ALONE, count)
    blocks, rest = divmod(rows, step)
    if table.size < 2 * SUM_GRAIN and not rest:
        return np.matmul(table.reshape(blocks, step, count), vector).reshape(-1)
    out = np.empty(rows, table.dtype)
    cut = rows - rest
    many, results = table[:cut].reshape(blocks, step, count), out[:cut].reshape(blocks, step)

    def task(begin: int, end: int) -> None:
        np.matmul(many[begin:end], vector, results[begin:end])

    in_threads(task, blocks, step * count, SUM_GRAIN)
    if rest:
        np.dot(table[cut:], vector, out[cut:])
    return out


def blocked_dot(first: Array, second: Array) -> Any:
    """The sum of the products of two vectors of real floats; of its bits the same is true."""
    if first.size <= GEMV_ALONE:
        return first.dot(second)
    blocks, rest = divmod(first.size, GEMV_ALONE)
    cut = blocks * GEMV_ALONE
    shape = blocks, GEMV_ALONE
    found = sum_all(np.vecdot(first[:cut].reshape(shape), second[:cut].reshape(shape)))
    return found + first[cut:].dot(second[cut:]) if rest else found


def is_summable(self: Array) -> bool:
    """Whether the functions above take an array of any number of dimensions."""
    return self.dtype.char in "fd" and self.flags.c_contiguous and self.size > 0 and self.ndim > 0


def sum_dims(self: Array, dims: Sequence[int], keepdim: bool) -> Array | None:
    """The sum of a ``is_summable`` array over ``dims``, which are counted from the front and sorted.

    None unless they are some of the first and some of the last dimensions.
    """
    shape = self.shape
    ndim = len(shape)
    lead = 0
    while lead < len(dims) and dims[lead] == lead:
        lead += 1
    trail = len(dims) - lead
    if lead == ndim:
        return sum_all(self).reshape((1,) * ndim if keepdim else ())
    if trail and (dims[lead] != ndim - trail or dims[-1] != ndim - 1):
        return None
    result = self
    if trail:
        result = sum_rows(self.reshape(-1, math.prod(shape[ndim - trail :])))
    if lead:
        result = sum_columns(result.reshape(math.prod(shape[:lead]), -1))
    kept = shape[lead : ndim - trail]
    return result.reshape((1,) * lead + kept + (1,) * trail if keepdim else kept)


def sum_along(self: Array, axis: int) -> Array:
    """The sum of a floating array along an axis, which stays with size 1."""
    return np.asarray(sum_floats(self, (axis,), True))
