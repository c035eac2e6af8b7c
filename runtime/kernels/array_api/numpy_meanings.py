"""What the standard defines for bools alone, and NumPy for all numbers: these go before a library's own."""

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


def _true(xp: Any, x: Any) -> Any:
    if not hasattr(x, "dtype"):
        return xp.asarray(bool(x))
    return x if xp.isdtype(x.dtype, "bool") else x != 0
