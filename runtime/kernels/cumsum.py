"""Cumulative sums of floats as products with triangles of ones.

A cumulative sum waits for each addition before it makes the next. A product with a triangle of ones
forms those of many blocks of ``CUMSUM_BLOCK`` elements at once, in BLAS; what stands before each block
is then added to it, from a cumulative sum of the blocks in float64. A chain of float32 additions is never
longer than a block.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.costs import (
    CUMSUM_BLOCK,
    CUMSUM_CHUNK,
    CUMSUM_FEW_BLOCKS,
    CUMSUM_GRAIN,
    CUMSUM_INNER,
    CUMSUM_WHOLE,
    GEMM_ALONE,
)
from .parallel import each_block, items_of_block

Array = Any

_triangles: dict[tuple[str, int, bool], Array] = {}


def blocked_cumsum(self: Array, dim: int, reverse: bool) -> Array | None:
    """The cumulative sum along ``dim`` (from 0), or from the end, of contiguous float32 or float64 numbers.

    None where this is not the way: small arrays (``SCAN_LARGE``). Lanes with elements or sums
    that are not finite, which a product would spread over their block, are added one after the other.
    """
    length = self.shape[dim]
    if self.size == 0 or length < 4:
        return None
    inner = math.prod(self.shape[dim + 1 :])
    if inner > 1 and (inner < CUMSUM_INNER[self.dtype.char] or length <= 2 * CUMSUM_WHOLE):
        return None
    result = np.empty(self.shape, self.dtype)
    if inner > 1:
        _cumsum_slices(self, result, length, inner, reverse)
        return result
    table, out = self.reshape(-1, length), result.reshape(-1, length)
    step = items_of_block(CUMSUM_CHUNK, length)

    def chunk(_: int, begin: int, end: int) -> None:
        _cumsum_rows(table[begin:end], out[begin:end], reverse)

    each_block(chunk, len(table), length, CUMSUM_GRAIN, step)
    return result


def _triangle(char: str, size: int, reverse: bool) -> Array:
    """Ones where a column's sum takes a row."""
    found = _triangles.get((char, size, reverse))
    if found is None:
        ones = np.ones((size, size), char)
        found = np.tril(ones) if reverse else np.triu(ones)
        _triangles[char, size, reverse] = found
    return found


def _exclusive_triangle(size: int) -> Array:
    """Ones where a sum of those before it takes a row, and a last column for the sum of all."""
    found = _triangles.get(("stairs", size, False))
    if found is None:
        found = _triangles["stairs", size, False] = np.triu(np.ones((size, size + 1)), 1)
    return found


@lru_cache(maxsize=256)
def _block(length: int) -> int:
    """The divisor of ``length`` nearest to ``CUMSUM_BLOCK``: the blocks of all rows are one matrix."""
    near = [n for n in range(CUMSUM_BLOCK // 2, 2 * CUMSUM_BLOCK + 1) if length % n == 0]
    return min(near, key=lambda n: abs(n - CUMSUM_BLOCK), default=CUMSUM_BLOCK)


def _cumsum_rows(table: Array, result: Array, reverse: bool) -> None:
    """The cumulative sums of the rows of ``table``, written to ``result``."""
    rows, length = table.shape
    if length <= CUMSUM_WHOLE:
        _matmul_triangle(table, _triangle(table.dtype.char, length, reverse), result)
        _recompute_nonfinite(table, result, reverse)
        return
    carry = np.zeros((rows, 1))
    block = _block(length)
    step = items_of_block(CUMSUM_CHUNK, rows * block) * block
    rest = length % block
    starts = range(0, length - rest, step)
    for start in reversed(starts) if reverse else starts:
        size = min(step, length - rest - start)
        start += rest if reverse else 0
        part = slice(start, start + size)
        carry = _cumsum_row_blocks(table[:, part], result[:, part], block, carry, reverse)
    _cumsum_rest(table, result, rest, carry, reverse)
    _recompute_nonfinite(table, result, reverse)


def _cumsum_row_blocks(table: Array, result: Array, block: int, carry: Array, reverse: bool) -> Array:
    """``_cumsum_rows`` of whole blocks, with what stands ``carry`` them; what then stands before the next."""
    shape = (len(table), -1, block)
    triangle = _triangle(table.dtype.char, block, reverse)
    blocks, sums = table.reshape(shape), result.reshape(shape)
    if table.flags.c_contiguous and result.flags.c_contiguous:
        _matmul_triangle(blocks.reshape(-1, block), triangle, sums.reshape(-1, block))
    else:
        _matmul_triangle(blocks, triangle, sums)
    totals = np.empty((len(table), blocks.shape[1] + 1))
    ends = _flip_if(sums[..., 0 if reverse else -1], reverse)
    if len(table) > 1 and blocks.shape[1] <= CUMSUM_FEW_BLOCKS:
        _matmul_triangle(ends.astype(np.float64), _exclusive_triangle(blocks.shape[1]), totals)
        totals += carry
    else:
        totals[:, :1] = carry
        totals[:, 1:] = ends
        np.add.accumulate(totals, 1, None, totals)
    offsets = _flip_if(totals[:, :-1].astype(table.dtype), reverse)
    np.add(sums, offsets[..., np.newaxis], sums)
    return totals[:, -1:]


def _matmul_triangle(blocks: Array, triangle: Array, result: Array) -> None:
    """``blocks @ triangle``, in products that are too small for BLAS to share them among its threads.

    A product waits for the slowest thread, which takes long where there are more of them than processors.
    """
    step = GEMM_ALONE // triangle.size
    for i in range(0, blocks.shape[-2], step):
        np.matmul(blocks[..., i : i + step, :], triangle, result[..., i : i + step, :])


def _flip_if(self: Array, reverse: bool) -> Array:
    """The rows as they are run through."""
    return self[:, ::-1] if reverse else self


def _cumsum_slices(self: Array, result: Array, length: int, inner: int, reverse: bool) -> None:
    """The cumulative sums along a dim of ``length`` with ``inner`` elements behind it."""
    table, out = self.reshape(-1, length, inner), result.reshape(-1, length, inner)
    rest = length % CUMSUM_BLOCK
    whole = slice(rest, length) if reverse else slice(0, length - rest)
    shape = (len(table), -1, CUMSUM_BLOCK, inner)
    blocks, sums = table[:, whole].reshape(shape), out[:, whole].reshape(shape)
    triangle, step = _triangle(self.dtype.char, CUMSUM_BLOCK, not reverse), GEMM_ALONE // CUMSUM_BLOCK**2
    for i in range(0, inner, step):
        np.matmul(triangle, blocks[..., i : i + step], sums[..., i : i + step])
    totals = np.empty((len(table), blocks.shape[1] + 1, inner))
    totals[:, 0] = 0
    totals[:, 1:] = _flip_if(sums[:, :, 0 if reverse else -1], reverse)
    for i in range(1, totals.shape[1]):
        np.add(totals[:, i], totals[:, i - 1], totals[:, i])
    offsets = _flip_if(totals[:, :-1].astype(self.dtype), reverse)
    np.add(sums, offsets[:, :, np.newaxis], sums)
    _cumsum_rest(table, out, rest, totals[:, -1:], reverse)
    _recompute_nonfinite(table.transpose(0, 2, 1), out.transpose(0, 2, 1), reverse)


def _cumsum_rest(table: Array, result: Array, rest: int, carry: Array, reverse: bool) -> None:
    """The sums of the last ``rest`` elements of dimension 1, or the first, on top of ``carry``."""
    if rest:
        part = slice(0, rest) if reverse else slice(-rest, None)
        tail = _flip_if(table[:, part].astype(np.float64), reverse)
        _flip_if(result[:, part], reverse)[...] = np.add.accumulate(tail, 1) + carry


def _recompute_nonfinite(lanes: Array, result: Array, reverse: bool) -> None:
    """Add one after the other the elements of those lanes, along the last dim, whose sums are not finite."""
    if math.isfinite(result.max()) and math.isfinite(result.min()):  # neither is where there is NaN
        return
    wrong = ~np.isfinite(result).all(-1)
    tail = lanes[wrong].astype(np.float64)
    result[wrong] = _flip_if(np.add.accumulate(_flip_if(tail, reverse), 1), reverse)
