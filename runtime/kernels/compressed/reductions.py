"""Sums over arrays in compressed formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..sparse.array import CooArray
from ..sparse.reductions import coo_sum_dim
from ..sparse.stored import stored_sum
from .array import CompressedArray, compress
from .conversions import compressed_to_coo


def compressed_sum_dim(self: CompressedArray, dim: Sequence[int] | None, keepdim: bool, dtype: Any) -> Any:
    """The sum over dimensions of a matrix, which stay with size 1, in its layout. Else RuntimeError."""
    if dim is None or not len(dim) or not self.ndim:
        return stored_sum(self, dtype) if not keepdim else compressed_sum_dim(self, (0, 1), True, dtype)
    if not keepdim:
        raise RuntimeError(
            "sum: reduction operations on sparse compressed tensors with keepdim=False is unsupported"
        )
    if self.ndim != 2 or self.blocked:
        raise RuntimeError(
            f"sum: only matrices in the layouts sparse_csr and sparse_csc have sums over dimensions, but got "
            f"{self.layout} of size {list(self.shape)}"
        )
    summed = coo_sum_dim(compressed_to_coo(self), dim, True, dtype)
    if not isinstance(summed, CooArray):
        row = column = np.zeros(1, np.int64)
        return compress((row, row, column), summed.reshape(1, 1, 1), summed.shape, 0, self.layout)
    row, column = summed.indices
    entries = summed.values.reshape(-1, 1, 1)
    return compress((np.zeros_like(row), row, column), entries, summed.shape, 0, self.layout)
