"""Bags of embeddings, and tables whose rows are kept short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Tensor, ...]:
    """Bags of rows; a negative ``padding_idx`` counts from the end. RuntimeError where it is no row."""
    rows = weight.shape[0] if weight.ndim else 0
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}")
    elif padding_idx < 0:
        padding_idx += rows
    rest = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)
    return tuple(F._embedding_bag(weight, indices, offsets, *rest))


def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows that are used and longer, scaled down to ``max_norm``."""
    used = indices.reshape(-1)
    rows = F.embedding(self, used)
    length = F.linalg_vector_norm(rows, norm_type, 1, True)
    short = F.where(length <= max_norm, rows, rows * (max_norm / (length + 1e-7)))
    return self.index_put_((used,), short)
