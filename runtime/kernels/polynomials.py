"""Orthogonal polynomials, of which each element has a degree of its own.

A degree is truncated to an integer. Below 0, where it is NaN and from ``2**63`` on, the polynomial is 0. One
operand may be a number. What is computed in float64 is rounded once, to the dtype of the operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any  # an ndarray, a 0-d result of a ufunc, or a Python number


def _degrees(n: Array) -> Array:
    given = np.asarray(n, np.float64)
    return np.where(np.abs(given) < 2.0**63, given, -1).astype(np.int64)


# -- Chebyshev's -----------------------------------------------------------------------------

#: Up to this degree they come from their recurrence, so that small integers are exact.
_RECURRENT = 8


class _Kind(NamedTuple):
    """The first is ``cos(n a)`` of ``x = cos(a)``; others are ``f(m b) / f(b)``, with cos or sin for f."""

    slope: int  # the polynomial of degree 1 is slope * x + shift
    shift: int
    odd: bool  # whether f is the sine
    multiple: tuple[int, int]  # m = multiple[0] * n + multiple[1]
    share: float  # b = share * a
    divided: bool


_T = _Kind(1, 0, False, (1, 0), 1.0, False)
_U = _Kind(2, 0, True, (1, 1), 1.0, True)
_V = _Kind(2, -1, False, (2, 1), 0.5, True)
_W = _Kind(2, 1, True, (2, 1), 0.5, True)
#: What a kind is of ``-x``, but for the sign of odd degrees.
_MIRRORED = {_T: _T, _U: _U, _V: _W, _W: _V}


def _closed(kind: _Kind, x: Array, degree: Array) -> Array:
    """Of an ``x >= 0``: by its angle up to 1, and beyond by the area that cosh and sinh have in its place."""
    multiple = degree * float(kind.multiple[0]) + kind.multiple[1]
    angle, area = kind.share * np.arccos(np.minimum(x, 1)), kind.share * np.arccosh(np.maximum(x, 1))
    wave = np.sin if kind.odd else np.cos
    inside, outside = wave(multiple * angle), _damped(kind.odd, multiple * area)
    if kind.divided:
        straight = angle == 0 if kind.odd else np.False_
        inside = np.where(straight, multiple, inside / np.where(straight, 1, wave(angle)))
        outside = outside / np.where(area > 0, _damped(kind.odd, area), 1)
    # The factor is exp((m - 1) b), not exp(m b) over exp(b), which could overflow.
    outside = outside * np.exp((multiple - kind.divided) * area) / (1 if kind.divided else 2)
    return np.where(x <= 1, inside, outside)


def _damped(odd: bool, area: Array) -> Array:
    """``2 cosh(a) exp(-a)``, or that of sinh."""
    return -np.expm1(-2 * area) if odd else 1 + np.exp(-2 * area)


def _chebyshev(kind: _Kind, x: Array, n: Array, shifted: bool = False) -> Array:
    """``shifted``: that of ``2 x - 1``."""
    dtype = np.result_type(x, n)
    degree = _degrees(n)
    x = np.asarray(x, np.float64)
    x = 2 * x - 1 if shifted else x
    before, value = np.ones_like(x), kind.slope * x + kind.shift
    result = np.where(degree == 0, 1, value)
    for k in range(2, _RECURRENT + 1):
        before, value = value, 2 * x * value - before
        result = np.where(degree == k, value, result)
    beyond = (degree > _RECURRENT) | (~np.isfinite(result) & ~np.isnan(x) & (degree > 0))
    if beyond.any():
        mirrored = np.where(degree % 2 == 0, 1, -1) * _closed(_MIRRORED[kind], np.abs(x), degree)
        result = np.where(beyond, np.where(x < 0, mirrored, _closed(kind, np.abs(x), degree)), result)
    return np.where(degree < 0, 0, result).astype(dtype)


def chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    """``cos(n arccos(x))``"""
    return _chebyshev(_T, x, n)


def chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    return _chebyshev(_U, x, n)


def chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    return _chebyshev(_V, x, n)


def chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    return _chebyshev(_W, x, n)


def shifted_chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    return _chebyshev(_T, x, n, shifted=True)


def shifted_chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    return _chebyshev(_U, x, n, shifted=True)


def shifted_chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    return _chebyshev(_V, x, n, shifted=True)


def shifted_chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    return _chebyshev(_W, x, n, shifted=True)


# -- others ----------------------------------------------------------------------------------


#: From here on Hermite's are greater than any float64: there SciPy need not count on.
_HERMITE_LIMIT = 512


def _of_scipy(function: Callable[[Array, Array], Array], x: Array, n: Array, sign: int = 1) -> Array:
    """SciPy's, and its limits; ``sign``: that of the leading coefficient of degree 1."""
    degree, dtype = _degrees(n), np.result_type(x, n)
    x = np.asarray(x, np.float64)
    result = function(np.maximum(degree, 0), x)
    # What overflows on the way is infinite, as its greatest term is.
    limit = np.copysign(np.inf, np.where(degree % 2 == 0, 1, sign * x))
    result = np.where(np.isinf(x) | (np.isnan(result) & ~np.isnan(x)), limit, result)
    return np.where(degree == 0, 1, np.where(degree < 0, 0, result)).astype(dtype)


def hermite_polynomial_h(x: Array, n: Array) -> Array:
    """The physicists'."""
    from scipy import special

    return _of_scipy(lambda n, x: special.eval_hermite(np.minimum(n, _HERMITE_LIMIT), x), x, n)


def hermite_polynomial_he(x: Array, n: Array) -> Array:
    """The probabilists'."""
    from scipy import special

    return _of_scipy(lambda n, x: special.eval_hermitenorm(np.minimum(n, _HERMITE_LIMIT), x), x, n)


def laguerre_polynomial_l(x: Array, n: Array) -> Array:
    from scipy import special

    return _of_scipy(special.eval_laguerre, x, n, sign=-1)


def legendre_polynomial_p(x: Array, n: Array) -> Array:
    from scipy import special

    return _of_scipy(special.eval_legendre, x, n)
