"""Kernels for strided arrays and such in coordinate format that make arrays in compressed formats."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...core.memory_format import strided
from ..sparse.array import Array, CooArray
from ..sparse.conversions import coo_coalesce
from ..sparse.stored import check_dense_dim
from .array import CompressedArray, compress
from .conversions import check_block, gathered


def sparse_compressed_tensor_unsafe(
    compressed_indices: Array, plain_indices: Array, values: Array, size: Sequence[int], layout: Any
) -> CompressedArray:
    """The array of these indices, values and sizes, which have been checked."""
    return CompressedArray(compressed_indices, plain_indices, values, size, layout.name)


def to_sparse_of_dense(
    self: Array, layout: Any, blocksize: Sequence[int] | None, dense_dim: int | None
) -> CompressedArray:
    """What is not zero of matrices or batches of them; the last ``dense_dim`` dimensions belong to values.
    RuntimeError where these leave no two dimensions to compress."""
    dense = dense_dim or 0
    batch_dim = self.ndim - 2 - dense
    if dense < 0 or batch_dim < 0:
        raise RuntimeError(
            f"to_sparse: dense_dim argument must be in [0,{self.ndim - 2}] range, but {dense} is given, for "
            f"a tensor of {self.ndim} dimensions"
        )
    rows, columns = self.shape[batch_dim : batch_dim + 2]
    high, wide = check_block(layout.name, blocksize, rows, columns)
    batches = prod(self.shape[:batch_dim])
    rest = self.shape[batch_dim + 2 :]
    blocks = self.reshape(batches, rows // high, high, columns // wide, wide, *rest).swapaxes(2, 3)
    there = (blocks != 0).any(tuple(range(3, blocks.ndim)))
    batch, row, column = there.nonzero()
    return compress((batch, row, column), blocks[there], self.shape, batch_dim, layout.name)


def to_sparse_of_coo(
    self: CooArray, layout: Any, blocksize: Sequence[int] | None, dense_dim: int | None
) -> CompressedArray:
    """The array, of two indexed dimensions, in a compressed format. RuntimeError for another number of
    indexed dimensions."""
    if layout is strided or self.sparse_dim != 2:
        raise RuntimeError(
            f"to_sparse: conversion from sparse_coo to {layout.name} for input tensors with "
            "sparse_dim()!=2 is not "
            f"supported, but got {self.sparse_dim}"
        )
    check_dense_dim(self, dense_dim)
    self = coo_coalesce(self)
    block = check_block(layout.name, blocksize, *self.sparse_shape)
    row, column = self.indices
    return gathered((np.zeros_like(row), row, column), self.values, self.shape, 0, layout.name, block)
