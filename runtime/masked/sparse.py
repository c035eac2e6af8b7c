"""Reductions of sparse tensors. What is not stored counts as masked out, in operands and in results."""

from __future__ import annotations

from typing import Any

from ..core.memory_format import sparse_coo, sparse_csr, strided
from ..core.scalar_type import dtype as DType
from ..tensors.sparse_creation import sparse_coo_tensor
from ..tensors.tensor import Tensor
from .masks import check_layout, dimensions, fitting


def reduce(
    function: str,
    identity: float,
    input: Tensor,
    dim: Any,
    keepdim: bool,
    dtype: DType,
    mask: Tensor | None,
) -> Tensor:
    """The reduction over ``dim`` of what is stored and what ``mask`` leaves, in the layout of ``input``.

    An element that ``mask`` leaves and that is not stored is 0. ``identity`` is the result where nothing is
    left of all elements; of a part of them the result is then not stored. ValueError for another layout, and
    where there is no mask, but for "sum"; RuntimeError for sparse_csr without ``keepdim``.
    """
    check_layout(function, input, sparse_coo, sparse_csr)
    if mask is None and function != "sum":
        raise ValueError(f"masked.{function}(): a {input.layout} tensor needs a mask, but got None")
    dims = dimensions(dim, input.ndim)
    if input.layout is sparse_coo:
        kept = _kept(function, input, mask, identity)
        return _reduce_coordinates(function, kept.to(dtype), dims, keepdim, identity)
    if not keepdim:
        raise RuntimeError(
            f"masked.{function}(): a reduction of a {input.layout} tensor is a matrix: expected keepdim=True"
        )
    kept = _kept(function, input.to_sparse(), mask, identity)
    return _reduce_groups(function, kept.to(dtype), dims, keepdim).to_sparse_csr()


def where(mask: Tensor, input: Tensor, fill_value: Tensor) -> Tensor:
    """``input`` where ``mask`` is True, else a 0-d ``fill_value``.

    Of a sparse_coo or sparse_csr mask, which ``input`` has the layout of, the result stores what the mask
    leaves; of stored blocks the rest is the ``fill_value``. ValueError for other layouts.
    """
    if mask.layout is strided:
        return input.where(mask, fill_value)
    if mask.layout not in (sparse_coo, sparse_csr) or input.layout is not mask.layout:
        raise ValueError(
            "masked._where(): expected a mask of the layout strided, sparse_coo or sparse_csr and an input "
            f"of the same, but got {mask.layout} and {input.layout}"
        )
    if mask.layout is sparse_coo:
        return _kept("_where", input, mask, fill_value)
    return _kept("_where", input.to_sparse(), mask.to_sparse(), fill_value).to_sparse_csr()


def _kept(function: str, input: Tensor, mask: Tensor | None, identity: float | Tensor) -> Tensor:
    """What the mask leaves, coalesced; ``identity`` in those places of stored blocks that it masks out."""
    if mask is None:
        return input.coalesce()
    fits = fitting(function, input, mask)
    left = fits.values().flatten(1).any(1) if fits.dense_dim() else fits.values()
    fits = _with(fits.indices()[:, left], fits.values()[left], fits.shape)
    chosen = input.coalesce().sparse_mask(fits).coalesce()
    if not fits.dense_dim():
        return chosen
    return _with(chosen.indices(), chosen.values().where(fits.values(), identity), input.shape)


def _with(indices: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    return sparse_coo_tensor(indices, values, shape, is_coalesced=True)


def _reduce_coordinates(
    function: str, kept: Tensor, dims: tuple[int, ...], keepdim: bool, identity: float
) -> Tensor:
    """The reduction of what is left; over all indexed dimensions its one result is stored, if it is not 0."""
    indexed = kept.sparse_dim()
    if any([d not in dims for d in range(indexed)]):
        return _reduce_groups(function, kept, dims, keepdim)
    values = _reduce_blocks(function, kept, dims, keepdim)
    if len(values):
        found = _along(function, values, 0, False)
    else:
        found = values.new_full(values.shape[1:], identity)
    return (found[(None,) * indexed] if keepdim else found).to_sparse()


def _reduce_groups(function: str, kept: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The reduction of what is left, an element for each group of indices that differ in ``dims`` alone."""
    indexed = kept.sparse_dim()
    values, indices = _reduce_blocks(function, kept, dims, keepdim), kept.indices()
    reduced = [d for d in dims if d < indexed]
    if keepdim and reduced:
        indices = indices.clone()
        indices[reduced] = 0
    elif reduced:
        indices = indices[[d for d in range(indexed) if d not in reduced]]
    shape = [1 if d in dims else n for d, n in enumerate(kept.shape) if keepdim or d not in dims]
    groups, group = indices.unique(return_inverse=True, dim=1)
    group = group.view(-1, *[1] * (values.ndim - 1)).expand(values.shape)
    empty = values.new_zeros((groups.shape[1], *values.shape[1:]))
    found = empty.scatter_reduce(0, group, values, function, include_self=False)
    return _with(groups, found, tuple(shape))


def _reduce_blocks(function: str, kept: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The values, reduced over those of their dimensions that are among ``dims``."""
    values, indexed = kept.values(), kept.sparse_dim()
    for d in reversed(dims):
        if d >= indexed:
            values = _along(function, values, 1 + d - indexed, keepdim)
    return values


def _along(function: str, values: Tensor, dim: int, keepdim: bool) -> Tensor:
    found: Tensor = getattr(values, function)(dim, keepdim)
    return found.to(values.dtype)
