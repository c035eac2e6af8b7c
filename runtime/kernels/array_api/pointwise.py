"""Pointwise kernels that one expression cannot say; see ``kernels.pointwise``, whose names these have."""

from __future__ import annotations

from typing import Any

import numpy as np

from .common import Array, as_array, both, is_array, is_bool, is_complex, is_integral, is_real, number_of

Number = bool | int | float | complex
Mask = Any  # an array of bool


def _factor(xp: Any, alpha: Number, dtype: Any) -> Number:
    integral, complex_ = xp.isdtype(dtype, ("integral", "bool")), xp.isdtype(dtype, "complex floating")
    if isinstance(alpha, (float, complex)) and integral:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not complex_:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if isinstance(alpha, bool) and not xp.isdtype(dtype, "bool"):
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    factor: Number = number_of(alpha, dtype, xp)
    return factor


def scaled(xp: Any, array: Array, alpha: Number) -> Array:
    """``array * alpha`` in the array's dtype; RuntimeError for an alpha of a wider category."""
    factor = _factor(xp, alpha, array.dtype)
    return xp.logical_and(array, xp.asarray(factor)) if is_bool(xp, array) else array * factor


def scaled_number(xp: Any, number: Number, alpha: Number, array: Array) -> Any:
    """``number * alpha`` in the array's dtype."""
    factor = _factor(xp, alpha, array.dtype)
    if not xp.isdtype(array.dtype, ("integral", "bool")):
        return number * factor
    return scaled(xp, as_array(xp, number, array), factor)


def within(xp: Any, value: Number, array: Array) -> Number:
    """``value`` as an integer if the array is of integers."""
    number: Number = number_of(value, array.dtype, xp) if is_integral(xp, array) else value
    return number


def truth(xp: Any, condition: Array, operator: str, name: str) -> Mask:
    """``condition`` as truth values. RuntimeError unless it is of bool or uint8."""
    if is_bool(xp, condition):
        return condition
    dtype = condition.dtype
    if dtype == xp.uint8:
        return condition != 0
    expected = f"{operator} expected {name} to be a boolean tensor"
    raise RuntimeError(f"{expected}, but got a tensor with dtype {dtype}")


def angle(xp: Any, self: Array) -> Array:
    """The argument of complex numbers; pi where a real number is negative, NaN where NaN."""
    if is_complex(xp, self):
        return xp.atan2(xp.imag(self), xp.real(self))
    turned = xp.where(self < 0, xp.asarray(np.pi, dtype=self.dtype), xp.zeros_like(self))
    return xp.where(self != self, self, turned)


def conjugate(xp: Any, self: Array) -> Array:
    """The complex conjugate."""
    return xp.conj(self) if is_complex(xp, self) else self


def nan_to_num(xp: Any, self: Array, nan: float | None, posinf: float | None, neginf: float | None) -> Array:
    """What is not finite replaced, in each part of complex numbers."""
    if is_complex(xp, self):
        parts = [nan_to_num(xp, part, nan, posinf, neginf) for part in (xp.real(self), xp.imag(self))]
        return xp.astype(parts[0] + 1j * parts[1], self.dtype)
    if not is_real(xp, self):
        return self
    limits = xp.finfo(self.dtype)
    values = (0.0 if nan is None else nan, limits.max if posinf is None else posinf)
    low = limits.min if neginf is None else neginf
    result = xp.where(xp.isnan(self), as_array(xp, float(values[0]), self), self)
    result = xp.where(self == float("inf"), as_array(xp, float(values[1]), self), result)
    return xp.where(self == -float("inf"), as_array(xp, float(low), self), result)


def rounded(xp: Any, self: Array) -> Array:
    """The nearest integers, halves to even; integers as they are."""
    return xp.round(self) if is_real(xp, self) or is_complex(xp, self) else self


def sign(xp: Any, self: Array) -> Array:
    """-1, 0 or 1, and 0 for NaN; of complex numbers z / abs(z); bools as they are."""
    if is_bool(xp, self):
        return self
    if is_complex(xp, self):
        size = xp.abs(self)
        return self / xp.where(size == 0, xp.ones_like(size), size)
    result = xp.sign(self)
    return xp.where(self == self, result, xp.zeros_like(result))


def clamped(xp: Any, self: Array, min: Array, max: Array) -> Array:
    """Each element brought into [min, max]; where min > max it is max. NotImplementedError for bools."""
    if is_bool(xp, self):
        raise NotImplementedError("not implemented for 'Bool' with two bounds")
    return xp.minimum(xp.maximum(self, min), max)


def floor_divide(xp: Any, self: Any, other: Any) -> Array:
    """The quotient rounded down. An integer divided by 0 is what the library makes of it."""
    a, b = both(xp, self, other)
    return xp.floor_divide(a, b)


def div_rounded(xp: Any, self: Any, other: Any, rounding_mode: str) -> Array:
    """The quotient rounded down (``"floor"``) or towards zero (``"trunc"``)."""
    if rounding_mode == "floor":
        return floor_divide(xp, self, other)
    a, b = both(xp, self, other)
    if not is_integral(xp, a):
        return xp.trunc(a / b)
    down = xp.floor_divide(a, b)
    return down + xp.astype((down < 0) & (down * b != a), down.dtype)


def fmod(xp: Any, self: Any, other: Any) -> Array:
    """The remainder with the sign of ``self``."""
    a, b = both(xp, self, other)
    rest = xp.remainder(xp.abs(a), xp.abs(b))
    return xp.copysign(rest, a) if is_real(xp, a) else xp.where(a < 0, -rest, rest)


def remainder(xp: Any, self: Any, other: Any) -> Array:
    """The remainder with the sign of ``other``."""
    return xp.remainder(*both(xp, self, other))


def heaviside(xp: Any, self: Array, values: Array) -> Array:
    """0 where negative or NaN, 1 where positive, ``values`` at 0; both of one dtype."""
    return xp.where(self == 0, values, xp.astype(self > 0, values.dtype))


def logaddexp(xp: Any, self: Array, other: Array) -> Array:
    """``log(exp(self) + exp(other))``."""
    if not is_complex(xp, self):
        return xp.logaddexp(self, other)
    swap = xp.real(self) < xp.real(other)
    larger, smaller = xp.where(swap, other, self), xp.where(swap, self, other)
    same = (larger == smaller) & xp.isinf(larger)
    return xp.where(same, larger, larger + xp.log1p(xp.exp(smaller - larger)))


def power(xp: Any, self: Any, exponent: Any) -> Array:
    """``self ** exponent``; of integers to negative powers the integer part."""
    a, b = both(xp, self, exponent)
    if is_bool(xp, a):
        return xp.logical_or(a, xp.logical_not(b))
    if not is_integral(xp, a) or a.dtype == xp.uint8:
        return xp.pow(a, b)
    a, b = xp.broadcast_arrays(a, b)
    positive = xp.pow(a, xp.where(b < 0, xp.zeros_like(b), b))
    one, zero = xp.ones_like(a), xp.zeros_like(a)
    alternating = xp.where(xp.remainder(b, 2 * one) == 1, -one, one)
    negative = xp.where(a == 1, one, xp.where(a == -1, alternating, zero))
    return xp.where(b < 0, negative, positive)


def pow_scalar(xp: Any, self: Array, exponent: Number) -> Array:
    """``self ** exponent``. Raises RuntimeError for integers and a negative exponent."""
    if is_bool(xp, self):
        return xp.logical_or(self, xp.asarray(not exponent))
    if is_integral(xp, self):
        if exponent < 0:  # type: ignore[operator]
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        exponent = int(exponent)  # type: ignore[arg-type]
    if exponent == 2:
        return self * self
    return xp.pow(self, as_array(xp, exponent, self))


def xlogy(xp: Any, self: Any, other: Any) -> Array:
    """``self * log(other)``, 0 where self is 0, NaN where other is; one of them may be a number."""
    a, b = xp.broadcast_arrays(*both(xp, self, other))
    return xp.where((a == 0) & (b == b), xp.zeros_like(a), a * xp.log(b))


def xlog1py(xp: Any, self: Any, other: Any) -> Array:
    """``self * log1p(other)``, 0 where self is 0, NaN where other is."""
    a, b = xp.broadcast_arrays(*both(xp, self, other))
    return xp.where((a == 0) & (b == b), xp.zeros_like(a), a * xp.log1p(b))


def threshold_values(xp: Any, self: Array, threshold: Number, value: Number) -> Array:
    """``self`` where it is above the threshold or NaN, else ``value``."""
    return xp.where(self <= threshold, as_array(xp, value, self), self)


def complex_of(xp: Any, real: Array, imag: Array) -> Array:
    """Complex numbers of their parts."""
    return real + 1j * imag if is_array(real) else real


def polar(xp: Any, abs: Array, angle: Array) -> Array:
    """Complex numbers of absolute values and arguments."""
    return abs * xp.cos(angle) + 1j * (abs * xp.sin(angle))
