"""Kernels of complex numbers and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import FLOAT16, real_dtype
from .strided import element_strides, empty_view

Array = Any
_COMPLEX = {"f": np.complex64, "d": np.complex128}


def complex_dtype(array: Array) -> np.dtype[Any]:
    """The complex dtype with parts of the dtype of ``array``."""
    if array.dtype == FLOAT16:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.complex32)
        return found
    return np.dtype(_COMPLEX[array.dtype.char])


def complex_of(real: Array, imag: Array) -> Array:
    """``real + 1j * imag`` of two arrays of one dtype; NaN and infinities stay in their part."""
    parts = np.empty((*np.broadcast_shapes(np.shape(real), np.shape(imag)), 2), real.dtype)
    parts[..., 0] = real
    parts[..., 1] = imag
    return parts.view(complex_dtype(real))[..., 0]


def polar(abs: Array, angle: Array) -> Array:
    """``abs * exp(1j * angle)`` of two arrays of one dtype."""
    return complex_of(abs * np.cos(angle), abs * np.sin(angle))


def view_as_real(self: Array) -> Array:
    """A view with the two parts in a new last dimension."""
    real = real_dtype(self.dtype)
    if type(self) is np.ndarray and not self.size:
        return empty_view(self, (*self.shape, 2), (*[2 * s for s in element_strides(self)], 1), real)
    return self[..., None].view(real)


def view_as_complex(self: Array) -> Array:
    """A view of pairs as complex numbers.

    Raises RuntimeError unless the last dimension is of size 2 and stride 1 and every other
    stride can be halved.
    """
    if self.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if type(self) is np.ndarray and not self.size:
        return empty_view(
            self, self.shape[:-1], [s // 2 for s in element_strides(self)[:-1]], complex_dtype(self)
        )
    itemsize = self.dtype.itemsize
    if self.strides[-1] != itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any([s % (2 * itemsize) for s in self.strides[:-1]]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return self.view(complex_dtype(self))[..., 0]
