"""Arrays in coordinate format of indices and values, and of strided arrays, and strided ones of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..layout import expanded
from .array import Array, CooArray, empty_coo, flat_indices, unflat_indices
from .rows import add_rows
from .stored import check_empty_sizes, check_sizes_of_mask


def coo_coalesce(self: CooArray) -> CooArray:
    """The same array with one value for each index, in C's order of the indices."""
    if self.coalesced:
        return self
    shape = self.sparse_shape
    flat, places = np.unique(flat_indices(self.indices, shape), return_inverse=True)
    return CooArray(unflat_indices(flat, shape), add_rows(self.values, places, len(flat)), self.shape, True)


def coo_to_dense(self: CooArray) -> Array:
    """All elements."""
    shape = self.sparse_shape
    flat = flat_indices(self.indices, shape)
    return add_rows(self.values, flat, prod(shape)).reshape(self.shape)


def coo_to_sparse(self: CooArray, sparse_dim: int) -> CooArray:
    """An array that is one already. RuntimeError for another number of indexed dimensions."""
    if sparse_dim != self.sparse_dim:
        raise RuntimeError(
            f"to_sparse: conversion from sparse_coo with sparse_dim {self.sparse_dim} to sparse_coo with "
            f"sparse_dim {sparse_dim} is not supported"
        )
    return self


def coo_broadcast(self: CooArray, shape: Sequence[int]) -> CooArray:
    """The array repeated along the dimensions that broadcast; only indexed ones may be new."""
    lead = len(shape) - self.ndim
    dense = tuple(shape[len(shape) - self.dense_dim :]) if self.dense_dim else ()
    sizes = tuple(shape[: len(shape) - len(dense)])
    own = (1,) * lead + self.sparse_shape
    grown = [d for d, (n, m) in enumerate(zip(own, sizes, strict=True)) if n != m]
    values = self.values
    if dense != values.shape[1:]:
        values = np.broadcast_to(values, (self.nnz, *dense))
    if not grown and not lead:
        return CooArray(self.indices, values, shape, self.coalesced)
    times = prod([sizes[d] for d in grown])
    repeated = unflat_indices(np.arange(times), tuple([sizes[d] for d in grown]))
    indices = np.zeros((len(sizes), times, self.nnz), np.int64)
    indices[lead:] = self.indices[:, None, :]
    for row, d in zip(repeated, grown, strict=True):
        indices[d] = row[:, None]
    # Copies of the whole follow each other: only where new dimensions come first the order is C's.
    coalesced = self.coalesced and grown == list(range(len(grown)))
    return CooArray(indices.reshape(len(sizes), -1), np.concatenate([values] * times), shape, coalesced)


def values_at(self: Any, indices: Array, sparse_dim: int) -> Array:
    """The elements, or blocks of them, at indices: of a strided array, or of one in coordinate format."""
    if not isinstance(self, CooArray):
        found: Array = self[tuple(indices)] if sparse_dim else self[None][: indices.shape[1]]
        return found
    self = coo_coalesce(self)
    shape = self.shape[:sparse_dim]
    own, wanted = flat_indices(self.indices, shape), flat_indices(indices, shape)
    places = np.searchsorted(own, wanted)
    places[places == len(own)] = 0
    result = np.zeros((len(wanted), *self.dense_shape), self.values.dtype)
    if len(own):
        there = own[places] == wanted
        result[there] = self.values[places[there]]
    return result


def coo_mask(self: Any, mask: CooArray) -> CooArray:
    """The elements of ``self`` where ``mask`` stores some. RuntimeError where the sizes differ."""
    check_sizes_of_mask(self, mask)
    if isinstance(self, CooArray) and self.sparse_dim != mask.sparse_dim:
        raise RuntimeError(
            f"sparse_mask(): the arguments have incompatible number of sparse dimensions: self has "
            f"{self.sparse_dim} and mask has {mask.sparse_dim}"
        )
    return CooArray(mask.indices, values_at(self, mask.indices, mask.sparse_dim), mask.shape, mask.coalesced)


def coo_indices(self: CooArray) -> Array:
    """The indices of a coalesced array."""
    _check_coalesced(self, "indices")
    return self.indices


def coo_values(self: CooArray) -> Array:
    """The values of a coalesced array."""
    _check_coalesced(self, "values")
    return self.values


def stored_indices(self: CooArray) -> Array:
    return self.indices


def _check_coalesced(self: CooArray, what: str) -> None:
    if not self.coalesced:
        raise RuntimeError(f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first")


def coo_empty(size: Sequence[int], dtype: Any) -> CooArray:
    """Nothing stored. RuntimeError for a negative size."""
    check_empty_sizes(size)
    return empty_coo(size, dtype)


def coo_expand(self: CooArray, size: Sequence[int]) -> CooArray:
    """The array broadcast to a shape, in which -1 is the size that there is."""
    shape, _ = expanded(self.shape, self.shape, tuple(size))
    return coo_broadcast(self, shape)
