"""float8: numbers of eight bits, and how those of float32 are rounded to them.

The formats are those of the OCP and of Graphcore, AMD and Qualcomm (``fnuz``). What is too large for one
becomes what PyTorch makes of it.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final, NamedTuple

import numpy as np

from .cpu import empty_strided
from .layout import preserved_strides
from .strided import element_strides

Array = np.ndarray[Any, Any]


class _Format(NamedTuple):
    """How bits mean numbers: a sign, an exponent and a fraction, as in IEEE 754."""

    fraction: int  # bits
    bias: int
    largest: int  # the bits of the largest finite number
    beyond: int  # of what is larger, after rounding
    nan: int
    signed: bool  # whether zero and NaN have a sign

    @property
    def infinite(self) -> bool:
        """Whether there are infinities."""
        return self.beyond not in (self.largest, self.nan)


@functools.cache
def _format(dtype: np.dtype[Any]) -> _Format | None:
    """The format of a dtype of ml_dtypes; None of powers of two, which have no fraction.

    What is too large becomes infinity, where there is one; else NaN, where that takes the place of a negative
    zero; else the largest number.
    """
    import ml_dtypes

    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    if not info.nmant:
        return None
    given = np.array([float(info.max), np.inf, -0.0], dtype)
    largest, infinity, zero = given.view(np.uint8).tolist()
    signed = zero != 0
    nan = 0x7F if signed else 0x80
    beyond = infinity if np.isinf(given[1]) else largest if signed else nan
    return _Format(info.nmant, 1 - int(info.minexp), largest, beyond, nan, signed)


_FRACTION, _BIAS = 23, 127  # of float32
_FLOAT32: Final = np.dtype(np.float32)
_INFINITY: Final = np.uint32(0x7F800000)


def holds(value: float, dtype: np.dtype[Any]) -> bool:
    """Whether a number may be made one of a float8 dtype: NaN, or one between the least and the greatest."""
    import ml_dtypes

    if math.isinf(value):
        form = _format(dtype)
        return form is not None and form.infinite
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return value != value or min(float(limits.min), 0.0) <= value <= float(limits.max)


def to_float32(codes: Array) -> Array:
    """Numbers of a float8 dtype, which float32 has too, densely in the same order of dimensions."""
    found = empty_strided(codes.shape, preserved_strides(codes.shape, element_strides(codes)), _FLOAT32)
    found[...] = codes
    form = _format(codes.dtype)
    if form is not None and not form.signed:  # the bit that is a sign elsewhere
        np.copyto(found, np.float32(np.nan), where=np.isnan(found))
    return found


def to_float8(values: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers of float32 as the nearest ones of a float8 dtype, ties to even, in the same layout."""
    bits = values.view(np.uint32)
    bits = bits if bits.ndim else bits.reshape(1)  # of 0-d arrays there would come numbers
    form = _format(dtype)
    made = _exponents(bits) if form is None else _rounded(bits, form)
    found: Array = (made if values.ndim else made.reshape(())).view(dtype)
    return found


def _rounded(bits: Array, form: _Format) -> Array:
    magnitude = bits & np.uint32(0x7FFFFFFF)
    dropped = _FRACTION - form.fraction
    half = np.uint32((1 << dropped - 1) - 1)
    found = magnitude + ((magnitude >> np.uint32(dropped)) & np.uint32(1)) + half >> np.uint32(dropped)
    found -= np.uint32(_BIAS - form.bias << form.fraction)  # wraps for the subnormal ones, which follow
    # A number whose last bit is worth as much as that of the subnormal ones: adding to it rounds to these.
    unit = np.array(_BIAS - form.bias + 1 + dropped << _FRACTION, np.uint32)
    added = magnitude.view(np.float32) + unit.view(np.float32)
    smallest_normal = np.uint32(_BIAS - form.bias + 1 << _FRACTION)
    np.copyto(found, added.view(np.uint32) - unit, where=magnitude < smallest_normal)
    np.copyto(found, np.uint32(form.beyond), where=found > np.uint32(form.largest))
    np.copyto(found, np.uint32(form.nan), where=magnitude > _INFINITY)
    sign = bits >> np.uint32(24) & np.uint32(0x80)
    found |= sign if form.signed else np.where(found == 0, np.uint32(0), sign)
    return found.astype(np.uint8)


def _exponents(bits: Array) -> Array:
    """Powers of two, without a sign: of a tie the larger one, of 0 the smallest; NaN beyond the largest."""
    magnitude = bits & np.uint32(0x7FFFFFFF)
    exponent, fraction = magnitude >> np.uint32(_FRACTION), magnitude & np.uint32(0x7FFFFF)
    half = np.uint32(1 << _FRACTION - 1)
    # Of float32's subnormal numbers 2 ** -127, half of the smallest normal one, is itself the smallest power
    # of two; all above it are rounded up, as in PyTorch.
    up = (fraction > half) | ((fraction == half) & (exponent > 0))
    found: Array = np.minimum(exponent + up, np.uint32(0xFF)).astype(np.uint8)
    return found
