"""Kernels over arrays in compressed formats that move and choose elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dims import wrap_dim
from ..sparse.shape import coo_select
from ..sparse.stored import exchanged, selected_slice
from .array import CompressedArray, layout_of
from .conversions import compressed_to_coo


def compressed_permute(self: CompressedArray, dims: Sequence[int]) -> CompressedArray:
    """The dimensions in another order: batches, rows and columns, and those of values stay among themselves.

    With rows and columns exchanged what was compressed by rows is so by columns, and the other way round.
    RuntimeError for an order that mixes these kinds, or leaves out or repeats a dimension.
    """
    order = [wrap_dim(d, self.ndim) for d in dims]
    if sorted(order) != list(range(self.ndim)):
        raise RuntimeError(
            f"permute: {list(dims)} is no order of the {self.ndim} dimensions of a tensor of the "
            f"layout {self.layout}"
        )
    lead, start = self.batch_dim, self.batch_dim + 2
    kinds = ["Batch"] * lead + ["Sparse"] * 2 + ["Dense"] * self.dense_dim
    for to, d in enumerate(order):
        if kinds[to] != kinds[d]:
            raise RuntimeError(
                "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
                f"{d}({kinds[d]}) and {to}({kinds[to]})"
            )
    swapped = order[lead] != lead
    block = [lead + 1, lead + 2] if self.blocked else []
    if swapped:
        block = block[::-1]
    first = lead + 1 + len(block)
    axes = [*order[:lead], lead, *block, *[first + d - start for d in order[start:]]]
    batches = [*order[:lead], lead]
    layout = layout_of(self.by_rows is not swapped, self.blocked)
    shape = [self.shape[d] for d in order]
    return CompressedArray(
        self.compressed.transpose(batches),
        self.plain.transpose(batches),
        self.values.transpose(axes),
        shape,
        layout,
    )


def compressed_t(self: CompressedArray) -> CompressedArray:
    """The transpose of a matrix. RuntimeError for batches and for values with dimensions."""
    if self.ndim != 2:
        raise RuntimeError(f"t() expects a tensor with 2 sparse and 0 dense dimensions, but got {self.ndim}D")
    return compressed_permute(self, (1, 0))


def compressed_transpose(self: CompressedArray, dim0: int, dim1: int) -> CompressedArray:
    """Two dimensions exchanged."""
    return compressed_permute(self, exchanged(self.ndim, dim0, dim1))


def compressed_select(self: CompressedArray, dim: int, index: int) -> Any:
    """One slice: of a batch or of the values in the same layout, a row or a column in coordinate format."""
    at, index, shape = selected_slice(self, dim, index)
    lead = self.batch_dim
    if at < lead:
        parts = [a.take(index, at) for a in (self.compressed, self.plain, self.values)]
        return CompressedArray(parts[0], parts[1], parts[2], shape, self.layout)
    if at < lead + 2:
        return coo_select(compressed_to_coo(self), at, index)
    axis = at - 1 + 2 * self.blocked
    return CompressedArray(self.compressed, self.plain, self.values.take(index, axis), shape, self.layout)


def compressed_unbind(self: CompressedArray, dim: int) -> list[Any]:
    """The slices along a dimension."""
    return [compressed_select(self, dim, i) for i in range(self.shape[wrap_dim(dim, self.ndim)])]
