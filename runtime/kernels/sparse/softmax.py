"""softmax and log_softmax of arrays in coordinate format: of what is stored, as if the rest were -inf."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dims import wrap_dim
from .array import Array, CooArray, flat_indices
from .conversions import coo_coalesce, values_at

#: What gives every element the sum, or the largest, of those that have its indices but for one dimension.
Spread = Callable[[np.ufunc, Array], Array]


def _spread(self: CooArray, at: int) -> Spread:
    if at >= self.sparse_dim:
        axis = 1 + at - self.sparse_dim
        return lambda ufunc, values: ufunc.reduce(values, axis, keepdims=True)
    kept = [d for d in range(self.sparse_dim) if d != at]
    flat = flat_indices(self.indices[kept], tuple([self.shape[d] for d in kept]))
    _, place = np.unique(flat, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return lambda ufunc, values: ufunc.reduceat(values[order], starts, axis=0)[place]


def _of_scaled(function: Callable[[Array, Spread], Array], self: CooArray, dim: int) -> CooArray:
    """A function of the elements less the largest along a dimension, so that no exponential overflows."""
    self, at = coo_coalesce(self), wrap_dim(dim, self.ndim)
    if not self.values.size:
        return self
    spread = _spread(self, at)
    return self.with_values(function(self.values - spread(np.maximum, self.values), spread))


def coo_softmax(self: CooArray, dim: int) -> CooArray:
    """The exponentials of the elements over their sum along a dimension."""

    def shares(below: Array, spread: Spread) -> Array:
        powers: Array = np.exp(below)
        return powers / spread(np.add, powers)

    return _of_scaled(shares, self, dim)


def coo_log_softmax(self: CooArray, dim: int) -> CooArray:
    """The logarithm of ``coo_softmax``."""
    return _of_scaled(lambda below, spread: below - np.log(spread(np.add, np.exp(below))), self, dim)


def coo_softmax_backward(grad_output: CooArray, output: CooArray, dim: int) -> CooArray:
    """The gradient of ``coo_softmax`` at the elements that are stored."""
    output = coo_coalesce(output)
    if not output.values.size:
        return output
    weighed = values_at(grad_output, output.indices, output.sparse_dim) * output.values
    total = _spread(output, wrap_dim(dim, output.ndim))(np.add, weighed)
    return output.with_values(weighed - output.values * total)


def coo_log_softmax_backward(grad_output: CooArray, output: CooArray, dim: int) -> CooArray:
    """The gradient of ``coo_log_softmax`` at the elements that are stored."""
    output = coo_coalesce(output)
    if not output.values.size:
        return output
    grads = values_at(grad_output, output.indices, output.sparse_dim)
    total = _spread(output, wrap_dim(dim, output.ndim))(np.add, grads)
    return output.with_values(grads - np.exp(output.values) * total)
