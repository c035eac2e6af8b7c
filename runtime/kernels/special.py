"""Special functions that are no plain function of SciPy; it is imported on first use."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

Array = Any


def polygamma(n: int, self: Array) -> Array:
    """The n-th derivative of digamma. Raises RuntimeError for a negative n."""
    from scipy import special

    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return special.psi(self)
    steps = _many_steps(self)
    result = np.asarray(special.polygamma(n, np.where(steps, self.dtype.type(1), self)))
    if steps.any():
        result[steps] = (-1) ** (n + 1) * special.gamma(n + 1.0) * _between_poles(n + 1.0, self[steps])
    # Between poles that never end there is no limit.
    return np.where(np.isneginf(self), np.nan, result).astype(self.dtype)


def zeta(self: Array, other: Array) -> Array:
    """The Hurwitz zeta function; one of them may be a number."""
    from scipy import special

    order, start = np.broadcast_arrays(self, other)
    steps = _many_steps(start) & (order > 1) & (order == np.rint(order))
    if not steps.any():
        return special.zeta(self, other)
    result = np.asarray(special.zeta(self, np.where(steps, start.dtype.type(1), other)))
    result[steps] = _between_poles(order[steps], start[steps])
    return result


def _many_steps(start: Array) -> Array:
    """Where SciPy would add up a term for each of many numbers below 0."""
    return (start < -100) & np.isfinite(start) & (start != np.floor(start))


def _between_poles(order: Array | float, start: Array) -> Array:
    """``zeta`` of whole orders: the sum over all integers, less what of it is before the start."""
    from scipy import special

    part = start - np.floor(start)
    sign = np.where(np.mod(order, 2), -1.0, 1.0)
    return special.zeta(order, part) + sign * (special.zeta(order, 1 - part) - special.zeta(order, 1 - start))


#: Beyond it the Airy function and its derivative are less than the smallest float64.
_AIRY_VANISHES = 110


def airy_ai(x: Array) -> Array:
    """The Airy function Ai; NaN where x is so far below 0 that its phase is lost."""
    from scipy import special

    return special.airy(np.minimum(x, _AIRY_VANISHES))[0]


def airy_ai_prime(x: Array) -> Array:
    """The derivative of the Airy function Ai."""
    from scipy import special

    return special.airy(np.minimum(x, _AIRY_VANISHES))[1]


def spherical_bessel_j0(x: Array) -> Array:
    """``sin(x) / x``, and its limits at 0 and at infinity."""
    from scipy import special

    return special.spherical_jn(0, x).astype(x.dtype)


def spherical_bessel_j1(x: Array) -> Array:
    """The spherical Bessel function of the first kind, of order 1."""
    from scipy import special

    wide = np.asarray(x, np.float64)  # in float32 SciPy's is 0 for small numbers
    return special.spherical_jn(1, wide).astype(x.dtype)


def xlog1py(self: Array, other: Array) -> Array:
    """``self * log1p(other)``, 0 where self is 0, NaN where other is; one of them may be a number."""
    from scipy import special

    return special.xlog1py(self, other, dtype=np.result_type(self, other))


#: Around 1 and 2, where the logarithm is 0, it is a power series; so far from them, and of so many terms.
_NEAR, _TERMS = 0.5, 27
#: Below this size 1 / x is no float64, and the gamma function is 1 / x.
_TINY = 1e-300


def lgamma(self: Array) -> Array:
    """The logarithm of the absolute value of the gamma function, to a few units of the result."""
    from scipy import special

    x = np.asarray(self, np.float64)
    result = np.asarray(special.gammaln(x))
    if self.dtype == np.float64:  # a float32 is right without
        near = (x >= 1 - _NEAR) & (x <= 2 + _NEAR)
        result[near] = _lgamma_near(x[near])
        tiny = (np.abs(x) < _TINY) & (x != 0)
        result[tiny] = -np.log(np.abs(x[tiny]))
    result[np.isneginf(x)] = np.inf
    return result.astype(self.dtype, copy=False)


def _lgamma_near(x: Array) -> Array:
    """That of numbers near 1 and 2: of 2 + t a series in zeta(k) - 1, and of 1 + t that less log(1 + t)."""
    below = x < 1.5
    t = x - np.where(below, 1.0, 2.0)
    near = np.zeros_like(t)
    for factor in _lgamma_factors():
        near *= t
        near += factor
    return near - np.where(below, np.log1p(np.where(below, t, 0)), 0)


@functools.cache
def _lgamma_factors() -> list[float]:
    """Those of the series, the last one first."""
    from scipy import special

    powers = np.arange(_TERMS + 1, 1, -1)
    return [*((-1.0) ** powers * special.zetac(powers) / powers).tolist(), 1 - np.euler_gamma, 0.0]


def mvlgamma(self: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function. RuntimeError for a p below 1, or beyond int32."""
    if not 1 <= p < 2**31:
        raise RuntimeError(f"p has to be greater than or equal to 1 and less than 2 ** 31, but got {p}")
    total = lgamma(self) + p * (p - 1) / 4 * math.log(math.pi)
    for j in range(1, p):
        if not np.isfinite(total).any():  # so it stays
            break
        total = total + lgamma(self - j / 2)
    return total


def frexp(self: Array) -> tuple[Array, Array]:
    """The mantissa, and the exponent as int32, which is 0 where ``self`` is not finite."""
    mantissa, exponent = np.frexp(self)
    return mantissa, np.where(np.isfinite(self), exponent, np.int32(0))


_LOG_FLOOR = -100.0  # torch's, so that log(0) does not give infinite losses


def binary_cross_entropy_elements(x: Array, y: Array) -> Array:
    """``-(y log(x) + (1 - y) log(1 - x))``, the logarithms at least -100."""
    loss = np.maximum(np.log1p(-x), _LOG_FLOOR)
    loss *= y - 1
    loss -= np.maximum(np.log(x), _LOG_FLOOR) * y
    return loss


# Zelen and Severo's approximation (Abramowitz and Stegun 26.2.17), in units of the density at 0.
_TAIL_SCALE = 0.2316419
_TAIL = (1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530)


def gelu_cdf(x: Array) -> Array:
    """The standard normal distribution function, of float32 with errors below 4e-7.

    So it is about four times as fast as SciPy's, which is as exact where the function is small.
    """
    if x.dtype != np.float32:
        from scipy.special import ndtr

        return ndtr(x)
    t = np.abs(x)
    t *= _TAIL_SCALE
    t += 1
    t = np.reciprocal(t)
    tail = t * _TAIL[0]
    for coefficient in _TAIL[1:]:
        tail += coefficient
        tail *= t
    falling = x * x
    falling *= -0.5
    tail *= np.exp(falling)
    tail *= -1 / math.sqrt(2 * math.pi)
    tail += 0.5  # the probability between 0 and |x|
    out = np.copysign(tail, x)
    out += 0.5
    return out
