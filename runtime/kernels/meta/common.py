"""Meta functions that many operators share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..dims import wrap_dims
from .array import MetaArray, broadcast_shapes


def meta_like(self: MetaArray, dtype: np.dtype[Any] | None = None) -> MetaArray:
    """A new contiguous array of the shape of ``self``, and of its dtype unless another is given."""
    return MetaArray(self.shape, self.dtype if dtype is None else dtype)


def meta_shape(shape: Sequence[int], dtype: np.dtype[Any]) -> MetaArray:
    """A new contiguous array."""
    return MetaArray(shape, dtype)


def meta_broadcast(*arrays: MetaArray) -> tuple[int, ...]:
    """The shape that the arrays broadcast to; RuntimeError when they do not."""
    return broadcast_shapes(*[a.shape for a in arrays])


def reduced_shape(shape: Sequence[int], dim: int | Iterable[int] | None, keepdim: bool) -> tuple[int, ...]:
    """``shape`` after a reduction over ``dim``; None and an empty list are all dims.

    Raises IndexError for a dim out of range, RuntimeError for one that is named twice.
    """
    dims = wrap_dims((dim,) if isinstance(dim, int) else tuple(dim or ()), len(shape))
    if not dims:
        dims = tuple(range(len(shape)))
    if keepdim:
        return tuple([1 if d in dims else n for d, n in enumerate(shape)])
    return tuple([n for d, n in enumerate(shape) if d not in dims])


def meta_reduced(
    self: MetaArray,
    dim: int | Iterable[int] | None = None,
    keepdim: bool = False,
    dtype: np.dtype[Any] | None = None,
) -> MetaArray:
    """The result of a reduction over ``dim`` (None: over everything)."""
    return MetaArray(reduced_shape(self.shape, dim, keepdim), self.dtype if dtype is None else dtype)
