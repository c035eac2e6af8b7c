"""Operators of sparse tensors that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..core.memory_format import CONSTANTS, SPARSE, sparse_coo, strided

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


COMPRESSED = SPARSE[1:]


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
    wanted = sparse_coo if layout is None else layout
    if wanted in COMPRESSED:
        return self._to_sparse(layout=wanted, blocksize=blocksize, dense_dim=dense_dim)
    if blocksize is not None:
        raise RuntimeError(
            f"to_sparse: conversion to {wanted} with blocksize argument given is not supported"
        )
    if wanted is strided:
        return self.to_dense()
    if self.layout is sparse_coo:
        return self
    return self._to_sparse(self.ndim - (self.dense_dim() if self.layout in COMPRESSED else dense_dim or 0))


def to_compressed(
    self: Tensor, layout: str, blocksize: Sequence[int] | None, dense_dim: int | None
) -> Tensor:
    """The tensor in a compressed layout."""
    wanted: Any = CONSTANTS[layout]
    return self._to_sparse(layout=wanted, blocksize=blocksize, dense_dim=dense_dim)


# -- products in coordinate format ---------------------------------------------------------


def smm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a strided one, in coordinate format."""
    _check_layout("smm", self, sparse_coo, "sparse coordinate")
    size = (self.shape[0], mat2.shape[-1]) if min(self.ndim, mat2.ndim) else ()
    return F.sspaddmm(F.zeros(size, dtype=self.dtype, layout=sparse_coo), self, mat2)
