"""The vector product and the trace; shapes are checked as ``kernels.matmul`` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import matmul as host
from ..dims import wrap_dim
from .common import Array, moved


def linalg_cross(xp: Any, self: Array, other: Array, dim: int) -> Array:
    """The vector product along ``dim``."""
    host.cross_shape(tuple(self.shape), tuple(other.shape), dim)
    self, other = xp.broadcast_arrays(self, other)
    d = wrap_dim(dim, self.ndim)
    a, b = ([x[(*(slice(None),) * d, i, ...)] for i in range(3)] for x in (self, other))
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return xp.stack(parts, axis=d)


def trace(xp: Any, self: Array) -> Array:
    """The sum of a matrix's diagonal; of integers in int64."""
    from .reductions import sum_dim

    host.trace_shape(tuple(self.shape))
    return sum_dim(xp, moved(xp, np.diagonal, self), None, False, None)
