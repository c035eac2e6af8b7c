"""The ONNX forms of what pointwise kernels are made of.

Those of primitives are named in primitives.yaml; those of the functions of runtime/kernels that kernels call
have the same names. Operands are values or Python's numbers, and are computed in the dtypes in which the
array namespace computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.promotion import promote_types
from ..core.scalar_type import bool_, dtype, float64, int8, int32
from ..kernels.pointwise import EXACT_INTEGERS
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .symbolics import cast, floating, floats, number, shape_of, together, widened


def _kind(value: Ref) -> dtype:
    """The dtype of what is computed of a value: an array namespace computes with bools as int8."""
    return int8 if value.dtype is bool_ else value.dtype


def _by_kind(x: Any, y: Any, of_bools: Callable[..., Ref], of_numbers: Callable[..., Ref]) -> Ref:
    a, b = together(x, y)
    return of_bools(a, b) if a.dtype is bool_ else of_numbers(a, b)


# -- arithmetic --------------------------------------------------------------------------------------


def add(x: Any, y: Any) -> Ref:
    """The sum; of bools, whether one is true."""
    return _by_kind(x, y, onnx.Or, onnx.Add)


def multiply(x: Any, y: Any) -> Ref:
    """The product; of bools, whether both are true."""
    return _by_kind(x, y, onnx.And, onnx.Mul)


def square(x: Ref) -> Ref:
    """The product with itself; of bools, which are no numbers, as int8."""
    value = cast(x, _kind(x))
    return multiply(value, value)


def scaled(value: Any, alpha: Any) -> Any:
    """``value * alpha``, where the factor 1 costs nothing."""
    if not isinstance(alpha, Ref) and alpha == 1:
        return value
    return multiply(value, constant(alpha, value.dtype) if isinstance(value, Ref) else alpha)


def scaled_number(number: Any, alpha: Any, array: Ref) -> Any:
    """``number * alpha`` in the dtype of a value, in which integers wrap."""
    kind = array.dtype.array_dtype
    if kind.kind not in "biu":
        return number * alpha
    product = np.multiply(np.asarray(number).astype(kind), np.asarray(alpha).astype(kind))
    return constant(product, array.dtype)


def within(value: Any, array: Ref) -> Any:
    """A number as an integer if the other value is of integers."""
    return int(value) if array.dtype.category == "integral" else value


def divide(x: Any, y: Any) -> Ref:
    """The quotient, of floating numbers."""
    a, b = together(x, y)
    made: Ref = onnx.Div(_double(a), _double(b))
    return made


def floor_divide(x: Any, y: Any) -> Ref:
    """The quotient rounded down."""
    made: Ref = div_rounded(x, y, "floor")
    return made


@widened
def div_rounded(x: Any, y: Any, rounding_mode: str) -> Ref:
    """The quotient rounded down ("floor") or to zero ("trunc")."""
    x, y = together(x, y)
    if x.dtype.is_floating_point:
        return trunc(onnx.Div(x, y)) if rounding_mode == "trunc" else _floor_quotient(x, y)
    a, b = number(x), number(y)
    quotient = onnx.Div(a, b)
    if rounding_mode == "floor" and a.dtype.is_signed:
        # ONNX rounds to zero: one less where there is a rest of another sign than the divisor's.
        quotient = quotient - cast(onnx.And(differs(a, quotient * b), differs_in_sign(a, b)), quotient.dtype)
    return cast(quotient, _kind(x))


def _floor_quotient(a: Ref, b: Ref) -> Ref:
    """The quotient of floating numbers rounded down: what the divisor goes into without its rest.

    The quotient itself may be rounded up, to the next integer.
    """
    rest = onnx.Mod(a, b, fmod=1)
    whole = onnx.Round((a - rest) / b)
    less = onnx.And(differs(rest, 0), differs_in_sign(rest, b))
    made: Ref = onnx.Where(onnx.Equal(b, 0), a / b, whole - cast(less, a.dtype))
    return made


def differs(a: Any, b: Any) -> Ref:
    """Whether two values are not equal."""
    made: Ref = onnx.Not(onnx.Equal(a, b))
    return made


def differs_in_sign(a: Ref, b: Ref) -> Ref:
    """Whether one of two numbers is negative."""
    made: Ref = onnx.Xor(onnx.Less(a, 0), onnx.Less(b, 0))
    return made


@widened
def remainder(x: Any, y: Any) -> Ref:
    """The rest of a division, with the sign of the divisor."""
    a, b = together(x, y)
    if not a.dtype.is_floating_point:
        return cast(onnx.Mod(number(a), number(b)), _kind(a))
    rest = onnx.Mod(a, b, fmod=1)
    adjust = onnx.And(differs(rest, 0), differs_in_sign(rest, b))
    made: Ref = onnx.Where(adjust, rest + b, rest)
    return made


def fmod(x: Any, y: Any) -> Ref:
    """The rest of a division, with the sign of the dividend."""
    a, b = together(x, y)
    return cast(onnx.Mod(number(a), number(b), fmod=1), _kind(a))


def power(x: Any, y: Any) -> Ref:
    """The first to the power of the second; of bools as int8."""
    if not isinstance(y, Ref) and not isinstance(y, bool) and y == 2:
        return square(x)
    a, b = together(x, y)
    return cast(onnx.Pow(number(a), number(b)), _kind(a))


def pow_scalar(x: Ref, exponent: Any) -> Ref:
    """The value to the power of a number; of bools, whether it is not 0."""
    if x.dtype is bool_:
        return add(x, not exponent)
    if x.dtype.is_floating_point and x.dtype is not float64 and abs(exponent) > EXACT_INTEGERS:
        return cast(power(cast(x, float64), exponent), x.dtype)  # it may be odd there only
    return power(x, exponent)


@widened
def hypot(x: Any, y: Any) -> Ref:
    """The length of (x, y), infinite where one of them is, whatever the other is."""
    a, b = floats(x, y)
    infinite = onnx.Or(onnx.IsInf(a), onnx.IsInf(b))
    made: Ref = onnx.Where(infinite, constant(math.inf, a.dtype), onnx.Sqrt(a * a + b * b))
    return made


# -- numbers, bits and truth -------------------------------------------------------------------------


def conjugate(x: Ref) -> Ref:
    """The value itself, which is real."""
    if x.dtype.is_complex:
        raise Unsupported("ONNX does not compute with complex numbers")
    return x


def conj(x: Ref) -> Ref:
    """The value itself, which is real; of bools as int8."""
    return cast(conjugate(x), _kind(x))


def maximum(x: Any, y: Any) -> Ref:
    """The larger of two; NaN where one is."""
    return _by_kind(x, y, onnx.Or, onnx.Max)


def minimum(x: Any, y: Any) -> Ref:
    """The smaller of two; NaN where one is."""
    return _by_kind(x, y, onnx.And, onnx.Min)


def fmax(x: Any, y: Any) -> Ref:
    """The larger of two, the other where one is NaN."""
    a, b = together(x, y)
    return _quiet(a, b, maximum(a, b))


def fmin(x: Any, y: Any) -> Ref:
    """The smaller of two, the other where one is NaN."""
    a, b = together(x, y)
    return _quiet(a, b, minimum(a, b))


def _quiet(a: Ref, b: Ref, chosen: Ref) -> Ref:
    if not a.dtype.is_floating_point:
        return chosen
    made: Ref = onnx.Where(onnx.IsNaN(a), b, onnx.Where(onnx.IsNaN(b), a, chosen))
    return made


def clamp(x: Any, min: Any, max: Any) -> Ref:
    """The value between two bounds, either of which may be None; the upper one wins."""
    if min is not None:
        x = maximum(x, min)
    if max is not None:
        x = minimum(x, max)
    made: Ref = x
    return made


def bitwise_and(x: Any, y: Any) -> Ref:
    """The bits that both have."""
    return _by_kind(x, y, onnx.And, onnx.BitwiseAnd)


def bitwise_or(x: Any, y: Any) -> Ref:
    """The bits that one has."""
    return _by_kind(x, y, onnx.Or, onnx.BitwiseOr)


def bitwise_xor(x: Any, y: Any) -> Ref:
    """The bits in which both differ."""
    return _by_kind(x, y, onnx.Xor, onnx.BitwiseXor)


def invert(x: Ref) -> Ref:
    """The bits that the value has not."""
    made: Ref = onnx.Not(x) if x.dtype is bool_ else onnx.BitwiseNot(x)
    return made


def float_test(x: Ref, test: str) -> Ref:
    """IsNaN or IsInf; False for all integers."""
    if x.dtype.is_floating_point:
        made: Ref = getattr(onnx, test)(x)
        return made
    made = onnx.Expand(constant(False, bool_), shape_of(x))
    return made


def isfinite(x: Ref) -> Ref:
    """Whether neither NaN nor infinite."""
    made: Ref = onnx.Not(onnx.Or(float_test(x, "IsNaN"), float_test(x, "IsInf")))
    return made


def signbit(x: Ref) -> Ref:
    """Whether the sign is a minus, of zeros too."""
    made: Ref = onnx.Less(number(x), 0)
    if x.dtype.is_floating_point:
        made = onnx.Or(made, onnx.Less(onnx.Reciprocal(x), 0))
    return made


@widened
def copysign(x: Any, y: Any) -> Ref:
    """The absolute value of the first with the sign of the second."""
    a, b = floats(x, y)
    size = onnx.Abs(a)
    made: Ref = onnx.Where(signbit(b), -size, size)
    return made


def sign(x: Ref) -> Ref:
    """-1, 0 or 1, and 0 for NaN; bools as they are."""
    if x.dtype is bool_:
        return x
    made: Ref = onnx.Sign(x)
    return onnx.Where(onnx.IsNaN(x), constant(0, x.dtype), made) if x.dtype.is_floating_point else made


def signum(x: Ref) -> Ref:
    """-1, 0 or 1, and NaN for NaN."""
    made: Ref = onnx.Sign(x)
    return onnx.Where(onnx.IsNaN(x), x, made) if x.dtype.is_floating_point else made


def _double(x: Ref) -> Ref:
    return x if x.dtype.is_floating_point else cast(x, float64)


def angle(x: Ref) -> Ref:
    """pi for negative numbers, 0 for others, NaN for NaN."""
    value = floating(x)
    kind = value.dtype
    turned = onnx.Where(onnx.Less(value, 0), constant(math.pi, kind), constant(0, kind))
    made: Ref = onnx.Where(onnx.IsNaN(value), value, turned)
    return made


def heaviside(x: Any, y: Any) -> Ref:
    """0 below 0 and for NaN, 1 above, the second operand at 0."""
    a, b = (number(v) for v in together(x, y))
    positive = cast(onnx.Greater(a, 0), a.dtype)
    made: Ref = onnx.Where(onnx.Equal(a, 0), b, positive)
    return made


def nan_to_num(x: Ref, nan: float | None, posinf: float | None, neginf: float | None) -> Ref:
    """Numbers in place of NaN and infinities."""
    if not x.dtype.is_floating_point:
        return x
    limit = np.finfo(x.dtype.array_dtype).max if x.dtype.category == "floating" else None
    if limit is None and (posinf is None or neginf is None):
        raise Unsupported(f"of {x.dtype} only with posinf and neginf")
    high = constant(limit if posinf is None else posinf, x.dtype)
    low = constant(-limit if neginf is None else neginf, x.dtype)  # type: ignore[operator]
    out = onnx.Where(onnx.IsNaN(x), constant(nan or 0.0, x.dtype), x)
    out = onnx.Where(onnx.IsInf(x, detect_negative=0), high, out)
    made: Ref = onnx.Where(onnx.IsInf(x, detect_positive=0), low, out)
    return made


def isin_symbolic(element: Any, test_elements: Any, invert: bool) -> Ref:
    """Whether each element is one of some."""
    kind = (element if isinstance(element, Ref) else test_elements).dtype
    if isinstance(element, Ref) and isinstance(test_elements, Ref):
        kind = promote_types(element.dtype, test_elements.dtype)
    values, tests = number(cast(element, kind)), number(cast(test_elements, kind))
    same = onnx.Equal(onnx.Unsqueeze(values, [-1]), onnx.Reshape(tests, [-1]))
    if isinstance(test_elements, Ref) and 0 in test_elements.shape:
        raise Unsupported("there is nothing to look among")
    found = cast(onnx.ReduceMax(cast(same, int32), [-1], keepdims=0), bool_)
    made: Ref = onnx.Not(found) if invert else found
    return made


# -- rounding ----------------------------------------------------------------------------------------


def ceil(x: Ref) -> Ref:
    """Rounded up; integers as they are."""
    made: Ref = onnx.Ceil(x) if x.dtype.is_floating_point else x
    return made


def floor(x: Ref) -> Ref:
    """Rounded down; integers as they are."""
    made: Ref = onnx.Floor(x) if x.dtype.is_floating_point else x
    return made


def trunc(x: Ref) -> Ref:
    """The integral part."""
    if not x.dtype.is_floating_point:
        return x
    made: Ref = onnx.Where(onnx.Less(x, 0), onnx.Ceil(x), onnx.Floor(x))
    return made


def rounded(x: Ref) -> Ref:
    """The nearest integers, halves to even; integers as they are, bools as float16."""
    value = floating(x) if x.dtype is bool_ else x
    made: Ref = onnx.Round(value) if value.dtype.is_floating_point else value
    return made


# -- functions ---------------------------------------------------------------------------------------


def exp2(x: Ref) -> Ref:
    """2 to the power of the value."""
    value = floating(x)
    made: Ref = onnx.Pow(constant(2, value.dtype), value)
    return made


@widened
def arctan2(x: Any, y: Any) -> Ref:
    """The angle of the point (y, x)."""
    a, b = floats(x, y)
    infinite = onnx.And(onnx.IsInf(a), onnx.IsInf(b))
    nothing = onnx.And(onnx.Equal(a, 0), onnx.Equal(b, 0))
    slope = onnx.Where(infinite, onnx.Sign(a) * onnx.Sign(b), a / b)
    angle = onnx.Atan(onnx.Where(nothing, constant(0, a.dtype), slope))
    turned = onnx.Where(signbit(a), angle - math.pi, angle + math.pi)
    made: Ref = onnx.Where(signbit(b), turned, angle)
    return made


def logaddexp(x: Any, y: Any) -> Ref:
    """``log(exp(x) + exp(y))``."""
    made: Ref = _logaddexp(x, y, math.e)
    return made


def logaddexp2(x: Any, y: Any) -> Ref:
    """``log2(2**x + 2**y)``."""
    made: Ref = _logaddexp(x, y, 2)
    return made


@widened
def _logaddexp(x: Any, y: Any, base: float) -> Ref:
    a, b = floats(x, y)
    factor = math.log(base)
    high = onnx.Max(a, b)
    low = onnx.Min(a, b)
    same = onnx.Equal(high, low)  # infinities would make NaN of their difference
    rest = onnx.Where(same, constant(0, a.dtype), low - high)
    made: Ref = high + onnx.Log(onnx.Exp(scaled(rest, factor)) + 1) * (1 / factor)
    return made


@widened
def sinc(x: Ref) -> Ref:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    value = _double(x)
    angle = value * math.pi
    nothing = onnx.Equal(value, 0)
    made: Ref = onnx.Where(nothing, constant(1, value.dtype), onnx.Sin(angle) / angle)
    return made


@widened
def xlogy(x: Any, y: Any) -> Ref:
    """``x * log(y)``, 0 where the first is, NaN where the second is."""
    a, b = floats(x, y)
    nothing = onnx.And(onnx.Equal(a, 0), onnx.Not(onnx.IsNaN(b)))
    made: Ref = onnx.Where(nothing, constant(0, a.dtype), a * onnx.Log(b))
    return made
