"""Windows: by what a signal is multiplied that it may end smoothly.

All are computed in float64, and rounded once.

A periodic window is one without its last number, which is the first one of the next.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
DType = np.dtype[Any]


def window_shape(window_length: int) -> tuple[int]:
    """The shape of a window. Raises RuntimeError for a negative length."""
    if window_length < 0:
        raise RuntimeError(f"requires non-negative window_length, got window_length={window_length}")
    return (window_length,)


def _positions(window_length: int, periodic: bool) -> Array:
    """From 0 at the first number to 1 at the last one. Windows of one number have no such."""
    (count,) = window_shape(window_length)
    return np.arange(count) / max(count - 1 + periodic, 1)


def _window(values: Array, dtype: DType) -> Array:
    return np.ones(1, dtype) if len(values) == 1 else values.astype(dtype)


def bartlett_window(window_length: int, periodic: bool, dtype: DType) -> Array:
    """A triangle from 0 to 1 and back."""
    return _window(1 - np.abs(2 * _positions(window_length, periodic) - 1), dtype)


def blackman_window(window_length: int, periodic: bool, dtype: DType) -> Array:
    """Two cosines."""
    angles = 2 * math.pi * _positions(window_length, periodic)
    return _window(0.42 - 0.5 * np.cos(angles) + 0.08 * np.cos(2 * angles), dtype)


def hamming_window(window_length: int, periodic: bool, alpha: float, beta: float, dtype: DType) -> Array:
    """``alpha`` less ``beta`` times a cosine."""
    return _window(alpha - beta * np.cos(2 * math.pi * _positions(window_length, periodic)), dtype)


def kaiser_window(window_length: int, periodic: bool, beta: float, dtype: DType) -> Array:
    """A Bessel function of an ellipse, the narrower the greater ``beta``."""
    from scipy.special import i0e

    ends = 2 * _positions(window_length, periodic) - 1
    inside = np.sqrt(1 - ends * ends)
    beta = abs(beta)
    # Both Bessel functions may be more than a number holds where their quotient is not.
    return _window(np.exp(beta * (inside - 1)) * i0e(beta * inside) / i0e(beta), dtype)
