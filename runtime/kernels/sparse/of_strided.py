"""Kernels for strided arrays that make arrays in coordinate format."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .array import CooArray, unflat_indices
from .conversions import coo_mask

Array = np.ndarray[Any, Any]


def sparse_coo_tensor_unsafe(
    indices: Array, values: Array, size: Sequence[int], is_coalesced: bool | None
) -> CooArray:
    """The array of these indices, values and sizes, which have been checked."""
    return CooArray(indices.astype(np.int64, copy=False), values, size, bool(is_coalesced))


def dense_to_sparse(self: Array, sparse_dim: int) -> CooArray:
    """What is not zero, by the indices in the first ``sparse_dim`` dimensions. IndexError for none, or more
    than there are."""
    if not 0 <= sparse_dim <= self.ndim or (sparse_dim == 0 and self.ndim):
        raise IndexError(
            f"to_sparse: argument sparse_dim must be at least 1 and at most {self.ndim}, the number "
            "of dimensions "
            f"of self, but got {sparse_dim}"
        )
    shape = self.shape[:sparse_dim]
    rows = self.reshape(prod(shape), *self.shape[sparse_dim:])
    there = (rows != 0).reshape(len(rows), -1).any(1) if rows.size else np.zeros(len(rows), np.bool_)
    flat = there.nonzero()[0]
    return CooArray(unflat_indices(flat, shape), rows[flat], self.shape, True)


def sparse_mask_of_dense(self: Array, mask: Any) -> CooArray:
    """The elements of ``self`` where ``mask`` stores some. RuntimeError for a strided mask."""
    if not isinstance(mask, CooArray):
        raise RuntimeError("sparse_mask: mask must be sparse, but got a strided tensor")
    return coo_mask(self, mask)


def embedding_sparse_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> CooArray:
    """The gradients of the rows of a table, a row for each index but those that are ``padding_idx``.
    RuntimeError for ``scale_grad_by_freq``."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    flat, columns = indices.reshape(-1), grad_output.shape[-1]
    rows = grad_output.reshape(len(flat), columns)
    if padding_idx != -1:
        kept = flat != padding_idx
        flat, rows = flat[kept], rows[kept]
    return CooArray(flat.reshape(1, -1).astype(np.int64, copy=False), rows, (num_weights, columns))
