"""Shapes of the vector product and the trace on the Meta device."""

from __future__ import annotations

import numpy as np

from .. import matmul
from .array import MetaArray


def meta_linalg_cross(self: MetaArray, other: MetaArray, dim: int) -> MetaArray:
    return MetaArray(matmul.cross_shape(self.shape, other.shape, dim), self.dtype)


def meta_trace(self: MetaArray) -> MetaArray:
    shape = matmul.trace_shape(self.shape)
    return MetaArray(shape, np.dtype(np.int64) if self.dtype.kind in "iu" else self.dtype)
