"""Independent computations of special functions, from their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
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


def of_basis(series: Callable[[float, list[float]], float], x: Array, n: Array) -> Array:
    """Polynomials of whole degrees as series of one term, which NumPy sums; 0 where a degree is below 0."""

    def one(x: float, n: float) -> float:
        return float(series(x, [0.0] * int(n) + [1.0])) if n > -1 else 0.0

    return np.vectorize(one, otypes=[float])(x, n)


def chebyshev(kind: str, x: Array, n: Array) -> Array:
    """Those of the second kind are derivatives of those of the first, those of the others their sums."""
    first = np.polynomial.chebyshev
    if kind == "t":
        return of_basis(first.chebval, x, n)

    def second(x: float, term: list[float]) -> float:
        return first.chebval(x, first.chebder([0.0, *term])) / len(term)

    def other(x: float, term: list[float]) -> float:
        before = second(x, term[1:]) if len(term) > 1 else 0.0
        return second(x, term) + (before if kind == "w" else -before)

    return of_basis(second if kind == "u" else other, x, n)


def hurwitz_zeta(exponent: Array, shift: Array) -> Array:
    """The sum of ``(k + shift) ** -exponent``: its first terms, then Euler-Maclaurin."""
    s, first, terms = np.asarray(exponent, float), np.asarray(shift, float), 40
    a = terms + first
    rest = a ** (1 - s) / (s - 1) + a**-s / 2 + s * a ** (-s - 1) / 12
    return sum((k + first) ** -s for k in range(terms)) + rest - s * (s + 1) * (s + 2) * a ** (-s - 3) / 720


def moves_of_gamma(shape: Array, sample: Array) -> Array:
    """How a quantile of gamma distributions moves with their shape: by differences of the distribution."""
    from scipy import special, stats

    slope = slope_of(lambda a: special.gammainc(a, sample), shape)
    return -slope / stats.gamma.pdf(sample, shape)


def moves_of_beta(x: Array, alpha: Array, total: Array) -> Array:
    """How a quantile of beta distributions moves with ``alpha``, by ``1 - x``: by differences."""
    from scipy import special, stats

    slope = slope_of(lambda a: special.betainc(a, total - alpha, x), alpha)
    return -slope / stats.beta.pdf(x, alpha, total - alpha) / (1 - x)


def slope_of(function: Callable[[Array], Array], at: Array) -> Array:
    """The derivative by differences, whose error is some ``step**6`` and float64's by ``step``."""
    step, at = 5e-3 * np.asarray(at, np.float64), np.asarray(at, np.float64)
    far = [(function(at + k * step) - function(at - k * step)) / (2 * k * step) for k in (1, 2, 3)]
    return 1.5 * far[0] - 0.6 * far[1] + 0.1 * far[2]
