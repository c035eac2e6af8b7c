"""Meta functions that many operators share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import axes_of, reduced_shape
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


def meta_reduced(
    self: MetaArray,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: np.dtype[Any] | None = None,
) -> MetaArray:
    """The result of a reduction over ``dim`` (None: over everything)."""
    shape = reduced_shape(self.shape, axes_of(dim, self.ndim), keepdim)
    return MetaArray(shape, self.dtype if dtype is None else dtype)
