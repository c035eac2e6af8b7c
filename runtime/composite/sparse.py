"""Operators of sparse tensors that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..autograd.in_place import replace_array
from ..core.memory_format import CONSTANTS, SPARSE, sparse_coo, strided
from ..core.scalar_type import int32, int64
from ..kernels.sparse.array import empty_coo
from ..kernels.sparse.shape import coo_resize

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
    """The strided tensor with the same elements. RuntimeError for a ``dtype``, unless ``self`` is strided
    already."""
    if self.layout is strided:
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return self._to_dense(None, masked_grad)


def to_sparse(self: Tensor, layout: Any, blocksize: Sequence[int] | None, dense_dim: int | None) -> Tensor:
    """The tensor in another layout. RuntimeError for a ``blocksize`` of a layout that is not compressed."""
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


# -- sizes ---------------------------------------------------------------------------------


def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Another size, in which everything that is stored has its place."""
    _check_layout("sparse_resize_", self, sparse_coo, "sparse coordinate")
    return replace_array("sparse_resize_", self, coo_resize(self._array, tuple(size), sparse_dim, dense_dim))


def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Another size, of zeros."""
    name = "sparse_resize_and_clear_"
    _check_layout(name, self, sparse_coo, "sparse coordinate")
    nothing = empty_coo(self.shape, self._type.dtype, self.dense_dim())
    return replace_array(name, self, coo_resize(nothing, tuple(size), sparse_dim, dense_dim))


def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """The size of another tensor, and its numbers of indexed dimensions and of values."""
    name = "resize_as_sparse_"
    for tensor in (self, the_template):
        _check_layout(name, tensor, sparse_coo, "sparse coordinate")
    dims = the_template.sparse_dim(), the_template.dense_dim()
    return replace_array(name, self, coo_resize(self._array, the_template.shape, *dims))


# -- products in coordinate format ---------------------------------------------------------


def smm(self: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a strided one, in coordinate format."""
    _check_layout("smm", self, sparse_coo, "sparse coordinate")
    size = (self.shape[0], mat2.shape[-1]) if min(self.ndim, mat2.ndim) else ()
    return F.sspaddmm(F.zeros(size, dtype=self.dtype, layout=sparse_coo), self, mat2)


def convert_indices_from_coo_to_csr(self: Tensor, size: int, out_int32: bool) -> Tensor:
    """Where each row begins among elements whose rows are in order. RuntimeError unless ``self`` is 1-d."""
    if self.dim() != 1:
        raise RuntimeError(
            "_convert_indices_from_coo_to_csr: Input is supposed to be a vector, but got "
            f"{self.dim()} dimensional tensor."
        )
    behind = self.long() + 1
    counts = F.zeros(size + 1, dtype=int32 if out_int32 else int64, device=self.device)
    ones = F.ones_like(behind, dtype=counts.dtype)
    return counts.scatter_add(0, behind, ones).cumsum(0, dtype=counts.dtype)


def convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, out_int32: bool, transpose: bool
) -> Tensor:
    """The rows and columns of elements, in front of them those in the batch."""
    counts = crow_indices.diff(dim=-1)
    places = F.repeat_interleave(counts.reshape(-1))
    lines, columns = counts.shape[-1], col_indices.reshape(-1)
    found = [places % lines, columns]
    if transpose:
        found.reverse()
    rest = places // lines
    for size in reversed(counts.shape[:-1]):
        found.insert(0, rest % size)
        rest = rest // size
    return F.stack([each.to(int32 if out_int32 else crow_indices.dtype) for each in found])
