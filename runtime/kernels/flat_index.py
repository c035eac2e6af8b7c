"""Elements along a dimension as flat positions of a contiguous array.

NumPy takes and puts elements at flat positions several times faster than at tuples of indices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.costs import CHUNK, GRAIN
from .dtypes import INT64
from .parallel import in_threads, items_of_block
from .tables import put_along as put_elements

Array = Any
Shape = tuple[int, ...]


_cached: dict[tuple[Shape, int, Shape], Array] = {}


def take_along(self: Array, indices: Array, dim: int) -> Array:
    """The elements of ``self`` at ``indices`` along ``dim`` (from 0); the other dims of both agree.

    All indices are in range.
    """
    if self.ndim == 1:
        return self.take(indices, mode="wrap")
    if indices.size == 0:
        return np.empty(indices.shape, self.dtype)
    flat = self.reshape(-1)
    if indices.size <= CHUNK or dim < self.ndim - 1:
        # All are in range: "wrap" spares the test, and the buffer that "raise" needs for it.
        return flat.take(positions(self.shape, dim, indices), mode="wrap")
    result = np.empty(indices.shape, self.dtype)
    into, table = result.reshape(-1, indices.shape[-1]), self.reshape(-1, self.shape[-1])

    def rows(begin: int, end: int) -> None:
        for i, j, places in row_positions(indices, self.shape[-1], begin, end):
            table[i:j].reshape(-1).take(places, None, into[i:j], "wrap")

    in_threads(rows, len(table), indices.shape[-1], GRAIN)
    return result


def put_along(out: Array, indices: Array, dim: int, values: Array) -> None:
    """Write ``values`` to ``out`` (contiguous) at ``indices`` along ``dim``; of several the last stays.

    ``values`` has the shape of the indices, or is 0-d. All indices are in range.
    """
    if put_elements(out, indices, values, dim):
        return
    whole = indices.size <= CHUNK or out.ndim < 2 or dim < out.ndim - 1
    if whole or indices.shape[:-1] != out.shape[:-1]:
        places = positions(out.shape or (1,), dim, indices).reshape(-1)
        out.reshape(-1)[places] = values.reshape(-1) if values.ndim else values
        return
    table = out.reshape(-1, out.shape[-1])
    source = np.broadcast_to(values, indices.shape).reshape(-1, indices.shape[-1])
    for i, j, places in row_positions(indices, out.shape[-1], 0, len(table)):
        table[i:j].reshape(-1)[places.reshape(-1)] = source[i:j].reshape(-1)


def row_positions(indices: Array, count: int, begin: int, end: int) -> Iterator[tuple[int, int, Array]]:
    """For some rows of indices at a time: where they begin and end, the flat positions in these rows alone.

    Rows have ``count`` elements. The positions are overwritten by the next ones.
    """
    rows = indices.reshape(-1, indices.shape[-1])
    step = min(items_of_block(CHUNK, rows.shape[1]), end - begin)
    starts = _lane_offsets((step, count), 1, (step, rows.shape[1]))
    places = np.empty((step, rows.shape[1]), INT64)
    for i in range(begin, end, step):
        j = min(i + step, end)
        yield i, j, np.add(rows[i:j], starts[: j - i], places[: j - i])


def positions(shape: Shape, dim: int, index: Array) -> Array:
    """Where the elements at ``index`` along ``dim``, the other dims in step, stand in a contiguous array."""
    if len(shape) == 1 or index.size == 0:
        return index
    stride = math.prod(shape[dim + 1 :])
    starts = _lane_offsets(shape, dim, index.shape)
    if stride == 1:
        return index + starts
    result = np.multiply(index, stride, dtype=INT64)
    return np.add(result, starts, result)


def row_starts(rows: int, columns: int) -> Array:
    """Where the rows of a contiguous matrix begin; not to be written to."""
    return _lane_offsets((rows, columns), 1, (rows,))


def _lane_offsets(shape: Shape, dim: int, used: Shape) -> Array:
    """Where the lanes along ``dim`` start, for each element of an index of shape ``used``.

    The same shapes come again: small ones are kept. Nobody may write to them.
    """
    found = _cached.get((shape, dim, used))
    if found is not None:
        return found
    result: Array = np.zeros((1,) * len(used), INT64)
    stride = 1
    for d in range(len(shape) - 1, -1, -1):
        if d != dim and used[d] > 1:
            steps = np.arange(0, used[d] * stride, stride)
            result = result + steps.reshape((-1,) + (1,) * (len(used) - 1 - d))
        stride *= shape[d]
    if math.prod(used) <= CHUNK:
        result = np.ascontiguousarray(np.broadcast_to(result, used))
        result.flags.writeable = False
        if sum([a.size for a in list(_cached.values())]) > 2 * CHUNK:
            _cached.clear()
        _cached[shape, dim, used] = result
    return result
