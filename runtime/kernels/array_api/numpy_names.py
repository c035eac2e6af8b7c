"""What NumPy's namespace has beside the array API standard, made of the standard's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

LN2 = 0.6931471805599453


def rint(xp: Any, x: Any) -> Any:
    return xp.round(x)


def exp2(xp: Any, x: Any) -> Any:
    return xp.exp(x * LN2)


def fmax(xp: Any, x: Any, y: Any) -> Any:
    x, y = xp.broadcast_arrays(x, y)
    return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.maximum(x, y)))


def fmin(xp: Any, x: Any, y: Any) -> Any:
    x, y = xp.broadcast_arrays(x, y)
    return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.minimum(x, y)))


def logaddexp2(xp: Any, x: Any, y: Any) -> Any:
    return xp.logaddexp(x * LN2, y * LN2) / LN2


def sinc(xp: Any, x: Any) -> Any:
    y = xp.where(x == 0, 1.0e-20, x) * 3.141592653589793
    return xp.sin(y) / y


def gcd(xp: Any, x: Any, y: Any) -> Any:
    return _on_host(xp, np.gcd, x, y)


def lcm(xp: Any, x: Any, y: Any) -> Any:
    return _on_host(xp, np.lcm, x, y)


def ldexp(xp: Any, x: Any, y: Any) -> Any:
    return x * exp2(xp, y)


def _on_host(xp: Any, function: Any, x: Any, y: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, y.shape)
    return xp.on_host(function, [(shape, x.dtype)], x, y)[0]
