"""Rows of a table by index, and the gradient that adds to them."""

from __future__ import annotations

import numpy as np

from ..index_checks import all_in_range
from ..scatter_add import add_slices
from .common import Array


def _check_indices(indices: Array, count: int) -> None:
    if indices.dtype.char not in "lqi":
        raise RuntimeError(
            "Expected tensor for argument 'indices' to have one of the scalar types int64, int32; "
            f"but got {indices.dtype}"
        )
    if not all_in_range(indices, count):
        raise IndexError("index out of range in self")


def embedding(
    weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Array:
    """``weight[indices]``: shape (*indices.shape, columns).

    Raises RuntimeError unless weight is 2-d, IndexError for an index out of range.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices, weight.shape[0])
    return weight.take(indices, 0, mode="wrap")


def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """Each row's gradients added up, (num_weights, columns); the row ``padding_idx`` gets none.

    With ``scale_grad_by_freq`` a row's sum is divided by how often it was used. Raises RuntimeError where
    there is not a row of gradients for each index.
    """
    if grad_output.shape[:-1] != indices.shape and grad_output.size != indices.size * grad_output.shape[-1]:
        raise RuntimeError(
            f"embedding_dense_backward: expected a gradient of shape {[*indices.shape, '*']}, but got "
            f"{list(grad_output.shape)}"
        )
    columns = grad_output.shape[-1]
    out: Array = np.zeros((num_weights, columns), grad_output.dtype)
    if not grad_output.size:
        return out
    _check_indices(indices, num_weights)
    flat = indices.reshape(-1)
    factors = None
    if scale_grad_by_freq:
        factors = (1 / np.bincount(flat).take(flat)).astype(out.dtype)
    add_slices(out[np.newaxis], flat, grad_output.reshape(1, -1, columns), factors)
    if 0 <= padding_idx < num_weights:
        out[padding_idx] = 0
    return out
