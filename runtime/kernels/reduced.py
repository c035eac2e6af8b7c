"""float16 and bfloat16, which are computed as float32: conversions, natively where that can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import FLOAT32, REDUCED
from .native_kernels import as_bits, kernels
from .shares import share_elements

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]


def upcast(array: Any) -> Any:
    """float16 and bfloat16 as float32, in which they are computed; anything else as it is."""
    return converted(array, FLOAT32) if array.dtype.char in REDUCED else array


def converted(array: Any, dtype: DType) -> Array:
    """``array.astype(dtype)``: between float32 and a reduced type natively."""
    given = array.dtype
    if array.__class__ is np.ndarray and array.ndim:
        if dtype == FLOAT32 and given.char in REDUCED:
            kernel = kernels.from_float16 if given.char == "e" else kernels.from_bfloat16
            if kernel is not None:
                return _by_kernel(kernel, as_bits(array), FLOAT32)
        elif given == FLOAT32 and dtype.char in REDUCED:
            kernel = kernels.to_float16 if dtype.char == "e" else kernels.to_bfloat16
            if kernel is not None:
                return _by_kernel(kernel, array, dtype)
    if array.__class__ is np.ndarray and 0 in array.strides:
        return _of_expanded(array, dtype)
    found: Array = array.astype(dtype)
    return found


def _of_expanded(array: Array, dtype: DType) -> Array:
    """The same of an expanded array, laid out as by a kernel: ``astype`` puts expanded dims innermost."""
    once = array[(*[slice(None) if step else slice(1) for step in array.strides],)].astype(dtype)
    spread = np.broadcast_to(once, array.shape)
    corner = spread[(*(slice(2),) * spread.ndim,)]
    found: Array = np.empty_like(np.equal(corner, corner), dtype, shape=array.shape)
    found[...] = spread
    return found


def _by_kernel(kernel: np.ufunc, array: Array, dtype: DType) -> Array:
    """What a kernel makes of each element, of this dtype; bfloat16 are 16 bits to it."""
    if not array.flags.c_contiguous:
        strided: Array = kernel(array).view(dtype)
        return strided
    out = np.empty(array.shape, dtype)
    share_elements(kernel, (array.reshape(-1),), (as_bits(out).reshape(-1),))
    return out
