"""Arrays in compressed formats of those in other layouts, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...core.memory_format import sparse_coo
from ..sparse.array import Array, CooArray, flat_indices, unflat_indices
from ..sparse.conversions import coo_coalesce, values_at
from ..sparse.rows import add_rows
from ..sparse.stored import check_dense_dim, check_empty_sizes, check_sizes_of_mask
from .array import KINDS, NAMES, CompressedArray, compress, empty_compressed, nothing_stored

Places = tuple[Array, Array, Array]


def elements(self: CompressedArray) -> tuple[Places, Array]:
    """Of each stored element its batch, row and column, and the elements ``(count, *dense)``."""
    batch, row, column = self.places()
    entries = self.entries
    if not self.blocked:
        return (batch, row, column), entries[:, 0, 0]
    high, wide = entries.shape[1:3]
    shape = (len(batch), high, wide)
    rows = (row * high)[:, None, None] + np.arange(high)[:, None]
    columns = (column * wide)[:, None, None] + np.arange(wide)
    spread = [np.broadcast_to(a, shape).reshape(-1) for a in (batch[:, None, None], rows, columns)]
    return (spread[0], spread[1], spread[2]), entries.reshape(len(spread[0]), *self.dense_shape)


def flat_places(self: CompressedArray, places: Places) -> Array:
    """The places as numbers of elements of all matrices in C's order."""
    return flat_indices(np.stack(places), (prod(self.batch_shape), *self.matrix_shape))


def compressed_to_dense(self: CompressedArray) -> Array:
    """All elements."""
    places, values = elements(self)
    count = prod(self.shape[: self.batch_dim + 2])
    return add_rows(values, flat_places(self, places), count).reshape(self.shape)


def compressed_to_coo(self: CompressedArray) -> CooArray:
    """The array in coordinate format, batches indexed too, in C's order of the indices."""
    places, values = elements(self)
    flat = flat_places(self, places)
    indices = unflat_indices(flat, self.shape[: self.batch_dim + 2])
    in_order = bool((np.diff(flat) > 0).all())
    return coo_coalesce(CooArray(indices, values, self.shape, in_order))


def compressed_to_sparse(self: CompressedArray, sparse_dim: int) -> CooArray:
    """The array in coordinate format. RuntimeError for another number of indexed dimensions."""
    if sparse_dim != self.batch_dim + 2:
        raise RuntimeError(
            f"to_sparse: conversion from {self.layout} to sparse_coo with sparse_dim argument "
            f"!={self.batch_dim + 2} is not supported, but got {sparse_dim}"
        )
    return compressed_to_coo(self)


def check_block(layout: str, blocksize: Sequence[int] | None, rows: int, columns: int) -> tuple[int, int]:
    """The sizes of blocks, 1 where elements are stored. RuntimeError for such as the layout has not."""
    if not KINDS[layout][1]:
        if blocksize:
            raise RuntimeError(
                f"to_sparse: conversion to {layout} with blocksize argument given is not supported"
            )
        return 1, 1
    if not blocksize:
        raise RuntimeError(
            f"to_sparse: conversion to {layout} without blocksize argument given is not supported"
        )
    if len(blocksize) != 2 or min(blocksize) < 1:
        raise RuntimeError(
            f"to_sparse: blocksize needs two positive numbers, but got {list(blocksize)} for {layout}"
        )
    high, wide = blocksize
    if rows % high or columns % wide:
        raise RuntimeError(
            f"to_sparse: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({high},{wide})"
        )
    return high, wide


def gathered(
    places: Places, values: Array, shape: Sequence[int], batch_dim: int, layout: str, block: tuple[int, int]
) -> CompressedArray:
    """The array of elements ``(count, *dense)``; such with the same place add up."""
    sizes, (high, wide) = tuple(shape), block
    batch, row, column = places
    rows, columns = sizes[batch_dim : batch_dim + 2]
    grid = (prod(sizes[:batch_dim]), rows // high, columns // wide)
    flat = flat_indices(np.stack([batch, row // high, column // wide]), grid)
    kept, where = np.unique(flat, return_inverse=True)
    inner = (where * high + row % high) * wide + column % wide
    entries = add_rows(values, inner, len(kept) * high * wide).reshape(
        len(kept), high, wide, *values.shape[1:]
    )
    b, r, c = unflat_indices(kept, grid)
    return compress((b, r, c), entries, sizes, batch_dim, layout)


def to_layout(
    self: CompressedArray, layout: Any, blocksize: Sequence[int] | None, dense_dim: int | None
) -> CompressedArray | CooArray:
    """The array in another of the sparse layouts; itself where it is in that."""
    check_dense_dim(self, dense_dim)
    if layout is sparse_coo:
        return compressed_to_coo(self)
    block = check_block(layout.name, blocksize, *self.matrix_shape)
    if block == (self.blocksize or (1, 1)) and KINDS[layout.name][1] is self.blocked:
        if layout.name == self.layout:
            return self
        return compress(
            self.places(), self.entries, self.shape, self.batch_dim, layout.name, self.compressed.dtype
        )
    places, values = elements(self)
    return gathered(places, values, self.shape, self.batch_dim, layout.name, block)


def compressed_zero(self: CompressedArray) -> CompressedArray:
    """Nothing stored, in the same sizes and layout."""
    return nothing_stored(self, self.values.dtype)


def compressed_empty(size: Sequence[int], dtype: Any) -> CompressedArray:
    """Nothing stored, in compressed rows. RuntimeError for a negative size."""
    check_empty_sizes(size)
    return empty_compressed(size, dtype)


# -- what is stored


def _indices(self: CompressedArray, by_rows: bool, which: int) -> Array:
    name = NAMES[by_rows][which]
    if self.by_rows is not by_rows:
        raise RuntimeError(
            f"{name} expected sparse {'row' if by_rows else 'column'} compressed tensor layout but got "
            f"{self.layout}"
        )
    return self.plain if which else self.compressed


def crow_indices(self: CompressedArray) -> Array:
    return _indices(self, True, 0)


def col_indices(self: CompressedArray) -> Array:
    return _indices(self, True, 1)


def ccol_indices(self: CompressedArray) -> Array:
    return _indices(self, False, 0)


def row_indices(self: CompressedArray) -> Array:
    return _indices(self, False, 1)


# -- what another array has at the same places


def compressed_sparse_mask(self: Any, mask: Any) -> CompressedArray:
    """The elements of ``self``, of any layout, where ``mask`` stores some. RuntimeError for other sizes."""
    check_sizes_of_mask(self, mask)
    if not isinstance(mask, CompressedArray):
        raise RuntimeError(
            f"sparse_mask(): mask must be in a compressed format, as self, but got {mask.layout}"
        )
    if isinstance(self, CompressedArray) and self.same_places(mask):
        return mask.with_values(self.values)
    return mask.with_values(values_in(self, mask))


def values_in(self: Any, mask: CompressedArray) -> Array:
    """The elements of an array at the places of another, laid out as its values."""
    (batch, row, column), _ = elements(mask)
    shape = mask.shape[: mask.batch_dim + 2]
    indices = np.concatenate([unflat_indices(batch, mask.batch_shape), row[None], column[None]])
    if isinstance(self, CompressedArray):
        self = compressed_to_coo(self)
    found = values_at(self, indices, len(shape))
    return found.reshape(*mask.values.shape)
