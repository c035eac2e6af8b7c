"""Independent computations of operators that move elements: by the numbers of the elements.

A view is described by the view of ``numbered(sizes)``: where each of its elements stands in the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Array = Any
Shape = Sequence[int]


def numbered(sizes: Shape) -> Array:
    """The elements' numbers, in the shape of the tensor."""
    return np.arange(math.prod(sizes)).reshape(sizes)


def summed(grad: Array, sizes: Shape, places: Array) -> Array:
    """The transpose of taking the elements at these places."""
    found = np.zeros(math.prod(sizes), dtype=grad.dtype)
    for place, value in zip(np.ravel(places), np.ravel(grad), strict=True):
        found[place] += value
    return found.reshape(sizes)


def written(self: Array, places: Array, source: Array) -> Array:
    """A copy with other elements at these places."""
    found = self.copy().reshape(-1)
    found[np.ravel(places)] = np.ravel(np.broadcast_to(source, places.shape))
    return found.reshape(self.shape)


# -- places ------------------------------------------------------------------------------------


def strided(size: Shape, stride: Shape, offset: int) -> Array:
    """Where the elements of such a view stand in the memory."""
    at = [offset + sum(i * s for i, s in zip(index, stride, strict=True)) for index in np.ndindex(*size)]
    return np.array(at, dtype=np.int64).reshape(size)


def sliced(sizes: Shape, dim: int, start: int | None, end: int | None, step: int) -> Array:
    """The places of a slice."""
    index = [slice(None)] * len(sizes)
    index[dim] = slice(start, end, step)
    return numbered(sizes)[tuple(index)]


def windows(sizes: Shape, dim: int, size: int, step: int) -> Array:
    """The places of ``unfold``: windows along a dimension, which go into a last one."""
    if not sizes:
        return np.zeros((1,), dtype=np.int64)
    count = (sizes[dim] - size) // step + 1
    taken = [np.take(numbered(sizes), range(i * step, i * step + size), axis=dim) for i in range(count)]
    return np.stack([np.moveaxis(t, dim, -1) for t in taken], axis=dim)


# -- operators ---------------------------------------------------------------------------------


def from_memory(
    self: Array, size: Shape, stride: Shape, offset: int, new_size: Shape, new_stride: Shape, new_offset: Any
) -> Array:
    """``as_strided`` of a tensor whose elements lie in memory in the first geometry."""
    memory = dict(zip(strided(size, stride, offset).flat, self.flat, strict=True))
    wanted = strided(new_size, new_stride, offset if new_offset is None else new_offset)
    return np.array([memory[i] for i in wanted.flat], dtype=self.dtype).reshape(new_size)


def to_memory(
    grad: Array, size: Shape, stride: Shape, offset: int, new_size: Shape, new_stride: Shape, new_offset: Any
) -> Array:
    """The transpose of ``from_memory``."""
    memory: dict[int, Any] = {}
    start = offset if new_offset is None else new_offset
    for i, value in zip(strided(new_size, new_stride, start).flat, grad.flat, strict=True):
        memory[i] = memory.get(i, 0) + value
    found = [memory.get(i, 0) for i in strided(size, stride, offset).flat]
    return np.array(found, dtype=grad.dtype).reshape(size)


def padded(self: Array, pad: Shape, value: Any) -> Array:
    """Constants around, or with negative numbers less of, the last dimensions."""
    for number in range(len(pad) // 2):
        dim = self.ndim - 1 - number
        before, after = pad[2 * number], pad[2 * number + 1]
        index = range(max(0, -before), self.shape[dim] + min(0, after))
        self = np.take(self, index, axis=dim)
        for width, first in ((max(0, before), True), (max(0, after), False)):
            rim = np.full((*self.shape[:dim], width, *self.shape[dim + 1 :]), value, dtype=self.dtype)
            self = np.concatenate([rim, self] if first else [self, rim], axis=dim)
    return self


def diagonals(self: Array, offset: int, dim1: int, dim2: int) -> Array:
    """The elements along diagonals of two new dimensions."""
    n, ndim = self.shape[-1] + abs(offset), self.ndim + 1
    found = np.zeros((*self.shape[:-1], n, n), dtype=self.dtype)
    for i in range(self.shape[-1]):
        found[..., i + max(0, -offset), i + max(0, offset)] = self[..., i]
    return np.moveaxis(found, (-2, -1), (dim1 % ndim, dim2 % ndim))


def pieces(self: Array, sizes: Sequence[int], dim: int) -> list[Array]:
    """Pieces of these sizes, one after the other."""
    ends = np.cumsum([0, *sizes])
    return [np.take(self, range(a, b), axis=dim) for a, b in pairwise(ends)]


def equal_sizes(length: int, size: int) -> list[int]:
    """The sizes of pieces of one size; the last may be smaller."""
    return [min(size, length - i) for i in range(0, length, max(size, 1))] or [0]


def spread_by_mask(grad: Array, sizes: Shape, mask: Array) -> Array:
    """Zeros with the elements of the gradient, in order, where the mask is true."""
    mask = np.broadcast_to(mask, np.broadcast_shapes(tuple(sizes), mask.shape))
    found = np.zeros(mask.shape, dtype=grad.dtype)
    found[mask] = grad
    return found


def taken_by_mask(grad: Array, mask: Array, sizes: Shape) -> Array:
    """The elements where the mask is true, then zeros."""
    found = np.zeros(math.prod(sizes), dtype=grad.dtype)
    taken = grad[np.broadcast_to(mask, grad.shape)]
    found[: taken.size] = taken
    return found.reshape(sizes)


def chunks_joined(tensors: Any, dim: int, num_chunks: int) -> Array:
    """Filled up with zeros, cut, flattened, and joined."""
    rows = []
    for t in tensors:
        first = dim % t.ndim
        size = -(-t.shape[first] // num_chunks)
        padding = [(0, size * num_chunks - n if d == first else 0) for d, n in enumerate(t.shape)]
        parts = np.split(np.pad(t, padding), num_chunks, first)
        rows.append(np.stack([p.reshape(*t.shape[:first], -1) for p in parts], first))
    return np.concatenate(rows, -1)


def diagonal_filled(self: Array, fill_value: Any, wrap: bool) -> Array:
    """NumPy's, which does not write into nothing."""
    out = self.copy()
    if out.size:
        np.fill_diagonal(out, fill_value, wrap)
    return out
