"""Pointwise kernels that one expression over array primitives cannot say.

Operands are arrays of the operator's common dtype or Python numbers that already fit it, and
broadcast against each other. Results have the operands' dtype unless a docstring says
otherwise. float16 and bfloat16 arrive as float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.user_stack import warn_once
from ..fast_paths import operation
from .creation import as_number
from .dtypes import is_complex

Array = Any  # an ndarray, a 0-d result of a ufunc, or a Python number
Mask = Any  # an array of bool
Number = bool | int | float | complex

#: Beyond it not all integers are numbers of float32.
EXACT_INTEGERS = 2.0**24


# -- numbers among the arguments ----------------------------------------------------------


@operation("scale")
def scaled(array: Array, alpha: Number) -> Array:
    """``array * alpha`` in the array's dtype.

    Raises RuntimeError when alpha is of a wider category than the array (a float for integers, a complex
    number for reals), a bool for other than bools, or an integer that the dtype cannot hold.
    """
    return array * _factor(alpha, array.dtype)


def scaled_number(number: Number, alpha: Number, array: Array) -> Any:
    """``number * alpha`` in the array's dtype, in which integers wrap. Raises as ``scaled`` does."""
    dtype = array.dtype
    factor = _factor(alpha, dtype)
    if dtype.kind not in "biu":
        return number * factor
    return np.multiply(np.asarray(number, dtype), np.asarray(factor, dtype))


def _factor(alpha: Number, dtype: np.dtype[Any]) -> Number:
    kind = dtype.kind
    if isinstance(alpha, (float, complex)) and kind in "iub":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if isinstance(alpha, bool) and kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return as_number(alpha, dtype)


@operation("number_like")
def within(value: Number, array: Array) -> Number:
    """``value`` as an integer if the array is of integers. RuntimeError if its dtype cannot hold it."""
    return as_number(value, array.dtype) if array.dtype.kind in "iu" else value


def truth(condition: Array, operator: str, name: str) -> Mask:
    """``condition`` as bool. RuntimeError unless it is of that; of uint8 it is old, as a warning says."""
    dtype = condition.dtype
    if dtype.char == "?":
        return condition
    if dtype.char == "B":
        warn_once(  # as PyTorch
            "uint8 condition",
            f"{operator} received a uint8 {name} tensor. This behavior is deprecated and will be removed in "
            f"a future version. Use a boolean {name} instead.",
        )
        return condition != 0
    expected = f"{operator} expected {name} to be a boolean tensor"
    raise RuntimeError(f"{expected}, but got a tensor with dtype {dtype}")


# -- one operand --------------------------------------------------------------------------


def angle(self: Array) -> Array:
    """The argument of complex numbers (a real array); pi where a real number is negative, NaN where NaN."""
    if self.dtype.kind == "c":
        return np.arctan2(self.imag, self.real)
    return np.where(self != self, self, np.where(self < 0, np.pi, 0)).astype(self.dtype)


def conjugate(self: Array) -> Array:
    """The complex conjugate; what is real is copied."""
    return np.conj(self) if is_complex(self.dtype) else self.copy()


def nan_to_num(self: Array, nan: float | None, posinf: float | None, neginf: float | None) -> Array:
    """What is not finite replaced, in each part of complex numbers."""
    kind = self.dtype.kind
    if kind in "biu" or np.isfinite(self).all():
        return self.copy()
    if kind == "c":
        result = np.empty_like(self)
        result.real = nan_to_num(self.real, nan, posinf, neginf)
        result.imag = nan_to_num(self.imag, nan, posinf, neginf)
        return result
    import ml_dtypes

    limits: Any = ml_dtypes.finfo(self.dtype)  # type: ignore[no-untyped-call]
    result = self.copy()
    result[np.isnan(self)] = 0.0 if nan is None else nan
    result[self == np.inf] = limits.max if posinf is None else posinf
    result[self == -np.inf] = limits.min if neginf is None else neginf
    return result


def rounded(self: Array) -> Array:
    """The nearest integers, halves to even; integers as they are."""
    return self.round()


def sign(self: Array) -> Array:
    """-1, 0 or 1, and 0 for NaN; of complex numbers z / abs(z); bools as they are."""
    kind = self.dtype.kind
    if kind == "b":
        return self.copy()
    result = np.sign(self)
    return np.where(result == result, result, 0) if kind == "f" else result


# -- two and three operands ---------------------------------------------------------------


def clamped(self: Array, min: Array, max: Array) -> Array:
    """Each element brought into [min, max]; where min > max it is max. NotImplementedError for bools."""
    if self.dtype.kind == "b":
        raise NotImplementedError("not implemented for 'Bool' with two bounds")
    return np.minimum(np.maximum(self, min), max)


def _check_divisor(self: Array, other: Array) -> bool:
    """Whether the operands are integers; RuntimeError if then a divisor is 0."""
    if (self if hasattr(self, "dtype") else other).dtype.kind not in "iu":
        return False
    if np.count_nonzero(other) < np.size(other) and np.broadcast(self, other).size:
        raise RuntimeError("ZeroDivisionError")
    return True


def floor_divide(self: Array, other: Array) -> Array:
    """The quotient rounded down. Raises RuntimeError where an integer is divided by 0."""
    _check_divisor(self, other)
    return np.floor_divide(self, other)


def div_rounded(self: Array, other: Array, rounding_mode: str) -> Array:
    """The quotient rounded down (``"floor"``) or towards zero (``"trunc"``), as ``floor_divide``."""
    if rounding_mode == "floor":
        return floor_divide(self, other)
    if not _check_divisor(self, other):
        return np.trunc(np.true_divide(self, other))
    down = np.floor_divide(self, other)
    return down + ((down < 0) & (np.multiply(down, other) != self))


def fmod(self: Array, other: Array) -> Array:
    """The remainder with the sign of ``self``. Raises RuntimeError where an integer is divided by 0."""
    _check_divisor(self, other)
    return np.fmod(self, other)


def remainder(self: Array, other: Array) -> Array:
    """The remainder with the sign of ``other``. Raises RuntimeError where an integer is divided by 0."""
    _check_divisor(self, other)
    return np.remainder(self, other)


def heaviside(self: Array, values: Array) -> Array:
    """0 where negative or NaN, 1 where positive, ``values`` at 0; both of one dtype."""
    return np.where(self == 0, values, self > 0)


def logaddexp(self: Array, other: Array) -> Array:
    """``log(exp(self) + exp(other))``."""
    if self.dtype.kind != "c":
        return np.logaddexp(self, other)
    swap = self.real < other.real
    larger: Array = np.where(swap, other, self)
    smaller: Array = np.where(swap, self, other)
    same_infinity = (larger == smaller) & np.isinf(larger)
    return np.where(same_infinity, larger, larger + np.log1p(np.exp(smaller - larger)))


def power(self: Array, exponent: Array) -> Array:
    """``self ** exponent``; of integers to negative powers the integer part.

    So 1 stays 1, -1 alternates and everything else is 0.
    """
    kind = np.result_type(self, exponent).kind
    if kind == "c":
        return _complex_power(self, exponent)
    if kind == "f" and exponent.size == 1 and exponent.item() == 0.5:
        # NumPy takes the square root for a single exponent: of -0.0 and of -inf that is something else.
        exponent = np.full(np.broadcast_shapes(self.shape, exponent.shape), exponent.item(), exponent.dtype)
    if kind != "i" or np.all(np.greater_equal(exponent, 0)):
        return np.power(self, exponent)
    positive = np.power(self, np.maximum(exponent, 0))
    odd = np.bitwise_and(exponent, 1) == 1
    negative = np.where(np.equal(self, 1), 1, np.where(np.equal(self, -1), np.where(odd, -1, 1), 0))
    return np.where(np.less(exponent, 0), negative, positive).astype(positive.dtype)


def _complex_power(self: Array, exponent: Array | Number) -> Array:
    """``self ** exponent`` of complex numbers, of which one that is infinite to a negative power is 0.

    NumPy multiplies integral powers out, where infinities give NaN.
    """
    result = np.asarray(self**exponent)
    unknown = np.isnan(result)
    if not unknown.any():
        return result
    return np.where(unknown, np.exp(exponent * np.log(self)), result).astype(result.dtype)


def pow_scalar(self: Array, exponent: Number) -> Array:
    """``self ** exponent``. Raises RuntimeError for integers and a negative exponent."""
    kind = self.dtype.kind
    if kind == "b":
        return np.logical_or(self, not exponent)
    if kind in "iu":
        if exponent < 0:  # type: ignore[operator]
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        exponent = as_number(exponent, self.dtype)
    if kind == "c" and exponent.real < 0:
        return _complex_power(self, exponent)
    if self.dtype == np.float32 and abs(exponent) > EXACT_INTEGERS:
        return (self.astype(np.float64) ** exponent).astype(np.float32)  # it may be odd here only
    return self**exponent


def xlogy(self: Array, other: Array) -> Array:
    """``self * log(other)``, 0 where self is 0, NaN where other is; one of them may be a number."""
    dtype = np.result_type(self, other)
    logarithm = np.log(np.asarray(other, dtype))
    return np.where(np.equal(self, 0) & ~np.isnan(other), 0, self * logarithm).astype(dtype)
