"""Views by size and stride, of NumPy's arrays and of MetaArrays alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..fast_paths import operation
from . import cpu
from .layout import contiguous_strides

#: A NumPy array or a MetaArray: view kernels are written once for both.
Array: TypeAlias = Any
Shape = tuple[int, ...]


def element_strides(self: Array) -> Shape:
    """The strides in elements, as torch counts them: an empty array has those of a full one."""
    if type(self) is not np.ndarray:
        strides: Shape = self.element_strides
        return strides
    if self.size == 0 and not any(self.strides):
        return contiguous_strides(self.shape)
    itemsize = self.itemsize
    return tuple([s // itemsize for s in self.strides])


def full_strides(self: Array) -> Array:
    """An array without elements, with the strides of a full one, which NumPy does not give it."""
    if type(self) is not np.ndarray or any(self.strides):
        return self
    return empty_view(self, self.shape, contiguous_strides(self.shape), self.dtype)


def empty_view(self: Array, shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """A view without elements of a NumPy array that has none; NumPy's own views lose the strides."""
    itemsize = dtype.itemsize
    return np.ndarray(tuple(shape), dtype, self, 0, tuple([s * itemsize for s in strides]))


@operation("restride")
def restrided(self: Array, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Array:
    """The view of another shape and other strides (in elements) that begins ``offset`` elements behind the
    first one of ``self``.

    The caller answers for it that the view stays inside the memory of ``self``.
    """
    if type(self) is not np.ndarray:
        return self.restrided(shape, strides, self.offset + offset)
    itemsize = self.itemsize
    if self.flags.c_contiguous:
        in_bytes = tuple([s * itemsize for s in strides])
        return np.ndarray(tuple(shape), self.dtype, self, offset * itemsize, in_bytes)
    return cpu.as_strided(self, tuple(shape), tuple(strides), cpu.storage_offset(self) + offset)


def storage_offset(self: Array) -> int:
    """How many elements after the start of its memory ``self`` begins."""
    if type(self) is not np.ndarray:
        offset: int = self.offset
        return offset
    return cpu.storage_offset(self)
