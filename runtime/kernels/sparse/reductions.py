"""Sums over arrays in coordinate format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..dims import wrap_dim
from ..linalg import linalg_vector_norm
from ..reduced import upcast
from ..reductions import sum_dim
from .array import Array, CooArray
from .conversions import coo_coalesce


def coo_sum_dim(self: CooArray, dim: Sequence[int] | None, keepdim: bool, dtype: Any) -> Any:
    """The sum over dimensions, in coordinate format; strided where no indexed dimension is left. RuntimeError
    for a dimension that is named twice."""
    chosen = range(self.ndim) if dim is None or not len(dim) else [wrap_dim(d, self.ndim) for d in dim]
    if len(set(chosen)) != len(list(chosen)):
        raise RuntimeError(f"sum: a dim appears twice in the list of dims {list(dim or ())}")
    if self.values.dtype == np.bool_:
        self = coo_coalesce(self)  # of several values at a place the element is whether one is true
    values = self.values
    if dtype is not None:
        values = values.astype(dtype.base)
    elif values.dtype.kind in "biu":
        values = values.astype(np.int64)
    return sum_dims(self.with_values(values), chosen, keepdim)


def sum_dims(self: CooArray, dims: Iterable[int], keepdim: bool) -> Any:
    """The sum over dimensions that count from 0."""
    chosen, sparse = set(dims), self.sparse_dim
    if not chosen:
        return self
    self = coo_coalesce(self)
    dense = tuple([1 + d - sparse for d in sorted(chosen) if d >= sparse])
    values = sum_dim(self.values, dense, keepdim, None) if dense else self.values
    kept = [d for d in range(sparse) if d not in chosen]
    if len(kept) == sparse:
        shape = (*self.sparse_shape, *values.shape[1:])
        return CooArray(self.indices, values, shape, self.coalesced)
    sizes = tuple([self.shape[d] for d in kept])
    if not kept:
        total = np.asarray(sum_dim(values, (0,), False, None))
        return total.reshape((1,) * sparse + total.shape) if keepdim else total
    summed = coo_coalesce(CooArray(self.indices[kept], values, (*sizes, *values.shape[1:])))
    if not keepdim:
        return summed
    rows = iter(summed.indices)
    nothing = np.zeros(summed.nnz, np.int64)
    indices = np.stack([nothing if d in chosen else next(rows) for d in range(sparse)])
    sizes = tuple([1 if d in chosen else self.shape[d] for d in range(sparse)])
    return CooArray(indices, summed.values, (*sizes, *values.shape[1:]), True)


def coo_any(self: CooArray) -> Array:
    """Whether an element is not zero."""
    return np.asarray((coo_coalesce(self).values != 0).any())


def coo_vector_norm(self: CooArray, ord: Any, dim: Sequence[int] | None, keepdim: bool, dtype: Any) -> Array:
    """The norm of all elements that are stored; of an order below zero others, which are 0, do not count.
    NotImplementedError for the norm over some dimensions, and with ``keepdim``."""
    if (dim is not None and len(dim) not in (0, self.ndim)) or keepdim:
        raise NotImplementedError("linalg_vector_norm: a sparse tensor has a norm over all dimensions only")
    return np.asarray(linalg_vector_norm(upcast(coo_coalesce(self).values), ord, None, False, dtype)).astype(
        self.values.real.dtype if dtype is None else dtype, copy=False
    )
