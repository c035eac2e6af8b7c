"""Where tensors lie in memory: sizes, strides and offset, of one tensor or of a base and its view."""

from __future__ import annotations

import math
from typing import Any

from ..kernels.layout import extent, is_contiguous, is_dense, may_overlap

Shape = tuple[int, ...]


class TensorGeometry:
    """Where a tensor's elements lie in its memory; strides and offset count its own elements."""

    __slots__ = ("offset", "shape", "strides", "type")

    def __init__(self, shape: Shape, strides: Shape, offset: int, T: Any) -> None:
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.type = T

    @property
    def itemsize(self) -> int:
        size: int = self.type.scalar_type.itemsize
        return size

    def reach(self) -> tuple[int, int]:
        """The bytes from the first to behind the last element."""
        start = self.offset * self.itemsize
        return start, start + extent(self.shape, self.strides) * self.itemsize

    def overlaps_itself(self) -> bool:
        """Whether two elements may lie in one place; never False when they do."""
        return may_overlap(self.shape, self.strides)

    def is_contiguous(self) -> bool:
        """Whether the elements stand in C's order without gaps."""
        return is_contiguous(self.shape, self.strides)

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
    if tensor._meta is not None and tensor._meta.path is not None:
        found: TensorGeometry | None = tensor._meta.path.geometry(tensor._type)
        if found is not None:
            return found
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

    def view_of(self, array: Any) -> Any:
        """From an array like the base, what the view shows of it."""
        return self.open(array)[1]

    def spread(self, array: Any) -> Any:
        """From an array like the view, one like the base that is zero elsewhere; overlaps add up."""
        base, view = self.memory()
        lib = self.view.type.backend.lib
        if self.view.overlaps_itself():
            _add_overlapping(lib, view, lib.contiguous(array), self.view)
        else:
            lib.copyto(view, array)
        return base

    def erase(self, array: Any) -> Any:
        """An array like the base, with zeros where the view lies."""
        return self.replaced(self.open(array), None)

    def open(self, array: Any) -> tuple[Any, Any]:
        """Memory that ``replaced`` takes, like the base with these elements, and the view of it."""
        opened = self.memory()
        self.base.type.backend.lib.copyto(opened[0], array)
        return opened

    def replaced(self, opened: tuple[Any, Any], value: Any) -> Any:
        """The opened base with ``value``, or zeros for None, where the view lies."""
        lib = self.base.type.backend.lib
        lib.copyto(opened[1], lib.zeros((), self.view.type.dtype) if value is None else value)
        return opened[0]

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


def _add_overlapping(lib: Any, target: Any, array: Any, geometry: TensorGeometry) -> None:
    """Add ``array`` into ``target``, elements of which share places: one slice at a time.

    The shortest dimension is walked until what is left does not overlap.
    """
    if not geometry.overlaps_itself():
        lib.add_(target, array)
        return
    sizes = geometry.shape
    dim = min([d for d, n in enumerate(sizes) if n > 1], key=sizes.__getitem__)
    rest = TensorGeometry(
        sizes[:dim] + sizes[dim + 1 :], geometry.strides[:dim] + geometry.strides[dim + 1 :], 0, geometry.type
    )
    key: list[Any] = [slice(None)] * len(sizes)
    for i in range(sizes[dim]):
        key[dim] = i
        # The Ellipsis keeps a 0-d slice an array.
        at = (*key, ...)
        _add_overlapping(lib, target[at], array[at], rest)
