"""What the standard defines for bools or numbers alone, or not for NaN, and NumPy for all: these go before a
library's own."""

from __future__ import annotations

from typing import Any


def logical_and(xp: Any, x: Any, y: Any) -> Any:
    return _true(xp, x) & _true(xp, y)


def logical_or(xp: Any, x: Any, y: Any) -> Any:
    return _true(xp, x) | _true(xp, y)


def logical_xor(xp: Any, x: Any, y: Any) -> Any:
    return _true(xp, x) ^ _true(xp, y)


def logical_not(xp: Any, x: Any) -> Any:
    return x == 0 if not xp.isdtype(x.dtype, "bool") else ~x


def max(xp: Any, x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The greatest over ``axis``, NaN where there is one; bools are greatest where one is true."""
    return _extreme(xp, xp.library.max, xp.any, x, axis, keepdims)


def min(xp: Any, x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The least over ``axis``, NaN where there is one; bools are least where one is not true."""
    return _extreme(xp, xp.library.min, xp.all, x, axis, keepdims)


def _extreme(xp: Any, of_numbers: Any, of_bools: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    if xp.isdtype(x.dtype, "bool"):
        return of_bools(x, axis=axis, keepdims=keepdims)
    found = of_numbers(x, axis=axis, keepdims=keepdims)
    if xp.propagates_nan or not xp.isdtype(x.dtype, "real floating"):
        return found
    return xp.where(xp.any(x != x, axis=axis, keepdims=keepdims), xp.scalar(float("nan"), x.dtype), found)


def _true(xp: Any, x: Any) -> Any:
    if not hasattr(x, "dtype"):
        return xp.asarray(bool(x))
    return x if xp.isdtype(x.dtype, "bool") else x != 0
