"""Sparse matrices of diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from ..core.memory_format import layout as Layout, sparse_coo, sparse_csc, sparse_csr
from ..core.scalar_type import int64
from ..tensors.creation import tensor

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["spdiags"]


def __dir__() -> list[str]:
    return sorted(__all__)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Layout | None = None) -> Tensor:
    """A sparse matrix of a ``shape`` with the rows of ``diagonals`` along its diagonals.

    ``offsets`` (int64) says which: 0 is the main one, those above it are positive. The element in the column
    ``j`` is that of the row of ``diagonals``. ``layout`` is sparse_coo, sparse_csr or sparse_csc. Gradients
    flow to ``diagonals``. RuntimeError for offsets that repeat or lie outside, and for sizes and layouts
    that do not fit.
    """
    rows = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    _check_diagonals(rows, offsets, shape, layout)
    height, width = shape
    places, chosen = [], []
    for i, k in enumerate(offsets.reshape(-1).tolist()):
        columns = range(max(k, 0), min(width, height + k, rows.shape[1]))
        places += [(c - k, c) for c in columns]
        chosen += [(i, c) for c in columns]
    at = F.empty((0, 2), dtype=int64) if not places else tensor(places, dtype=int64)
    taken = rows[tuple(tensor(chosen, dtype=int64).t())] if chosen else rows.reshape(-1)[:0]
    made = F._sparse_coo_tensor_unsafe(at.t(), taken, (height, width), False)
    return made if layout is None or layout is sparse_coo else made.to_sparse(layout=layout)


def _check_diagonals(rows: Tensor, offsets: Tensor, shape: Sequence[int], layout: Layout | None) -> None:
    def require(holds: bool, what: str) -> None:
        if not holds:
            raise RuntimeError(f"spdiags: {what}")

    kinds = (sparse_coo, sparse_csc, sparse_csr)
    require(len(shape) == 2, f"Output shape must be 2d, but got {list(shape)}")
    require(rows.ndim == 2, f"Diagonals must be vector or matrix, but got {rows.ndim} dimensions")
    require(offsets.ndim <= 1, f"Offsets must be scalar or vector, but got {offsets.ndim} dimensions")
    require(
        len(rows) == offsets.numel(),
        f"Number of diagonals ({len(rows)}) does not match the number of offsets ({offsets.numel()})",
    )
    require(offsets.dtype is int64, f"Offset Tensor must have dtype {int64} but got {offsets.dtype}")
    require(layout is None or layout in kinds, f"Only output layouts {kinds} are supported, got {layout}")
    numbers = offsets.reshape(-1).tolist()
    require(len(set(numbers)) == len(numbers), "Offset tensor contains duplicate values")
    outside = [k for k in numbers if not -shape[0] <= k <= shape[1]]
    require(not outside, f"the offsets {outside} lie outside of the shape {list(shape)}")
