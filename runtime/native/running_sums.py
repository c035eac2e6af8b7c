"""Running sums of floats as products with triangles of ones.

A running sum waits for each addition before it makes the next. A product with a triangle of ones
forms those of many blocks of ``BLOCK`` elements at once, in BLAS; what stands before each block is then
added to it, from a running sum of the blocks in float64. A chain of float32 additions is never
longer than a block.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tengen.native.parallel import parallel_for
from tengen.native.sums import sum_all

Array = Any

BLOCK = 16
#: A lane of at most this many elements is one block.
WHOLE = 32
#: From this many elements on products are faster than ``accumulate``.
LARGE = 1 << 12
#: Along other dims than the last one: from this many elements behind it on, in float32 and in float64.
INNER = {"f": 64, "d": 32}
#: So many elements are worked on at a time: they stay in the cache.
CHUNK = 1 << 17
#: Fewer elements than this are not worth a thread.
GRAIN = 1 << 17

_triangles: dict[tuple[str, int, bool], Array] = {}


def running_sum(self: Array, dim: int, reverse: bool) -> Array | None:
    """The running sum along ``dim`` (from 0), or from the end, of contiguous float32 or float64 numbers.

    None where this is not the way: small arrays (call it for ``LARGE`` ones), and those with elements or
    sums that are not finite, which a product would spread over their block.
    """
    length = self.shape[dim]
    if self.size == 0 or length < 4:
        return None
    inner = math.prod(self.shape[dim + 1 :])
    if inner > 1 and (inner < INNER[self.dtype.char] or length <= 2 * WHOLE):
        return None
    result = np.empty(self.shape, self.dtype)
    if inner > 1:
        return result if _over_slices(self, result, length, inner, reverse) else None
    table, into = self.reshape(-1, length), result.reshape(-1, length)
    wrong: list[bool] = []

    def rows(begin: int, end: int) -> None:
        step = max(1, CHUNK // length)
        for i in range(begin, end, step):
            j = min(i + step, end)
            if wrong or not _over_rows(table[i:j], into[i:j], reverse):
                wrong.append(True)
                return

    parallel_for(rows, len(table), max(1, GRAIN // length))
    return None if wrong else result


def _triangle(char: str, size: int, reverse: bool) -> Array:
    """Ones where a column's sum takes a row."""
    found = _triangles.get((char, size, reverse))
    if found is None:
        ones = np.ones((size, size), char)
        found = np.tril(ones) if reverse else np.triu(ones)
        _triangles[char, size, reverse] = found
    return found


def _over_rows(table: Array, result: Array, reverse: bool) -> bool:
    """The running sums of the rows of ``table``, written to ``result``; False where they are not finite."""
    rows, length = table.shape
    if length <= WHOLE:
        np.matmul(table, _triangle(table.dtype.char, length, reverse), result)
        return _finite(result)
    before = np.zeros((rows, 1))
    step = max(CHUNK // BLOCK * BLOCK // rows, BLOCK) // BLOCK * BLOCK
    rest = length % BLOCK
    starts = range(0, length - rest, step)
    for start in reversed(starts) if reverse else starts:
        size = min(step, length - rest - start)
        start += rest if reverse else 0
        part = slice(start, start + size)
        before = _blocks_of_rows(table[:, part], result[:, part], before, reverse)
    if rest:
        part = slice(0, rest) if reverse else slice(length - rest, length)
        tail = _directed(table[:, part].astype(np.float64), reverse)
        _directed(result[:, part], reverse)[...] = np.add.accumulate(tail, 1) + before
    return _finite(result)


def _blocks_of_rows(table: Array, result: Array, before: Array, reverse: bool) -> Array:
    """``_over_rows`` of whole blocks, with what stands ``before`` them; what then stands before the next."""
    shape = (len(table), -1, BLOCK)
    triangle = _triangle(table.dtype.char, BLOCK, reverse)
    blocks, sums = table.reshape(shape), result.reshape(shape)
    if table.flags.c_contiguous and result.flags.c_contiguous:
        np.matmul(blocks.reshape(-1, BLOCK), triangle, sums.reshape(-1, BLOCK))
    else:
        np.matmul(blocks, triangle, sums)
    totals = np.empty((len(table), blocks.shape[1] + 1))
    totals[:, :1] = before
    totals[:, 1:] = _directed(sums[..., 0 if reverse else -1], reverse)
    np.add.accumulate(totals, 1, None, totals)
    offsets = _directed(totals[:, :-1].astype(table.dtype), reverse)
    np.add(sums, offsets[..., np.newaxis], sums)
    return totals[:, -1:]


def _directed(self: Array, reverse: bool) -> Array:
    """The rows as they are run through."""
    return self[:, ::-1] if reverse else self


def _over_slices(self: Array, result: Array, length: int, inner: int, reverse: bool) -> bool:
    """The running sums along a dim of ``length`` with ``inner`` elements behind it."""
    table, into = self.reshape(-1, length, inner), result.reshape(-1, length, inner)
    rest = length % BLOCK
    whole = slice(rest, length) if reverse else slice(0, length - rest)
    shape = (len(table), -1, BLOCK, inner)
    blocks, sums = table[:, whole].reshape(shape), into[:, whole].reshape(shape)
    np.matmul(_triangle(self.dtype.char, BLOCK, not reverse), blocks, sums)
    totals = np.empty((len(table), blocks.shape[1] + 1, inner))
    totals[:, 0] = 0
    totals[:, 1:] = _directed(sums[:, :, 0 if reverse else -1], reverse)
    for i in range(1, totals.shape[1]):
        np.add(totals[:, i], totals[:, i - 1], totals[:, i])
    offsets = _directed(totals[:, :-1].astype(self.dtype), reverse)
    np.add(sums, offsets[:, :, np.newaxis], sums)
    if rest:
        part = slice(0, rest) if reverse else slice(length - rest, length)
        tail = _directed(table[:, part].astype(np.float64), reverse)
        _directed(into[:, part], reverse)[...] = np.add.accumulate(tail, 1) + totals[:, -1:]
    return _finite(result)


def _finite(result: Array) -> bool:
    """Whether the sum of all is: then all are."""
    return math.isfinite(sum_all(result))
