"""Sparse tensors in compressed layouts, of indices and values: ``tengen.sparse_csr_tensor`` and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tengen.generated.functions as F

from ..autograd.relatives import relate
from ..core.device import device as Device
from ..core.memory_format import (
    SPARSE,
    layout as Layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)
from ..core.scalar_type import dtype as DType
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import type_of
from ..kernels.compressed.invariants import check_dimensions, check_order, check_sizes, inferred_shape
from ..kernels.sparse.invariants import checking
from .sparse_creation import as_strided_tensor, required

if TYPE_CHECKING:
    from .tensor import Tensor


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor in a compressed ``layout``: sparse_csr, sparse_csc, sparse_bsr or sparse_bsc.

    ``compressed_indices`` ``(*batch, n + 1)`` say where each row, or column, begins in the values,
    ``plain_indices`` ``(*batch, nnz)`` the column, or row, of each. ``values`` are
    ``(*batch, nnz, *dense sizes)``, with the sizes of a block behind ``nnz`` in blocked layouts. Indices are
    int32 or int64. Without ``size`` it is the smallest that holds all. ``check_invariants`` says whether the
    indices must be in order, each once. Gradients flow to ``values``.

    RuntimeError for indices out of bounds, and for sizes that do not agree.
    """
    if layout not in SPARSE or layout is sparse_coo:
        raise RuntimeError(
            f"sparse_compressed_tensor expected sparse compressed tensor layout but got {layout}"
        )
    compressed = _indices(compressed_indices, device)
    plain = _indices(plain_indices, device)
    stored = as_strided_tensor(values, dtype, device)
    arrays = compressed._array, plain._array, stored._array
    name = layout.name
    type_of(stored.dtype, stored.device, None, name)  # NotImplementedError on meta
    try:
        check_dimensions(*arrays, name)
        shape = inferred_shape(*arrays, name) if size is None else tuple([int(n) for n in size])
        check_sizes(*arrays, shape, name)
        if checking.enabled if check_invariants is None else check_invariants:
            check_order(arrays[0], arrays[1], name)
    except RuntimeError as error:
        raise RuntimeError(f"{name}_tensor: {error}") from None
    made = F._sparse_compressed_tensor_unsafe(compressed, plain, stored, shape, layout=layout)
    if isinstance(made, TensorBase) and made._array.shares_memory(stored._array):
        relate(stored, made)  # a write to one is a write to the other
    return required(made, requires_grad)


def _indices(data: Any, device: Any) -> Tensor:
    if isinstance(data, TensorBase):
        return as_strided_tensor(data, None, device).detach()
    found = np.asarray(data)
    wanted = np.int32 if found.dtype == np.int32 else np.int64
    return as_strided_tensor(found.astype(wanted), None, device)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Compressed rows: ``crow_indices`` ``(*batch, rows + 1)`` say where each row begins in ``values``, and
    ``col_indices`` ``(*batch, nnz)`` the column of each.

    Sizes, dtypes and everything else as of ``sparse_compressed_tensor``, and its errors.
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        dtype=dtype,
        layout=sparse_csr,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Compressed columns: ``ccol_indices`` ``(*batch, columns + 1)`` say where each column begins in
    ``values``, and ``row_indices`` ``(*batch, nnz)`` the row of each.

    Sizes, dtypes and everything else as of ``sparse_compressed_tensor``, and its errors.
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        dtype=dtype,
        layout=sparse_csc,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Rows of blocks: as ``sparse_csr_tensor``, of values ``(*batch, nnz, high, wide, *dense)``.

    Sizes, dtypes and everything else as of ``sparse_compressed_tensor``, and its errors.
    """
    return sparse_compressed_tensor(
        crow_indices,
        col_indices,
        values,
        size,
        dtype=dtype,
        layout=sparse_bsr,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """Columns of blocks: as ``sparse_csc_tensor``, of values ``(*batch, nnz, high, wide, *dense)``.

    Sizes, dtypes and everything else as of ``sparse_compressed_tensor``, and its errors.
    """
    return sparse_compressed_tensor(
        ccol_indices,
        row_indices,
        values,
        size,
        dtype=dtype,
        layout=sparse_bsc,
        device=device,
        requires_grad=requires_grad,
        check_invariants=check_invariants,
    )
