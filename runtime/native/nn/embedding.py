"""Rows of a table by index, and the gradient that adds to them."""

from __future__ import annotations

import numpy as np

from tengen.native.nn.common import Array


def _check_indices(indices: Array, count: int) -> None:
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument 'indices' to have one of the scalar types int64, int32; "
            f"but got {indices.dtype}"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        raise IndexError("index out of range in self")


def embedding(
    weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Array:
    """``weight[indices]``: shape (*indices.shape, columns).

    Raises RuntimeError unless weight is 2-d and for sparse gradients, IndexError for an index out of range.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if sparse:
        raise NotImplementedError("sparse gradients are not supported")
    _check_indices(indices, weight.shape[0])
    return weight.take(indices, 0)


def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """Each row's gradients added up, (num_weights, columns); the row ``padding_idx`` gets none.

    With ``scale_grad_by_freq`` a row's sum is divided by how often it was used.
    """
    columns = grad_output.shape[-1]
    out: Array = np.zeros((num_weights, columns), grad_output.dtype)
    flat = indices.reshape(-1)
    rows = grad_output.reshape(-1, columns)
    if padding_idx >= 0:
        kept = flat != padding_idx
        if not kept.all():
            flat, rows = flat[kept], rows[kept]
    if not flat.size or not columns:
        return out
    _check_indices(flat, num_weights)
    counts = np.bincount(flat, minlength=num_weights)
    if scale_grad_by_freq:
        rows = rows / counts[flat][:, None].astype(rows.dtype)
    from scipy.sparse import csr_array  # on first use: importing scipy takes long

    # A sum of rows for each index is a product with the sparse matrix of who uses which row.
    ends = np.concatenate([[0], np.cumsum(counts)])
    order = np.argsort(flat, kind="stable")
    users = csr_array((np.ones(flat.size, rows.dtype), order, ends), (num_weights, flat.size))
    sums: Array = users @ rows
    return sums
