"""What symbolics in the declarations call: casts, arithmetic and other elementwise operators.

Arguments are Refs where the operator's are tensors, and Python's values otherwise; operands that promote
have been cast to their common dtype. ``result`` has the dtype and the shape of what the operator gives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tengen.onnx.builder import Ref, constant, onnx
from tengen.onnx.errors import Unsupported
from tengen.promotion import promote_types
from tengen.scalar_type import bool_, dtype, int32, int64


def cast(value: Any, to: dtype) -> Ref:
    """The value in another dtype; itself if it has that."""
    if not isinstance(value, Ref):
        return constant(value, to)
    made: Ref = value if value.dtype is to else onnx.Cast(value, to=to)
    return made


def truth(value: Any) -> Ref:
    """Whether each element is not zero."""
    return cast(value, bool_)


def number(value: Any) -> Any:
    """The value as what ONNX computes with: bools, which it does not, as int32."""
    if isinstance(value, bool):
        return int(value)
    return cast(value, int32) if isinstance(value, Ref) and value.dtype is bool_ else value


def scaled(value: Any, factor: Any) -> Any:
    """``value * factor``, where the factor 1 costs nothing."""
    if not isinstance(factor, Ref) and factor == 1:
        return value
    return value * factor if isinstance(value, Ref) or not isinstance(factor, Ref) else factor * value


def add(self: Any, other: Any, alpha: Any) -> Ref:
    """``self + alpha * other``; of bools, whether one is true."""
    if isinstance(self, Ref) and self.dtype is bool_:
        made: Ref = onnx.Or(self, truth(other)) if alpha else self
        return made
    made = self + scaled(other, alpha)
    return made


def mul(self: Ref, other: Any) -> Ref:
    """The product; of bools, whether both are true."""
    made: Ref = onnx.And(self, truth(other)) if self.dtype is bool_ else self * other
    return made


def maximum(self: Ref, other: Any) -> Ref:
    """The larger of two; NaN where one is."""
    made: Ref = (
        onnx.Or(self, truth(other)) if self.dtype is bool_ else onnx.Max(self, constant(other, self.dtype))
    )
    return made


def minimum(self: Ref, other: Any) -> Ref:
    """The smaller of two; NaN where one is."""
    made: Ref = (
        onnx.And(self, truth(other)) if self.dtype is bool_ else onnx.Min(self, constant(other, self.dtype))
    )
    return made


def bitwise(self: Any, other: Any, of_bools: Any, of_ints: Any) -> Ref:
    """A bitwise operator of ints, or the logical one of bools."""
    made: Ref = (of_bools if (self if isinstance(self, Ref) else other).dtype is bool_ else of_ints)()
    return made


def bitwise_and(self: Any, other: Any) -> Ref:
    """The bits that both have."""
    kind = (self if isinstance(self, Ref) else other).dtype
    a, b = cast(self, kind), cast(other, kind)
    made: Ref = onnx.And(a, b) if kind is bool_ else onnx.BitwiseAnd(a, b)
    return made


def bitwise_or(self: Any, other: Any) -> Ref:
    """The bits that one has."""
    kind = (self if isinstance(self, Ref) else other).dtype
    a, b = cast(self, kind), cast(other, kind)
    made: Ref = onnx.Or(a, b) if kind is bool_ else onnx.BitwiseOr(a, b)
    return made


def bitwise_xor(self: Any, other: Any) -> Ref:
    """The bits in which both differ."""
    kind = (self if isinstance(self, Ref) else other).dtype
    a, b = cast(self, kind), cast(other, kind)
    made: Ref = onnx.Xor(a, b) if kind is bool_ else onnx.BitwiseXor(a, b)
    return made


def divided(self: Any, other: Any, rounding_mode: str | None) -> Ref:
    """The quotient, rounded down ("floor"), to zero ("trunc") or not at all."""
    kind = (self if isinstance(self, Ref) else other).dtype
    if kind.is_floating_point:
        quotient = onnx.Div(constant(self, kind), constant(other, kind))
        if rounding_mode is None:
            return quotient  # type: ignore[no-any-return]
        return trunc(quotient) if rounding_mode == "trunc" else onnx.Floor(quotient)
    a, b = number(constant(self, kind)), number(constant(other, kind))
    quotient = onnx.Div(a, b)
    if rounding_mode == "floor" and kind.is_signed:
        # ONNX rounds to zero: one less where there is a rest of another sign than the divisor's.
        quotient = quotient - cast(onnx.And(differs(a, quotient * b), differs_in_sign(a, b)), quotient.dtype)
    return cast(quotient, kind)


def differs(a: Any, b: Any) -> Ref:
    """Whether two values are not equal."""
    made: Ref = onnx.Not(onnx.Equal(a, b))
    return made


def differs_in_sign(a: Ref, b: Ref) -> Ref:
    """Whether one of two numbers is negative."""
    made: Ref = onnx.Xor(onnx.Less(a, 0), onnx.Less(b, 0))
    return made


def trunc(self: Ref) -> Ref:
    """The integral part."""
    if not self.dtype.is_floating_point:
        return self
    made: Ref = onnx.Where(onnx.Less(self, 0), onnx.Ceil(self), onnx.Floor(self))
    return made


def remainder(self: Any, other: Any) -> Ref:
    """The rest of a division, with the sign of the divisor."""
    kind = (self if isinstance(self, Ref) else other).dtype
    a, b = constant(self, kind), constant(other, kind)
    if not kind.is_floating_point:
        return cast(onnx.Mod(number(a), number(b)), kind)
    rest = onnx.Mod(a, b, fmod=1)
    adjust = onnx.And(differs(rest, 0), differs_in_sign(rest, b))
    made: Ref = onnx.Where(adjust, rest + b, rest)
    return made


def fmod(self: Ref, other: Any) -> Ref:
    """The rest of a division, with the sign of the dividend."""
    return cast(onnx.Mod(number(self), number(constant(other, self.dtype)), fmod=1), self.dtype)


def atan2(self: Ref, other: Ref) -> Ref:
    """The angle of the point (other, self)."""
    angle = onnx.Atan(self / other)
    turned = onnx.Where(onnx.Less(self, 0), angle - math.pi, angle + math.pi)
    straight = onnx.Where(onnx.Less(other, 0), turned, angle)
    nothing = onnx.And(onnx.Equal(self, 0), onnx.Equal(other, 0))
    made: Ref = onnx.Where(nothing, constant(0, self.dtype), straight)
    return made


def logaddexp(self: Ref, other: Ref, base: float = math.e) -> Ref:
    """``log(base**self + base**other)`` for any base."""
    factor = math.log(base)
    high = onnx.Max(self, other)
    low = onnx.Min(self, other)
    same = onnx.Equal(high, low)  # infinities would make NaN of their difference
    rest = onnx.Where(same, constant(0, self.dtype), low - high)
    made: Ref = high + onnx.Log(onnx.Exp(scaled(rest, factor)) + 1) * (1 / factor)
    return made


def xlogy(self: Any, other: Any) -> Ref:
    """``self * log(other)``, 0 where ``self`` is, NaN where ``other`` is."""
    kind = (self if isinstance(self, Ref) else other).dtype
    a, b = constant(self, kind), constant(other, kind)
    nothing = onnx.And(onnx.Equal(a, 0), onnx.Not(onnx.IsNaN(b)))
    made: Ref = onnx.Where(nothing, constant(0, kind), a * onnx.Log(b))
    return made


def clamped(self: Any, low: Any, high: Any) -> Ref:
    """The value between two bounds, either of which may be None; the upper one wins."""
    if low is not None:
        self = maximum(self, low)
    if high is not None:
        self = minimum(self, high)
    made: Ref = onnx.Identity(self)
    return made


def power(self: Any, exponent: Any) -> Ref:
    """``self`` to the power of ``exponent``, both of one dtype."""
    kind = (self if isinstance(self, Ref) else exponent).dtype
    if not isinstance(exponent, Ref) and exponent == 2:
        return mul(self, self)
    a, b = number(constant(self, kind)), number(constant(exponent, kind))
    return cast(onnx.Pow(a, b), kind)


def nan_to_num(self: Ref, nan: float | None, posinf: float | None, neginf: float | None) -> Ref:
    """Numbers in place of NaN and infinities."""
    if not self.dtype.is_floating_point:
        return self
    limit = np.finfo(self.dtype.array_dtype).max if self.dtype.category == "floating" else None
    if limit is None and (posinf is None or neginf is None):
        raise Unsupported(f"of {self.dtype} only with posinf and neginf")
    high = constant(limit if posinf is None else posinf, self.dtype)
    low = constant(-limit if neginf is None else neginf, self.dtype)  # type: ignore[operator]
    out = onnx.Where(onnx.IsNaN(self), constant(nan or 0.0, self.dtype), self)
    out = onnx.Where(onnx.IsInf(self, detect_negative=0), high, out)
    made: Ref = onnx.Where(onnx.IsInf(self, detect_positive=0), low, out)
    return made


def logit(self: Ref, eps: float | None) -> Ref:
    """``log(p / (1 - p))``, of p kept away from 0 and 1 by ``eps``."""
    p = self if eps is None else clamped(self, eps, 1 - eps)
    made: Ref = onnx.Log(p / (1 - p))
    return made


def sinc(self: Ref) -> Ref:
    """``sin(pi x) / (pi x)``, 1 at 0."""
    angle = self * math.pi
    nothing = onnx.Equal(self, 0)
    made: Ref = onnx.Where(nothing, constant(1, self.dtype), onnx.Sin(angle) / angle)
    return made


def float_test(self: Ref, test: str) -> Ref:
    """IsNaN or IsInf; False for all integers."""
    if self.dtype.is_floating_point:
        made: Ref = getattr(onnx, test)(self)
        return made
    return zeros(self)


def zeros(self: Ref) -> Ref:
    """False of the shape of ``self``."""
    made: Ref = onnx.Expand(constant(False, bool_), shape_of(self))
    return made


def shape_of(value: Ref) -> Ref:
    """The shape as a value: a constant where it is known."""
    if value.shape is not None and None not in value.shape:
        return constant(list(value.shape) or np.zeros(0, np.int64), int64 if value.shape else None)
    made: Ref = onnx.Shape(value)
    return made


def int_vector(values: Any) -> Ref:
    """A list of ints as a value."""
    return constant(list(values)) if len(values) else constant(np.zeros(0, np.int64))


def quiet(self: Ref, other: Ref, larger: bool) -> Ref:
    """The larger or smaller of two, and the other where one is NaN."""
    chosen = onnx.Max(self, other) if larger else onnx.Min(self, other)
    if not self.dtype.is_floating_point:
        made: Ref = chosen
        return made
    made = onnx.Where(onnx.IsNaN(self), other, onnx.Where(onnx.IsNaN(other), self, chosen))
    return made


def heaviside(self: Ref, values: Ref) -> Ref:
    """0 below 0, 1 above, ``values`` at 0."""
    positive = cast(onnx.Greater(self, 0), self.dtype)
    made: Ref = onnx.Where(onnx.Equal(self, 0), values, positive)
    return made


def rounded(self: Ref, decimals: int) -> Ref:
    """Rounded to so many places behind the point; halves to even."""
    factor = 10.0 ** abs(decimals)
    if decimals >= 0:
        made: Ref = onnx.Round(self * factor) / factor
        return made
    made = onnx.Round(self / factor) * factor
    return made


def negative(self: Ref) -> Ref:
    """Whether the sign is a minus, of zeros too."""
    made: Ref = onnx.Less(number(self), 0)
    if self.dtype.is_floating_point:
        made = onnx.Or(made, onnx.Less(onnx.Reciprocal(self), 0))
    return made


def with_sign(self: Ref, other: Any) -> Ref:
    """The absolute value with another one's sign."""
    size = onnx.Abs(self)
    made: Ref = onnx.Where(negative(constant(other, self.dtype)), -size, size)
    return made


def angle(self: Ref, result: Any) -> Ref:
    """pi for negative numbers, 0 for others, NaN for NaN."""
    value = cast(self, result.dtype)
    turned = onnx.Where(onnx.Less(value, 0), constant(math.pi, result.dtype), constant(0, result.dtype))
    made: Ref = onnx.Where(onnx.IsNaN(value), value, turned)
    return made


def among(element: Any, test_elements: Any, invert: bool) -> Ref:
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
