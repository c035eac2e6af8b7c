"""Shapes and dtypes of indexing, gather and scatter; arguments are checked as far as that needs no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import wrap_dim
from ..index import check_index_copy, check_index_fill, check_index_put, check_put_count, index_shape
from ..index_checks import (
    check_integer_index,
    check_long,
    check_mask,
    check_same_dtype,
    check_single,
    check_vector,
)
from ..positions import check_static_size
from ..scatter import check_gather, check_index_add, check_scatter
from .array import MetaArray, broadcast_shapes

Shape = tuple[int, ...]


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


def meta_index_select(self: MetaArray, dim: int, index: MetaArray) -> MetaArray:
    d = wrap_dim(dim, self.ndim)
    check_vector(index)
    check_integer_index(index)
    if self.ndim == 0:
        check_single(index)
        return MetaArray((), self.dtype)
    return MetaArray((*self.shape[:d], index.size, *self.shape[d + 1 :]), self.dtype)


def meta_index_fill(self: MetaArray, dim: int, index: MetaArray, value: Any) -> MetaArray:
    """As ``self``. RuntimeError for an index of two dimensions or more."""
    wrap_dim(dim, self.ndim)
    check_index_fill(self, value)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    return MetaArray(self.shape, self.dtype)


def meta_index_copy(self: MetaArray, dim: int, index: MetaArray, source: MetaArray) -> MetaArray:
    check_index_copy(self, dim, index, source)
    return MetaArray(self.shape, self.dtype)


def meta_index_add(self: MetaArray, dim: int, index: MetaArray, source: MetaArray) -> MetaArray:
    check_index_add(self, dim, index, source)
    return MetaArray(self.shape, self.dtype)


def meta_gather(self: MetaArray, dim: int, index: MetaArray) -> MetaArray:
    check_gather(self, dim, index)
    return MetaArray(index.shape, self.dtype)


def meta_scatter_along(
    self: MetaArray, dim: int, index: MetaArray, src: MetaArray | None = None
) -> MetaArray:
    check_scatter(self, dim, index, src)
    return MetaArray(self.shape, self.dtype)


def meta_masked_fill(self: MetaArray, mask: MetaArray) -> MetaArray:
    check_mask(mask)
    return MetaArray(broadcast_shapes(self.shape, mask.shape), self.dtype)


def meta_take(self: MetaArray, index: MetaArray) -> MetaArray:
    check_long(index)
    return MetaArray(index.shape, self.dtype)


def meta_put(self: MetaArray, index: MetaArray, source: MetaArray) -> MetaArray:
    check_long(index)
    check_same_dtype(self, source)
    check_put_count(source, index)
    return MetaArray(self.shape, self.dtype)


def meta_nonzero_static(self: MetaArray, size: int) -> MetaArray:
    """int64 positions in ``size`` rows."""
    return MetaArray((check_static_size(size), self.ndim), np.dtype(np.int64))
