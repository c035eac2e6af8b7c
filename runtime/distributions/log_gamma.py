"""Logarithms of gamma functions, of large arguments too: their differences, without the cancellation.

``lgamma`` of 1e4 is 8e4, so in float32 a difference of two is wrong in the third digit. What Stirling's
formula leaves is small for large arguments, and the rest of a difference can be written without cancellation.
"""

from __future__ import annotations

import math
from typing import Final

from tengen.generated.functions import abs, exp, lgamma, log, log1p, where

from ..tensors.tensor import Tensor

HALF_LOG_2PI: Final = 0.5 * math.log(2 * math.pi)

# B[2k] / (2k (2k - 1)), the coefficients of Stirling's series.
_SERIES: Final = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_LARGE: Final = 10.0  # from here on the seven terms give all digits of a float64


def stirling_remainder(x: Tensor) -> Tensor:
    """``lgamma(x) - ((x - 0.5) * log(x) - x + 0.5 * log(2 pi))``, for ``x > 0``; at 0 it is inf."""
    large = x > _LARGE
    inverse = 1 / where(large, x, _LARGE)
    square = inverse * inverse
    series = _SERIES[-1] * square
    for coefficient in _SERIES[-2:0:-1]:
        series = (series + coefficient) * square
    small = where(large, _LARGE, x)
    difference = lgamma(small) - (small - 0.5) * log(small) + small - HALF_LOG_2PI
    return where(large, (series + _SERIES[0]) * inverse, difference)


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """``lgamma(a) + lgamma(b) - lgamma(a + b)``, for positive ``a`` and ``b``."""
    total = a + b
    remainders = stirling_remainder(a) + stirling_remainder(b) - stirling_remainder(total)
    powers = (0.5 - a) * log1p(b / a) + (0.5 - b) * log1p(a / b)
    return powers - 0.5 * log(total) + HALF_LOG_2PI + remainders


def deviance(x: Tensor, mean: Tensor, log_mean: Tensor) -> Tensor:
    """``x * log(x / mean) + mean - x``, for ``x > 0``: small where they are close, without cancellation.

    ``log_mean`` is the logarithm of ``mean``, which may be 0 where that is finite.
    """
    away = (mean - x) / x
    near = abs(away) < 0.3
    # log1p(y) - y is 2 * atanh(r) - y with r = y / (2 + y), and 2 * r - y is -r * y.
    y = where(near, away, 0)
    r = y / (2 + y)
    square = r * r
    series: Tensor | float = 1 / 23
    for k in range(21, 1, -2):
        series = series * square + 1 / k
    close = x * r * (y - 2 * square * series)
    return where(near, close, x * (log(x) - log_mean) + (mean - x))


def log_binomial(count: Tensor, rest: Tensor, log_p: Tensor, log_q: Tensor) -> Tensor:
    """The logarithm of ``binom(count + rest, count) * p**count * q**rest``, where ``q`` is ``1 - p``.

    By the distances of ``count`` and ``rest`` from what is expected: powers and coefficient would cancel.
    """
    inside = (count > 0) & (rest > 0)
    k, m = where(inside, count, 1), where(inside, rest, 1)
    n = k + m
    log_n = log(n)
    remainders = stirling_remainder(n) - stirling_remainder(k) - stirling_remainder(m)
    sizes = 0.5 * (log_n - log(k) - log(m)) - HALF_LOG_2PI
    distances = deviance(k, n * exp(log_p), log_n + log_p) + deviance(m, n * exp(log_q), log_n + log_q)
    return where(inside, remainders + sizes - distances, count * log_p + rest * log_q)
