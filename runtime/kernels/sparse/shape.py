"""Kernels over arrays in coordinate format that move and choose elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import wrap_dim
from ..scatter import check_scatter_slices, scatter_slices
from ..shape import select_backward
from .array import Array, CooArray, empty_coo, unflat_indices
from .conversions import coo_coalesce
from .stored import exchanged, selected_slice


def coo_permute(self: CooArray, dims: Sequence[int]) -> CooArray:
    """The dimensions in another order; indexed ones stay before the others. RuntimeError where they would
    not, or where a dimension is left out or named twice."""
    order = [wrap_dim(d, self.ndim) for d in dims]
    if len(order) != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = "
            f"{len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("permute(sparse_coo): duplicate dims are not allowed")
    sparse = self.sparse_dim
    first, rest = order[:sparse], order[sparse:]
    if any([d >= sparse for d in first]):
        raise RuntimeError("permute(sparse_coo): swapping sparse and dense dimensions is not supported")
    values = self.values.transpose(0, *[1 + d - sparse for d in rest]) if rest else self.values
    shape = [self.shape[d] for d in order]
    return CooArray(self.indices[first], values, shape, self.coalesced and first == sorted(first))


def coo_t(self: CooArray) -> CooArray:
    """The transpose of a matrix; a vector as it is. RuntimeError for more dimensions."""
    if self.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {self.ndim}D"
        )
    return coo_permute(self, range(self.ndim)[::-1])


def coo_transpose(self: CooArray, dim0: int, dim1: int) -> CooArray:
    """Two dimensions exchanged."""
    return coo_permute(self, exchanged(self.ndim, dim0, dim1))


def coo_unsqueeze(self: CooArray, dim: int) -> CooArray:
    """A new dimension of size 1: an indexed one up to the number of these, else one of the values."""
    at = wrap_dim(dim, self.ndim + 1)
    shape = (*self.shape[:at], 1, *self.shape[at:])
    if at <= self.sparse_dim:
        indices = np.insert(self.indices, at, 0, axis=0)
        return CooArray(indices, self.values, shape)
    values = np.expand_dims(self.values, 1 + at - self.sparse_dim)
    return CooArray(self.indices, values, shape, self.coalesced)


def coo_cat(tensors: Sequence[CooArray], dim: int) -> CooArray:
    """The arrays one behind the other along a dimension. RuntimeError where other sizes, or the numbers of
    indexed dimensions, differ."""
    first = tensors[0]
    at = wrap_dim(dim, first.ndim)
    for i, one in enumerate(tensors[1:], 1):
        rest = one.shape[:at] + one.shape[at + 1 :]
        if one.ndim != first.ndim or rest != first.shape[:at] + first.shape[at + 1 :]:
            raise RuntimeError(
                f"cat: all tensors must have the same sizes but for dim {at}: tensor 0 has "
                f"{list(first.shape)}, "
                f"and tensor {i} has {list(one.shape)}"
            )
        if one.sparse_dim != first.sparse_dim:
            raise RuntimeError(
                "cat: all tensors must have the same number of sparse and dense dimensions: tensor 0 has "
                f"{first.sparse_dim} and {first.dense_dim}, and tensor {i} has {one.sparse_dim} and "
                f"{one.dense_dim}"
            )
    dtype = np.result_type(*[t.values.dtype for t in tensors])
    shape = list(first.shape)
    shape[at] = sum([t.shape[at] for t in tensors])
    offset, indices, values = 0, [], []
    for one in tensors:
        own, stored = one.indices, one.values
        if at < first.sparse_dim:
            own = own.copy()
            own[at] += offset
        else:
            widths = [(0, 0)] * stored.ndim
            widths[1 + at - first.sparse_dim] = (offset, shape[at] - offset - one.shape[at])
            stored = np.pad(stored, widths)
        offset += one.shape[at]
        indices.append(own)
        values.append(stored.astype(dtype, copy=False))
    return CooArray(np.concatenate(indices, 1), np.concatenate(values), shape)


def _taken(self: CooArray, at: int, index: Any, shape: Sequence[int]) -> CooArray:
    """Slices along a dimension that values have."""
    return CooArray(self.indices, self.values.take(index, 1 + at - self.sparse_dim), shape, self.coalesced)


def coo_index_select(self: CooArray, dim: int, index: Array) -> CooArray:
    """The slices that ``index`` names, in its order. IndexError for one that is not there."""
    at = wrap_dim(dim, self.ndim)
    if index.ndim > 1 or index.dtype.kind not in "iu":
        raise IndexError("index_select(): Index is supposed to be a vector of integers")
    index, size = np.atleast_1d(index), self.shape[at]
    if index.size and (index.min() < -size or index.max() >= size):
        raise IndexError(f"index_select(): index out of range of dimension {at} of size {size}")
    index = np.where(index < 0, index + size, index)
    shape = (*self.shape[:at], len(index), *self.shape[at + 1 :])
    if at >= self.sparse_dim:
        return _taken(self, at, index, shape)
    order = np.argsort(self.indices[at], kind="stable")
    own = self.indices[at][order]
    start, stop = np.searchsorted(own, index), np.searchsorted(own, index, "right")
    counts = stop - start
    new = np.repeat(np.arange(len(index)), counts)
    behind = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = order[np.repeat(start, counts) + behind]
    indices = self.indices[:, chosen]
    indices[at] = new
    return CooArray(indices, self.values[chosen], shape)


def coo_select(self: CooArray, dim: int, index: int) -> Any:
    """One slice; strided where no indexed dimension is left."""
    at, index, shape = selected_slice(self, dim, index)
    if at >= self.sparse_dim:
        return _taken(self, at, index, shape)
    there = self.indices[at] == index
    if self.sparse_dim == 1:
        return np.asarray(self.values[there].sum(0, dtype=self.values.dtype))
    return CooArray(np.delete(self.indices[:, there], at, 0), self.values[there], shape)


def coo_slice(self: CooArray, dim: int, start: int | None, end: int | None, step: int) -> CooArray:
    """``start:end:step`` along a dimension, as Python slices. RuntimeError for a step below 1."""
    at = wrap_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    chosen = range(*slice(start, end, step).indices(self.shape[at]))
    shape = (*self.shape[:at], len(chosen), *self.shape[at + 1 :])
    if at >= self.sparse_dim:
        return _taken(self, at, chosen, shape)
    offset = self.indices[at] - chosen.start
    there = (offset >= 0) & (self.indices[at] < chosen.stop) & (offset % step == 0)
    indices = self.indices[:, there]
    indices[at] = offset[there] // step
    return CooArray(indices, self.values[there], shape, self.coalesced)


def coo_embedding(weight: CooArray, indices: Array) -> CooArray:
    """The rows of a table that ``indices`` name: (*indices.shape, columns). RuntimeError for a table that is
    no matrix."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    rows = coo_index_select(weight, 0, indices.reshape(-1))
    if indices.ndim == 1:
        return rows
    places = np.concatenate([unflat_indices(rows.indices[0], indices.shape), rows.indices[1:]])
    return CooArray(places, rows.values, (*indices.shape, *weight.shape[1:]))


def coo_index_select_backward(grad: CooArray, sizes: Sequence[int], dim: int, index: Array) -> CooArray:
    """The slices added at ``index`` along a dimension of an array of ``sizes``."""
    at = wrap_dim(dim, len(sizes))
    index = np.atleast_1d(index).astype(np.int64, copy=False)
    if at < grad.sparse_dim:
        indices = grad.indices.copy()
        indices[at] = index[indices[at]]
        return CooArray(indices, grad.values, sizes)
    shape = (grad.nnz, *sizes[grad.sparse_dim :])
    zeros = np.zeros(shape, grad.values.dtype)
    place = check_scatter_slices, zeros, 1 + at - grad.sparse_dim, index
    values = scatter_slices(*place, grad.values, "sum", fresh=True)
    return CooArray(grad.indices, values, sizes, grad.coalesced)


def coo_slice_backward(
    grad: CooArray, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> CooArray:
    """The gradient at ``start:end:step`` along a dimension of an array of ``sizes``."""
    at = wrap_dim(dim, len(sizes))
    chosen = range(*slice(start, end, step).indices(sizes[at]))
    return coo_index_select_backward(grad, sizes, at, np.arange(chosen.start, chosen.stop, chosen.step))


def coo_select_backward(grad: Any, like: CooArray, dim: int, index: int) -> Any:
    """The gradient at ``index`` along a dimension of ``like``, of as many indexed dimensions as that has."""
    at, index, _ = selected_slice(like, dim, index)
    if not isinstance(grad, CooArray):
        if like.sparse_dim > 1 or at:
            return select_backward(grad, like.shape, at, index)
        return CooArray(np.full((1, 1), index, np.int64), grad[None], like.shape, True)
    shape = (*like.shape[:at], 1, *like.shape[at + 1 :])
    if at < like.sparse_dim:
        alone = CooArray(np.insert(grad.indices, at, 0, axis=0), grad.values, shape)
    else:
        values = np.expand_dims(grad.values, 1 + at - like.sparse_dim)
        alone = CooArray(grad.indices, values, shape, grad.coalesced)
    return coo_index_select_backward(alone, like.shape, at, np.array([index]))


def coo_squeeze(self: CooArray, dim: int) -> Any:
    """The array without a dimension, if that has size 1; strided where no indexed dimension is left."""
    if not self.ndim or self.shape[wrap_dim(dim, self.ndim)] != 1:
        return self
    return coo_select(self, dim, 0)


def coo_unbind(self: CooArray, dim: int) -> list[Any]:
    """The slices along a dimension."""
    return [coo_select(self, dim, i) for i in range(self.shape[wrap_dim(dim, self.ndim)])]


def coo_zero(self: CooArray) -> CooArray:
    """Nothing stored, in the same sizes."""
    empty = coo_coalesce(self)
    return CooArray(empty.indices[:, :0], empty.values[:0], self.shape, True)


def coo_restore_dims(self: CooArray, dim: Sequence[int] | None, keepdim: bool, ndim: int) -> CooArray:
    """A reduction's result with the dimensions again that were reduced, of size 1."""
    if keepdim or not dim:
        return self
    for d in sorted([wrap_dim(d, ndim) for d in dim]):
        self = coo_unsqueeze(self, d)
    return self


def coo_resize(self: CooArray, size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> CooArray:
    """The array in other sizes, with zeros where values grow. RuntimeError where something would be lost."""
    if len(size) != sparse_dim + dense_dim or min(sparse_dim, dense_dim) < 0:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {dense_dim}"
        )
    if any([n < 0 for n in size]):
        raise RuntimeError(f"sizes must be non-negative, got {list(size)}")
    if not self.nnz:
        return empty_coo(size, self.dtype, dense_dim)
    refused = "on a non-empty sparse tensor is not supported."
    kinds = ("sparse", self.sparse_shape, size[:sparse_dim]), ("dense", self.dense_shape, size[sparse_dim:])
    for kind, old, new in kinds:
        if len(old) != len(new):
            raise RuntimeError(
                f"changing the number of {kind} dimensions (from {len(old)} to {len(new)}) {refused}"
            )
    for kind, old, new in kinds:
        if any([n < m for m, n in zip(old, new, strict=True)]):
            raise RuntimeError(
                f"shrinking the size of {kind} dimensions (from {list(old)} to {list(new)}) {refused}"
            )
    grown = [(0, n - m) for m, n in zip(self.dense_shape, size[sparse_dim:], strict=True)]
    return CooArray(self.indices, np.pad(self.values, [(0, 0), *grown]), size, self.coalesced)
