"""Where tensors lie in memory: sizes, strides and offset, of one tensor or of a base and its view."""

from __future__ import annotations

import math
from typing import Any

from ..native.layout import extent, is_dense, may_overlap

Shape = tuple[int, ...]


class TensorGeometry:
    """Where a tensor's elements lie in its memory; strides and offset count its own elements."""

    __slots__ = ("offset", "shape", "strides", "type")

    def __init__(self, shape: Shape, strides: Shape, offset: int, type: Any) -> None:
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.type = type

    @property
    def itemsize(self) -> int:
        size: int = self.type.dtype.itemsize
        return size

    def reach(self) -> tuple[int, int]:
        """The bytes from the first to behind the last element."""
        start = self.offset * self.itemsize
        return start, start + extent(self.shape, self.strides) * self.itemsize

    def overlaps_itself(self) -> bool:
        """Whether two elements may lie in one place; never False when they do."""
        return may_overlap(self.shape, self.strides)

    def is_dense(self) -> bool:
        """Whether the elements fill their memory without a gap, each in a place of its own."""
        return is_dense(self.shape, self.strides)

    def repeated(self, count: int, step: int) -> TensorGeometry:
        """``count`` such geometries, ``step`` elements apart, in a first dimension."""
        return TensorGeometry((count, *self.shape), (step, *self.strides), self.offset, self.type)


def geometry_of(tensor: Any) -> TensorGeometry:
    """Where the tensor's elements lie; of a batched tensor, those of a slice."""
    array = tensor._array
    if tensor._wraps:
        return TensorGeometry(tuple(array.shape), array.element_strides, array.offset, tensor._type)
    lib = tensor._type.backend.lib
    return TensorGeometry(tuple(array.shape), lib.strides(array), lib.storage_offset(array), tensor._type)


class ViewGeometry:
    """A base and a view of it: where each lies in one piece of memory."""

    __slots__ = ("base", "view")

    def __init__(self, base: TensorGeometry, view: TensorGeometry) -> None:
        self.base = base
        self.view = view

    def memory(self) -> tuple[Any, Any]:
        """Fresh zeros laid out as the base is, and the view of them: two arrays over one memory."""
        lib = self.base.type.backend.lib
        step = max(self.base.itemsize, self.view.itemsize)
        ends = self.base.reach(), self.view.reach()
        start = min(ends[0][0], ends[1][0]) // step * step
        stop = max(ends[0][1], ends[1][1])
        memory = lib.zeros((-(-(stop - start) // self.base.itemsize),), self.base.type.dtype)
        return self._in(memory, self.base, start), self._in(memory, self.view, start)

    def repeated(self, count: int) -> ViewGeometry:
        """``count`` such pairs, one behind the other in one piece of memory."""
        ends = self.base.reach(), self.view.reach()
        step = max(self.base.itemsize, self.view.itemsize)
        start = min(ends[0][0], ends[1][0]) // step * step
        size = -(-(max(ends[0][1], ends[1][1]) - start) // step) * step
        return ViewGeometry(
            self.base.repeated(count, size // self.base.itemsize),
            self.view.repeated(count, size // self.view.itemsize),
        )

    def _in(self, memory: Any, geometry: TensorGeometry, start: int) -> Any:
        if geometry.type.dtype != memory.dtype:
            memory = memory.view(geometry.type.dtype)
        offset = geometry.offset - start // geometry.itemsize
        return geometry.type.backend.lib.as_strided(memory, geometry.shape, geometry.strides, offset)


def element_count(shape: Shape) -> int:
    """The number of elements of an array of this shape."""
    return math.prod(shape)
