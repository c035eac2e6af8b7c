"""Shapes and dtypes of indexing, gather and scatter; arguments are checked as far as that needs no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import index_checks, pointwise
from ..creation import check_scalar
from ..index import check_index_put, check_scatter_flat, index_shape
from ..index_checks import check_long
from ..positions import check_static_size
from ..scatter import Check, check_fold
from .array import MetaArray, broadcast_shapes

Shape = tuple[int, ...]
Mask = MetaArray
Operand = MetaArray


def meta_index(self: MetaArray, indices: Sequence[MetaArray | None]) -> MetaArray:
    """Advanced indexing. NotImplementedError for masks, whose data the shape depends on."""
    if not indices:
        raise IndexError("at least one index must be provided")
    if len(indices) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim} (got {len(indices)})")
    for i in indices:
        if i is not None and i.dtype.char in "?B":
            raise NotImplementedError(
                "the shape depends on the data of a mask, which meta tensors do not have"
            )
        if i is not None and i.dtype.char not in "lqi":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return MetaArray(index_shape(self.shape, indices), self.dtype)


def meta_index_put(
    self: MetaArray, indices: Sequence[MetaArray | None], values: MetaArray, accumulate: bool
) -> MetaArray:
    check_index_put(self, indices, values, accumulate)
    return MetaArray(self.shape, self.dtype)


def zeros_of(sizes: Sequence[int], like: MetaArray) -> MetaArray:
    """Zeros of these sizes, of the dtype of an array."""
    return MetaArray(tuple(sizes), like.dtype)


def in_corner(self: MetaArray, sizes: Sequence[int]) -> MetaArray:
    """``self`` in the front corner of zeros of these sizes."""
    return MetaArray(tuple(sizes), self.dtype)


def gather_along(check: Check, self: MetaArray, dim: int, index: MetaArray) -> MetaArray:
    """The result of ``kernels.scatter.gather_along``, without elements, and what ``check`` raises."""
    check(self, dim, index)
    return MetaArray(index.shape, self.dtype)


def scatter_along(
    check: Check, self: MetaArray, dim: int, index: MetaArray, src: Any, fold: str, *_: bool
) -> MetaArray:
    """``self``. What ``kernels.scatter.scatter_along`` raises without elements."""
    check(self, dim, index, *([src] if isinstance(src, MetaArray) else []))
    check_fold(fold, self.dtype)
    return MetaArray(self.shape, self.dtype)


def gather_slices(
    check: Check, self: MetaArray, dim: int, index: MetaArray, whole: bool = False
) -> MetaArray:
    """The result of ``kernels.scatter.gather_slices``, without elements, and what ``check`` raises."""
    dim = check(self, dim, index)
    sizes = index.shape if whole else (index.size,)
    return MetaArray((*self.shape[:dim], *sizes, *self.shape[dim + 1 :]) if self.ndim else (), self.dtype)


def scatter_slices(
    check: Check, self: MetaArray, dim: int, index: MetaArray, source: MetaArray, fold: str, *_: Any
) -> MetaArray:
    """``self``. What ``kernels.scatter.scatter_slices`` raises without elements."""
    check(self, dim, index, source)
    check_fold(fold, self.dtype)
    return MetaArray(self.shape, self.dtype)


def fill_slices(check: Check, self: MetaArray, dim: int, index: MetaArray, value: Any) -> MetaArray:
    """``self``. What ``kernels.scatter.fill_slices`` raises without elements."""
    check(self, dim, index, value)
    return MetaArray(self.shape, self.dtype)


def gather_flat(self: MetaArray, index: MetaArray) -> MetaArray:
    """The result of ``kernels.index.gather_flat``. RuntimeError for an index that is not int64."""
    check_long(index)
    return MetaArray(index.shape, self.dtype)


def scatter_flat(self: MetaArray, index: MetaArray, source: Any, fold: str, *_: bool) -> MetaArray:
    """``self``. What ``kernels.index.scatter_flat`` raises without elements."""
    check_long(index)
    check_fold(fold, self.dtype)
    if isinstance(source, MetaArray):
        check_scatter_flat(self, index, source)
    return MetaArray(self.shape, self.dtype)


check_mask = index_checks.check_mask


def truth(condition: MetaArray, operator: str, name: str) -> Mask:
    """``condition``. RuntimeError unless it is of bool or uint8."""
    pointwise.truth(np.empty(0, condition.dtype), operator, name)
    return condition


def as_scalar(value: MetaArray, dtype: np.dtype[Any]) -> Operand:
    """``value``. RuntimeError for an array with dimensions."""
    check_scalar(value)
    return value


def meta_masked_scatter(self: MetaArray, mask: MetaArray) -> MetaArray:
    return MetaArray(broadcast_shapes(self.shape, check_mask(mask).shape), self.dtype)


def meta_nonzero_static(self: MetaArray, size: int) -> MetaArray:
    """int64 positions in ``size`` rows."""
    return MetaArray((check_static_size(size), self.ndim), np.dtype(np.int64))
