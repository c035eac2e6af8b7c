"""Indexing, sorting and searching operators that are made of others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..core.scalar_type import int64
from ..native.dims import wrap_dim
from ..native.layout import broadcast_shapes
from ..tensors.creation import tensor

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def unique(
    self: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements or slices; with ``return_inverse`` and ``return_counts`` a tuple."""
    if dim is None:
        found = F._unique2(self, sorted, return_inverse, return_counts)
    else:
        found = F.unique_dim(self, dim, sorted, return_inverse, return_counts)
    return _asked_for(found, return_inverse, return_counts)


def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal elements or slices; else as ``unique``."""
    found = F._unique_consecutive(self, return_inverse, return_counts, dim)
    return _asked_for(found, return_inverse, return_counts)


def _asked_for(found: tuple[Tensor, ...], inverse: bool, counts: bool) -> Any:
    parts = [found[0], *([found[1]] if inverse else []), *([found[2]] if counts else [])]
    return tuple(parts) if len(parts) > 1 else parts[0]


def nonzero_as_tuple(self: Tensor, as_tuple: bool) -> Any:
    """The positions of what is not 0, one tensor for each dimension, or as the rows of one tensor."""
    return nonzero_numpy(self) if as_tuple else self.nonzero()


def nonzero_numpy(self: Tensor) -> tuple[Tensor, ...]:
    """The positions of what is not 0, one tensor for each dimension; a number counts as 1-d."""
    found = (self.unsqueeze(0) if self.ndim == 0 else self).nonzero()
    return found.unbind(1)


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` with the other dims broadcast and negative indices; without ``dim`` of the flat tensor."""
    if dim is None:
        return self.reshape(-1).gather(0, _from_front(indices.reshape(-1), self.numel()))
    if self.ndim != indices.ndim:
        raise RuntimeError(
            "take_along_dim: input and indices should have the same number of dimensions, but got "
            f"{self.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    if indices.dtype is not int64:
        raise RuntimeError(f"take_along_dim: dtype of indices should be Long but got {indices.dtype}")
    dim = wrap_dim(dim, self.ndim)
    ours, theirs = list(self.shape), list(indices.shape)
    if self.ndim:
        indices = _from_front(indices, ours[dim])
        ours[dim] = theirs[dim] = 1
    if ours == theirs:
        return self.gather(dim, indices)
    common = list(broadcast_shapes(tuple(ours), tuple(theirs)))
    source, chosen = common.copy(), common.copy()
    if self.ndim:
        source[dim], chosen[dim] = self.shape[dim], indices.shape[dim]
    return self.expand(source).gather(dim, indices.expand(chosen))


def _from_front(indices: Tensor, size: int) -> Tensor:
    """Negative indices counted from the front; any index is taken modulo the size, as in torch."""
    return indices.remainder(size) if size else indices


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The ways to take ``r`` elements of a vector, one in each row. RuntimeError for another shape."""
    if self.ndim != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(self.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return self.new_empty((0,))
    taken = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = tensor(list(taken(range(self.shape[0]), r)), dtype=int64, device=self.device)
    return F.index(self, [places.view((-1, r))])


def unravel_index(indices: Tensor, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """Flat positions as one tensor for each dimension of ``shape``. TypeError for indices that are none."""
    if indices.dtype.category not in ("integral", "unsigned"):
        raise TypeError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}")
    if shape and min(shape) < 0:
        raise ValueError(f"unravel_index: 'shape' cannot have negative values, but got {tuple(shape)}")
    steps = [prod(shape[d + 1 :]) for d in range(len(shape))]
    sizes, strides = (tensor(n, dtype=int64, device=indices.device) for n in (list(shape), steps))
    return indices.unsqueeze(-1).floor_divide(strides).remainder(sizes).unbind(-1)
