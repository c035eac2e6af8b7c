"""Kernels of variances and of their roots, over dimensions of an array.

Those of float32 are formed in float64, as torch's: the mean of large numbers, rounded to float32, can be
further from them than they are from each other, and the square of a large deviation is no float32.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..core.costs import NATIVE_GRAIN
from ..core.user_stack import program_stacklevel
from .dims import Dims
from .dtypes import FLOAT32, FLOAT64, real_dtype
from .native_kernels import as_rows, kernels
from .reductions import count, sum_dim
from .rows import has_contiguous_rows
from .shares import share_rows

Array = Any  # an ndarray, or the 0-d result of a ufunc


def centred(self: Array, dim: Dims) -> Array:
    """An array less its mean over ``dim``: twice, for the first one was rounded, as large as it may be."""
    deviation = self - sum_dim(self, dim, True, None) / count(self, dim)
    rest = sum_dim(np.asarray(deviation), dim, True, None) / count(deviation, dim)
    return deviation - np.where(np.isfinite(rest), rest, 0)


def degrees_of_freedom(function: str, elements: int, correction: complex | None) -> float:
    """The divisor of a variance; a warning where it is 0. Raises RuntimeError for a complex correction."""
    if isinstance(correction, complex):
        raise RuntimeError(f"correction must be a real number, but got {correction}")
    free = elements - (1 if correction is None else correction)
    if free <= 0:
        warnings.warn(
            f"{function}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            f"{elements} elements of each result, but is {1 if correction is None else correction}.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
    return max(free, 0)


def var_mean(self: Array, dim: Dims, correction: float | None, keepdim: bool) -> tuple[Array, Array]:
    """The variance (real) and the mean over ``dim``; the divisor is the count less ``correction``,
    by default 1. Without degrees of freedom the variance is NaN or infinite."""
    variance, mean = _moments("var_mean", self, dim, correction, keepdim)
    return variance.astype(real_dtype(self.dtype), copy=False), mean.astype(self.dtype, copy=False)


def var_dim(self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """The variance of ``var_mean``."""
    return _moments("var", self, dim, correction, keepdim)[0].astype(real_dtype(self.dtype), copy=False)


def std_mean(self: Array, dim: Dims, correction: float | None, keepdim: bool) -> tuple[Array, Array]:
    """The square root of the variance, and the mean."""
    variance, mean = _moments("std_mean", self, dim, correction, keepdim)
    root = np.sqrt(variance).astype(real_dtype(self.dtype), copy=False)
    return root, mean.astype(self.dtype, copy=False)


def std_dim(self: Array, dim: Dims, correction: float | None, keepdim: bool) -> Array:
    """The square root of the variance."""
    variance = _moments("std", self, dim, correction, keepdim)[0]
    return np.sqrt(variance).astype(real_dtype(self.dtype), copy=False)


def _moments(
    function: str, self: Array, dim: Dims, correction: float | None, keepdim: bool
) -> tuple[Array, Array]:
    """The variance and the mean, of single precision in double."""
    elements = count(self, dim)
    free = degrees_of_freedom(function, elements, correction)
    if self.dtype.char in "fd" and (kernel := _kernel(self.dtype)) is not None:
        if dim and len(dim) == 1 and has_contiguous_rows(self, dim[0]):
            return _of_rows(kernel, self, free, keepdim)
        if not dim and has_contiguous_rows(self, -1):
            return _of_all(kernel, self, free, keepdim)
    wide, given = np.result_type(self.dtype, FLOAT64), self.dtype
    self = self.astype(wide, copy=False)
    mean = sum_dim(self, dim, True, None) / elements
    deviation = np.asarray(self - mean)
    squares = sum_dim(_squared(deviation), dim, keepdim, None)
    if given == wide:  # of narrower numbers this mean is as good as exact
        rest = _squared(sum_dim(deviation, dim, keepdim, None)) / elements
        squares = np.where(np.isfinite(squares), np.abs(squares - rest), squares)
    variance = np.divide(squares, free)
    return variance, mean if keepdim or self.ndim == 0 else mean.reshape(variance.shape)


def _squared(values: Array) -> Array:
    """The squares of absolute values."""
    if values.dtype.kind == "c":
        return np.asarray(values.real * values.real + values.imag * values.imag)
    return np.asarray(values * values)


def _kernel(dtype: np.dtype[Any]) -> Any:
    """The native kernel of a row's mean and variance, as float64; None where there is none."""
    return kernels.variance_of_float32 if dtype == FLOAT32 else kernels.variance


def _of_rows(kernel: np.ufunc, self: Array, free: float, keepdim: bool) -> tuple[Array, Array]:
    """Those of the last dimension of a contiguous array, natively."""
    shape = (*self.shape[:-1], 1) if keepdim else self.shape[:-1]
    mean, variance = np.empty(shape), np.empty(shape)
    share_rows(kernel, (as_rows(self),), (FLOAT64.type(free),), (mean.reshape(-1), variance.reshape(-1)))
    return variance, mean


def _of_all(kernel: np.ufunc, self: Array, free: float, keepdim: bool) -> tuple[Array, Array]:
    """Those of all elements of a contiguous array: of blocks, which are put together."""
    flat, one, shape = self.reshape(-1), FLOAT64.type(1), (1,) * self.ndim if keepdim else ()
    blocks, rest = divmod(flat.size, NATIVE_GRAIN)
    if blocks < 2:
        mean, variance = kernel(flat, FLOAT64.type(free))
        return variance.reshape(shape), mean.reshape(shape)
    sizes = np.full(blocks + (rest > 0), NATIVE_GRAIN)
    means, squares = np.empty(len(sizes)), np.empty(len(sizes))
    whole = flat[: flat.size - rest].reshape(blocks, NATIVE_GRAIN)
    share_rows(kernel, (whole,), (one,), (means[:blocks], squares[:blocks]))
    if rest:
        sizes[-1] = rest
        kernel(flat[-rest:], one, out=(means[-1:].reshape(()), squares[-1:].reshape(())))
    mean = np.average(means, weights=sizes)
    spread = squares.sum() + np.dot(sizes, (means - mean) ** 2)
    return np.full(shape, np.divide(spread, free)), np.full(shape, mean)
