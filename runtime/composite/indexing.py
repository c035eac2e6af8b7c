"""Indexing, sorting and searching operators that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, prod
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..core.scalar_type import int32, int64
from ..kernels.dims import wrap_dim
from ..kernels.layout import broadcast_shapes
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
    """``gather`` with the other dims broadcast and negative indices; without ``dim`` of the flat tensor.
    RuntimeError for another number of dimensions than that of ``self``, and for indices that are not
    int64."""
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
    common = list(broadcast_shapes(tuple(ours), tuple(theirs), name="take_along_dim: "))
    source, chosen = common.copy(), common.copy()
    if self.ndim:
        source[dim], chosen[dim] = self.shape[dim], indices.shape[dim]
    return self.expand(source).gather(dim, indices.expand(chosen))


def _from_front(indices: Tensor, size: int) -> Tensor:
    """Negative indices counted from the front; any index is taken modulo the size, as in torch."""
    return indices.remainder(int(size)) if size else indices


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The ways to take ``r`` elements of a vector, one in each row. RuntimeError for another shape."""
    if self.ndim != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(self.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return self.new_empty((0,))
    return F.index(self, [_increasing(self.shape[0], r, 0 if with_replacement else 1, self.device)])


def _increasing(n: int, r: int, step: int, device: Any) -> Tensor:
    """The rows of ``r`` numbers below ``n``, each by ``step`` or more larger than the one before it."""
    rows = F.arange(n, device=device).unsqueeze(1)
    for length in range(2, r + 1):
        last = rows[:, -1]
        counts = n - step - last  # how many numbers may follow
        total = comb(n if step else n + length - 1, length)
        before = F.repeat_interleave(F.arange(len(last), device=device), counts, output_size=total)
        first = last + step + counts - counts.cumsum(0)  # less the row's number, of the first that follow it
        following = first[before] + F.arange(total, device=device)
        rows = F.cat([rows[before], following.unsqueeze(1)], 1)
    return rows


def unravel_index(indices: Tensor, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """Flat positions as one tensor for each dimension of ``shape``. TypeError for indices that are none."""
    if indices.dtype.category not in ("integral", "unsigned"):
        raise TypeError(f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype}")
    if shape and min(shape) < 0:
        raise ValueError(f"unravel_index: 'shape' cannot have negative values, but got {tuple(shape)}")
    steps = [prod(shape[d + 1 :]) for d in range(len(shape))]
    sizes, strides = (tensor(n, dtype=int64, device=indices.device) for n in (list(shape), steps))
    return indices.unsqueeze(-1).floor_divide(strides).remainder(sizes).unbind(-1)


# -- with indices that may be out of range where a mask is false ------------------------------


def unsafe_masked_index(
    self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], fill: bool | float | complex
) -> Tensor:
    """The elements at ``indices`` where ``mask`` is true, ``fill`` elsewhere."""
    if not self.numel():  # all that indices may say of nothing is where it is not
        sizes = [1 if i < len(indices) and indices[i] is not None else n for i, n in enumerate(self.shape)]
        self = self.new_full(sizes, fill)
    return F.index(self, _in_range(self, indices)).masked_fill(mask.logical_not(), fill)


def unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: Sequence[Tensor | None], values: Tensor
) -> Tensor:
    """``self`` with ``values`` added at ``indices`` where ``mask`` is true."""
    if not self.numel():
        return self.clone()
    return self.index_put(
        _in_range(self, indices), values.masked_fill(mask.logical_not(), 0), accumulate=True
    )


def _in_range(self: Tensor, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The nearest indices that are in range. RuntimeError for others than int32 and int64."""
    for index in indices:
        if index is not None and index.dtype not in (int32, int64):
            raise RuntimeError(f"tensors used as indices must be long or int tensors, but got {index.dtype}")
    pairs = zip(indices, self.shape, strict=False)
    return [None if index is None else index.clamp(-size, size - 1) for index, size in pairs]
