"""Operators that join tensors, or bring them to one shape, and are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from ..core.user_stack import warn_old
from ..kernels.dims import wrap_dim
from ..kernels.layout import broadcast_shapes

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Tensors = tuple["Tensor", ...]


def atleast_1d(self: Tensor) -> Tensor:
    """At least one dim."""
    return self if self._array.ndim else self.reshape((1,))


def atleast_2d(self: Tensor) -> Tensor:
    """At least two dims, added in front."""
    ndim = self._array.ndim
    if ndim >= 2:
        return self
    return self.unsqueeze(0) if ndim else self.reshape((1, 1))


def atleast_3d(self: Tensor) -> Tensor:
    """At least three dims."""
    ndim = self._array.ndim
    if ndim >= 3:
        return self
    if ndim == 2:
        return self.unsqueeze(-1)
    return self.unsqueeze(0).unsqueeze(-1) if ndim else self.reshape((1, 1, 1))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """One behind the other along the second dim, or the first of 1-d tensors. RuntimeError for none."""
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    given = [atleast_1d(t) for t in tensors]
    return F.cat(given, 0 if given[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """One behind the other along the first of at least two dims. RuntimeError for none."""
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return F.cat([atleast_2d(t) for t in tensors], 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """One behind the other along the third of at least three dims. RuntimeError for none."""
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    return F.cat([atleast_3d(t) for t in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Columns side by side; 0-d and 1-d tensors are single columns. RuntimeError for none."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return hstack([t if t.ndim > 1 else t.reshape((t.numel(), 1)) for t in tensors])


def broadcast_tensors(tensors: Sequence[Tensor]) -> Tensors:
    """All expanded to the shape they broadcast to."""
    if not tensors:
        return ()
    shape = broadcast_shapes(*[t._array.shape for t in tensors], name="broadcast_tensors: ")
    return tuple([t if t._array.shape == shape else t.expand(shape) for t in tensors])


def meshgrid(tensors: Sequence[Tensor], indexing: str | None) -> Tensors:
    """Views in which each of the tensors varies along its own dim; without ``indexing``, as "ij".
    RuntimeError for none, for a matrix among them, for dtypes or devices that differ, and for another
    ``indexing``."""
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(f"tengen.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("tengen.meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("tengen.meshgrid expects all tensors to have the same device")
    if indexing is None:
        warn_old("meshgrid without indexing", "indexing='ij'")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'tengen.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(tensors) > 1
    given = [tensors[1], tensors[0], *tensors[2:]] if swapped else list(tensors)
    shape = tuple([t.numel() for t in given])
    grids = []
    for d, t in enumerate(given):
        grids.append(t.view((1,) * d + (-1,) + (1,) * (len(given) - d - 1)).expand(shape))
    if swapped:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


# ---------------------------------------------------------------------------------- chunks


def chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor in ``num_chunks`` parts along ``dim``, the parts flattened, and joined with the others'.

    RuntimeError for no tensors, tensors that do not fit together, and a number that is not positive.
    """
    first = _check_chunks(tensors, dim, num_chunks)
    rows = []
    for t in tensors:
        size = -(-t.shape[first] // num_chunks)
        missing = size * num_chunks - t.shape[first]
        if missing:
            shape = (*t.shape[:first], missing, *t.shape[first + 1 :])
            t = F.cat([t, t.new_zeros(shape)], first)
        rows.append(t.reshape((*t.shape[:first], num_chunks, -1)))
    return F.cat(rows, first + 1)


def _check_chunks(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> int:
    """``dim``, counted from the front."""
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, but got {num_chunks}")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if dim < 0 and any([t.ndim != tensors[0].ndim for t in tensors]):
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    first = wrap_dim(dim, tensors[0].ndim)
    for t in tensors:
        if not t.numel() or not t.ndim:
            raise RuntimeError(
                f"_chunk_cat expects non-empty tensors with dimensions, but got {list(t.shape)}"
            )
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError(
                "_chunk_cat expects all input tensors with the same dtype, but got "
                f"{tensors[0].dtype} and {t.dtype}"
            )
        if wrap_dim(dim, t.ndim) != first or t.shape[:first] != tensors[0].shape[:first]:
            raise RuntimeError(
                "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors, but got "
                f"{list(tensors[0].shape)} and {list(t.shape)} with dim = {first}"
            )
    return first
