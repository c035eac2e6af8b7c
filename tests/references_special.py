"""Independent computations of special functions, from their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any


def mantissa_and_exponent(values: Array) -> tuple[Array, Array]:
    """Each number as ``math.frexp`` has it."""
    pairs = [math.frexp(float(v)) for v in np.ravel(values)]
    mantissas = np.array([m for m, _ in pairs], values.dtype).reshape(values.shape)
    return mantissas, np.array([e for _, e in pairs], np.int32).reshape(values.shape)


def next_towards(start: Array, end: Array) -> Array:
    """The neighbours of numbers that are not 0: their bits, as an integer, one more or one less."""
    start, end = np.broadcast_arrays(start, end)
    bits = np.ascontiguousarray(start).view(f"i{start.dtype.itemsize}")
    away = (end > start) == (start > 0)
    moved = (bits + np.where(away, 1, -1).astype(bits.dtype)).view(start.dtype).reshape(start.shape)
    return np.where(start == end, end, moved)


def hurwitz_zeta(exponent: Array, shift: Array) -> Array:
    """The sum of ``(k + shift) ** -exponent``: its first terms, then Euler-Maclaurin."""
    s, first, terms = np.asarray(exponent, float), np.asarray(shift, float), 40
    a = terms + first
    rest = a ** (1 - s) / (s - 1) + a**-s / 2 + s * a ** (-s - 1) / 12
    return sum((k + first) ** -s for k in range(terms)) + rest - s * (s + 1) * (s + 2) * a ** (-s - 3) / 720
