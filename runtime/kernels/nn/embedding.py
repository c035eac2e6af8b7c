"""What tables of embeddings must be."""

from __future__ import annotations

from typing import Any


def check_table(self: Any, dim: int, indices: Any) -> int:
    """``dim``. RuntimeError for a table that is no matrix, and for indices other than int32 and int64."""
    if self.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype.char not in "lqi":
        raise RuntimeError(
            "Expected tensor for argument 'indices' to have one of the scalar types int64, int32; "
            f"but got {indices.dtype}"
        )
    return dim
