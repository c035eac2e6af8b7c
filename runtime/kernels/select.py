"""One of two arrays by a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.costs import SELECT_LARGE

Array = Any  # an ndarray, or the 0-d result of a ufunc

_INTEGERS: dict[int, Any] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
#: Numbers that arrays of a kind have no room for.
_WIDER: dict[str, tuple[type, ...]] = {"f": (complex,), "i": (float, complex), "u": (float, complex)}


def select(mask: Array, a: Array | complex, b: Array | complex) -> Array:
    """``np.where(mask, a, b)`` of one dtype; a number takes that of the other operand.

    np.where branches on every element, which on a mask without pattern costs ten times what the
    arithmetic on bits does that takes its place for large arrays: ``b ^ ((a ^ b) & mask)``.
    """
    if mask.size < SELECT_LARGE:
        return np.where(mask, a, b)
    array: Array = a if isinstance(a, np.ndarray) else b
    integer = _INTEGERS.get(array.dtype.itemsize) if isinstance(array, np.ndarray) else None
    if integer is None:
        return np.where(mask, a, b)
    first, second = (_bits(operand, array.dtype, mask.shape, integer) for operand in (a, b))
    if first is None or second is None:
        return np.where(mask, a, b)
    bits = mask.astype(integer, order="C")
    if first.ndim == 0 and not first:
        bits -= 1  # all bits set where the mask is not
        bits &= second
    else:
        np.negative(bits, out=bits)  # all bits set where the mask is
        if second.ndim == 0 and not second:
            bits &= first
        else:
            bits &= first ^ second
            bits ^= second
    out: Array = bits.view(array.dtype)
    return out


def _bits(
    operand: Array | complex,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    integer: Any,
) -> Array | None:
    """The bits of an operand of a dtype and a shape, or of one element; None for another operand."""
    if not isinstance(operand, np.ndarray):
        if isinstance(operand, _WIDER.get(dtype.kind, ())):
            return None
        operand = np.asarray(operand, dtype)
    elif operand.dtype != dtype or (operand.ndim and operand.shape != shape):
        return None
    return np.asarray(operand, order="C").view(integer)
