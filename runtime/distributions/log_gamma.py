"""Logarithms of gamma functions, of large arguments too: their differences, without the cancellation.

``lgamma`` of 1e4 is 8e4, so in float32 a difference of two is wrong in the third digit. What Stirling's
formula leaves is small for large arguments, and the rest of a difference can be written without cancellation.
"""

from __future__ import annotations

import math
from typing import Final

from tengen.generated.functions import lgamma, log, log1p, where

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
