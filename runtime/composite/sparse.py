"""Operators of sparse tensors that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..core.memory_format import sparse_coo, strided

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def _check_layout(name: str, self: Tensor, wanted: Any, described: str) -> None:
    """RuntimeError for a tensor of another layout than ``name`` is for."""
    if self.layout is not wanted:
        raise RuntimeError(f"{name} expected {described} tensor layout but got {self.layout}")


def coalesce(self: Tensor) -> Tensor:
    """The same tensor with one value for each index."""
    _check_layout("coalesce", self, sparse_coo, "sparse coordinate")
    return self if self.is_coalesced() else F._coalesce(self)


def to_dense(self: Tensor, dtype: Any, masked_grad: bool | None) -> Tensor:
    """The strided tensor with the same elements."""
    if self.layout is strided:
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return self._to_dense(None, masked_grad)


def to_sparse(self: Tensor, layout: Any, blocksize: Sequence[int] | None, dense_dim: int | None) -> Tensor:
    """The tensor in another layout."""
    if self.layout is layout or (layout is None and self.layout is sparse_coo):
        return self
    return self._to_sparse(self.ndim - (dense_dim or 0))
