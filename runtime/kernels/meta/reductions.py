"""Shapes and dtypes of reductions, scans and what orders elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import wrap_dim
from ..dtypes import INT64
from ..reductions import check_hash, check_nonempty, restored_shape
from ..sorting import check_search, kthvalue_dim, topk_dim
from .array import MetaArray, broadcast_shapes
from .common import meta_reduced

DType = np.dtype[Any]
Dims = tuple[int, ...] | None
Shape = tuple[int, ...]
BOOL = np.dtype(bool)


def meta_selected(self: MetaArray, dim: int, keepdim: bool) -> tuple[MetaArray, MetaArray]:
    """Values and indices of an operator that selects one element along ``dim``."""
    indices = meta_reduced(self, (dim,), keepdim, INT64)
    if self.size == 0:
        check_nonempty(self.shape, (dim,))
    return MetaArray(indices.shape, self.dtype), indices


def meta_kthvalue(self: MetaArray, k: int, dim: int, keepdim: bool) -> tuple[MetaArray, MetaArray]:
    kthvalue_dim(self.shape, k, dim)
    return meta_selected(self, dim, keepdim)


def meta_along(self: MetaArray, dim: int) -> MetaArray:
    """Another array of the same shape and dtype, once ``dim`` is known to be one of its dims."""
    wrap_dim(dim, self.ndim)
    return MetaArray(self.shape, self.dtype)


def meta_sort(self: MetaArray, dim: int) -> tuple[MetaArray, MetaArray]:
    """Values and indices of an operator that keeps the shape: sort, cummax."""
    return meta_along(self, dim), MetaArray(self.shape, INT64)


def meta_topk(self: MetaArray, k: int, dim: int) -> tuple[MetaArray, MetaArray]:
    d = topk_dim(self.shape, k, dim)
    shape = (*self.shape[:d], k, *self.shape[d + 1 :]) if self.ndim else ()
    return MetaArray(shape, self.dtype), MetaArray(shape, INT64)


def meta_searchsorted(
    sorted_sequence: MetaArray,
    self: MetaArray,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: MetaArray | None,
) -> MetaArray:
    check_search(sorted_sequence, self, right, side, sorter)
    return MetaArray(self.shape, np.dtype(np.int32) if out_int32 else INT64)


def meta_bucketize(self: MetaArray, boundaries: MetaArray, out_int32: bool) -> MetaArray:
    """An integer for each element. RuntimeError unless the boundaries are 1-d."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return MetaArray(self.shape, np.dtype(np.int32) if out_int32 else INT64)


def meta_searchsorted_scalar(
    sorted_sequence: MetaArray, out_int32: bool, right: bool, side: str | None, sorter: MetaArray | None
) -> MetaArray:
    number = MetaArray((), sorted_sequence.dtype)
    return meta_searchsorted(sorted_sequence, number, out_int32, right, side, sorter)


def meta_bucketize_scalar(boundaries: MetaArray, out_int32: bool) -> MetaArray:
    return meta_bucketize(MetaArray((), boundaries.dtype), boundaries, out_int32)


def meta_isin(elements: MetaArray) -> MetaArray:
    return MetaArray(elements.shape, BOOL)


def meta_isin_scalar(test_elements: MetaArray) -> MetaArray:
    return MetaArray((), BOOL)


def meta_restore_dims(self: MetaArray, dim: Dims, keepdim: bool, ndim: int) -> MetaArray:
    return MetaArray(restored_shape(self.shape, dim, keepdim, ndim), self.dtype)


def meta_linear_scan(self: MetaArray, factor: MetaArray, dim: int) -> MetaArray:
    broadcast_shapes(self.shape, factor.shape)
    return meta_along(self, dim)


def meta_hash_tensor(self: MetaArray, dim: Dims, keepdim: bool, mode: int) -> MetaArray:
    """uint64."""
    check_hash(self, dim, mode)
    return meta_reduced(self, dim, keepdim, np.dtype(np.uint64))
