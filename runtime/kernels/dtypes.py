"""Dtypes, as kernels tell them apart, and what is computed in which."""

from __future__ import annotations

from typing import Any

import numpy as np

DType = np.dtype[Any]

FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
INT64 = np.dtype(np.int64)
UINT8 = np.dtype(np.uint8)
REDUCED = "eE"  # dtype.char of float16 and bfloat16, which are computed in float32
INTEGRAL = "?bhilqBHILQ"  # dtype.char of bool and the integers
NATIVE_FLOATS = "fdFD"  # dtype.char of what NumPy computes in its own precision

ADDED = 2  # NumPy's word, ``isbuiltin``, for the dtypes of other libraries


def total_dtype(given: DType, asked: DType | None) -> DType:
    """The dtype of sums and products: the one that was asked for, else int64 of bools and integers."""
    return asked or (INT64 if given.char in INTEGRAL else given)


def is_float8(dtype: DType) -> bool:
    """Whether numbers are of eight bits, with a point."""
    return dtype.isbuiltin == ADDED and dtype.itemsize == 1


def is_complex32(dtype: DType) -> bool:
    """Whether numbers are complex, with parts of float16."""
    return dtype.isbuiltin == ADDED and dtype.itemsize == 4


def is_complex(dtype: DType) -> bool:
    """Whether numbers are complex."""
    return dtype.kind == "c" or is_complex32(dtype)


def is_stored(dtype: DType) -> bool:
    """Whether NumPy rounds to the dtype otherwise than PyTorch, or not at all."""
    return is_float8(dtype) or is_complex32(dtype)


def real_dtype(dtype: DType) -> DType:
    """The dtype of the parts of complex numbers; a real dtype itself."""
    return FLOAT16 if is_complex32(dtype) else np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def acc_dtype(dtype: DType) -> DType:
    """The dtype to accumulate ``dtype`` in."""
    if dtype.char in REDUCED:
        return FLOAT32
    return COMPLEX64 if is_complex32(dtype) else dtype


def with_truth(array: Any) -> Any:
    """An array whose elements are true where they are not 0: ml_dtypes makes integers of complex32."""
    return np.not_equal(array, 0, out=...) if is_complex32(array.dtype) else array
