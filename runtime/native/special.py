"""Special functions that are no plain function of SciPy; it is imported on first use."""

from __future__ import annotations

from typing import Any

Array = Any


def polygamma(n: int, self: Array) -> Array:
    """The n-th derivative of digamma. Raises RuntimeError for a negative n."""
    from scipy import special

    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return special.psi(self)
    return special.polygamma(n, self).astype(self.dtype)
