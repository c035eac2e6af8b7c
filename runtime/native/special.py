"""Special functions that are no plain function of SciPy; it is imported on first use."""

from __future__ import annotations

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
    return special.polygamma(n, self).astype(self.dtype)


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

    return special.spherical_jn(1, x).astype(x.dtype)


def xlog1py(self: Array, other: Array) -> Array:
    """``self * log1p(other)``, 0 where self is 0, NaN where other is; one of them may be a number."""
    from scipy import special

    return special.xlog1py(self, other, dtype=np.result_type(self, other))


def mvlgamma(self: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function. RuntimeError for a p below 1."""
    from scipy import special

    if p < 1:
        raise RuntimeError(f"p has to be greater than or equal to 1, but got {p}")
    total = special.gammaln(self) + p * (p - 1) / 4 * math.log(math.pi)
    for j in range(1, p):
        total = total + special.gammaln(self - j / 2)
    return total


def frexp(self: Array) -> tuple[Array, Array]:
    """The mantissa, and the exponent as int32, which is 0 where ``self`` is not finite."""
    mantissa, exponent = np.frexp(self)
    return mantissa, np.where(np.isfinite(self), exponent, np.int32(0))
