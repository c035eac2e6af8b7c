"""Shapes and strides of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fft import Shape, check_real_transform, check_transform, halved, order_in_memory, widened
from .array import MetaArray


def _made(shape: Shape, dtype: np.dtype[Any], order: Sequence[int]) -> MetaArray:
    """An array whose dimensions lie in memory in ``order``, the outermost first."""
    inverse = [order.index(d) for d in range(len(order))]
    return MetaArray([shape[d] for d in order], dtype).transpose(inverse)


def meta_fft_c2c(self: MetaArray, dim: Sequence[int], normalization: int) -> MetaArray:
    dims = check_transform(self.shape, dim, normalization)
    if not dims:
        return self.copy("K")
    return _made(self.shape, self.dtype, order_in_memory(self.strides, dims, False))


def meta_fft_r2c(self: MetaArray, dim: Sequence[int], normalization: int, onesided: bool) -> MetaArray:
    """Complex numbers; half of the last dimension where ``onesided``."""
    dims = check_real_transform(self.shape, dim, normalization)
    shape = halved(self.shape, dims[-1]) if onesided else self.shape
    dtype = np.result_type(self.dtype, np.complex64)
    return _made(shape, dtype, order_in_memory(self.strides, dims, True))


def meta_fft_c2r(self: MetaArray, dim: Sequence[int], normalization: int, last_dim_size: int) -> MetaArray:
    """Real numbers, ``last_dim_size`` of them in the last of ``dim``."""
    dims = check_real_transform(self.shape, dim, normalization)
    shape = widened(self.shape, dims[-1], last_dim_size)
    half = meta_fft_c2c(self, dims[:-1], normalization) if len(dims) > 1 else self
    real = np.dtype(f"f{self.dtype.itemsize // 2}")
    return _made(shape, real, order_in_memory(half.strides, dims[-1:], True))
