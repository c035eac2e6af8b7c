"""Functions of each element."""

from __future__ import annotations

from tengen.generated import functions as _f

from ..tensors.tensor import Tensor
from .operands import Operand, operands, scalar_tensor, with_scalar


def abs(x: Tensor, /) -> Tensor:
    """The absolute values; of complex numbers, the real moduli."""
    return _f.abs(x)


def acos(x: Tensor, /) -> Tensor:
    """The inverse cosines."""
    return _f.acos(x)


def acosh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic cosines."""
    return _f.acosh(x)


def add(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 + x2``."""
    return _f.add(*operands("add", x1, x2))


def asin(x: Tensor, /) -> Tensor:
    """The inverse sines."""
    return _f.asin(x)


def asinh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic sines."""
    return _f.asinh(x)


def atan(x: Tensor, /) -> Tensor:
    """The inverse tangents."""
    return _f.atan(x)


def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """The angles of the points ``(x2, x1)``, from -pi to pi."""
    return _f.atan2(*operands("atan2", x1, x2))


def atanh(x: Tensor, /) -> Tensor:
    """The inverse hyperbolic tangents."""
    return _f.atanh(x)


def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Each bit's conjunction."""
    return _f.bitwise_and(*operands("bitwise_and", x1, x2))


def bitwise_invert(x: Tensor, /) -> Tensor:
    """Each bit inverted."""
    return _f.bitwise_not(x)


def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 << x2``."""
    return _f.bitwise_left_shift(*operands("bitwise_left_shift", x1, x2))


def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Each bit's disjunction."""
    return _f.bitwise_or(*operands("bitwise_or", x1, x2))


def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 >> x2``, with the sign kept."""
    return _f.bitwise_right_shift(*operands("bitwise_right_shift", x1, x2))


def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Each bit's exclusive disjunction."""
    return _f.bitwise_xor(*operands("bitwise_xor", x1, x2))


def ceil(x: Tensor, /) -> Tensor:
    """The least integers not below the elements, in the dtype of ``x``."""
    return _f.ceil(x)


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """The elements brought between ``min`` and ``max``, which broadcast with ``x`` and take its dtype."""
    low, high = (_bound(x, b) for b in (min, max))
    if low is None and high is None:
        return _f.clone(x)
    return _f.clamp(x, low, high)


def _bound(x: Tensor, bound: Operand | None) -> Tensor | None:
    if bound is None or isinstance(bound, Tensor):
        return bound
    return scalar_tensor(bound, with_scalar(x.dtype, bound), x)


def conj(x: Tensor, /) -> Tensor:
    """The complex conjugates."""
    return _f.conj_physical(x)


def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """The magnitudes of ``x1`` with the signs of ``x2``."""
    return _f.copysign(*operands("copysign", x1, x2))


def cos(x: Tensor, /) -> Tensor:
    """The cosines of the elements."""
    return _f.cos(x)


def cosh(x: Tensor, /) -> Tensor:
    """The hyperbolic cosines."""
    return _f.cosh(x)


def divide(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 / x2``."""
    return _f.true_divide(*operands("divide", x1, x2))


def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether ``x1 == x2``, elementwise."""
    return _f.eq(*operands("equal", x1, x2))


def exp(x: Tensor, /) -> Tensor:
    """The exponentials of the elements."""
    return _f.exp(x)


def expm1(x: Tensor, /) -> Tensor:
    """``exp(x) - 1``, accurate near zero."""
    if not x.is_complex():
        return _f.expm1(x)
    found = _f.where(_f.isfinite(x), _f.expm1(x), _f.exp(x) - 1)
    return _f.complex(_f.real(found) + 0.0, _f.imag(found))  # a zero is positive


def floor(x: Tensor, /) -> Tensor:
    """The greatest integers not above the elements, in the dtype of ``x``."""
    return _f.floor(x)


def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 / x2``, rounded down."""
    return _f.floor_divide(*operands("floor_divide", x1, x2))


def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether ``x1 > x2``."""
    return _f.gt(*operands("greater", x1, x2))


def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether ``x1 >= x2``."""
    return _f.ge(*operands("greater_equal", x1, x2))


def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """``sqrt(x1**2 + x2**2)``."""
    return _f.hypot(*operands("hypot", x1, x2))


def imag(x: Tensor, /) -> Tensor:
    """The imaginary parts, of a complex array."""
    return _f.clone(_f.imag(x))


def isfinite(x: Tensor, /) -> Tensor:
    """Whether elements are finite numbers."""
    return _f.isfinite(x)


def isinf(x: Tensor, /) -> Tensor:
    """Whether elements are infinite."""
    return _f.isinf(x)


def isnan(x: Tensor, /) -> Tensor:
    """Whether elements are NaN."""
    return _f.isnan(x)


def less(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether ``x1 < x2``."""
    return _f.lt(*operands("less", x1, x2))


def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether ``x1 <= x2``."""
    return _f.le(*operands("less_equal", x1, x2))


def log(x: Tensor, /) -> Tensor:
    """The natural logarithms."""
    return _f.log(x)


def log10(x: Tensor, /) -> Tensor:
    """The logarithms to base 10."""
    return _f.log10(x)


def log1p(x: Tensor, /) -> Tensor:
    """``log(1 + x)``, accurate near zero."""
    return _f.log1p(x)


def log2(x: Tensor, /) -> Tensor:
    """The logarithms to base 2."""
    return _f.log2(x)


def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """``log(exp(x1) + exp(x2))``."""
    return _f.logaddexp(*operands("logaddexp", x1, x2))


def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether both are true."""
    return _f.logical_and(*operands("logical_and", x1, x2))


def logical_not(x: Tensor, /) -> Tensor:
    """Whether elements are false."""
    return _f.logical_not(x)


def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether one is true."""
    return _f.logical_or(*operands("logical_or", x1, x2))


def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether one alone is true."""
    return _f.logical_xor(*operands("logical_xor", x1, x2))


def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """The greater of both; NaN where one is."""
    return _f.maximum(*operands("maximum", x1, x2))


def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """The smaller of both; NaN where one is."""
    return _f.minimum(*operands("minimum", x1, x2))


def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 * x2``."""
    return _f.mul(*operands("multiply", x1, x2))


def negative(x: Tensor, /) -> Tensor:
    """The elements with the other sign."""
    return _f.negative(x)


def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """The next numbers after ``x1`` towards ``x2``."""
    return _f.nextafter(*operands("nextafter", x1, x2))


def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether ``x1 != x2``."""
    return _f.ne(*operands("not_equal", x1, x2))


def positive(x: Tensor, /) -> Tensor:
    """The elements, copied."""
    return _f.clone(x)


def pow(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 ** x2``."""
    return _f.pow(*operands("pow", x1, x2))


def real(x: Tensor, /) -> Tensor:
    """The real parts; of a real array, the array."""
    return _f.clone(_f.real(x)) if x.is_complex() else _f.clone(x)


def reciprocal(x: Tensor, /) -> Tensor:
    """``1 / x``."""
    return _f.reciprocal(x)


def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """The remainders of ``x1 / x2``, with the sign of ``x2``."""
    return _f.remainder(*operands("remainder", x1, x2))


def round(x: Tensor, /) -> Tensor:
    """The nearest integers, halves to even, in the dtype of ``x``."""
    if not x.is_complex():
        return _f.round(x)
    return _f.complex(_f.round(_f.real(x)), _f.round(_f.imag(x)))


def sign(x: Tensor, /) -> Tensor:
    """The signs -1, 0 and 1; of complex numbers ``x / abs(x)``."""
    return _f.where(x == x, _f.sgn(x), x) if x.is_floating_point() else _f.sgn(x)


def signbit(x: Tensor, /) -> Tensor:
    """Whether the sign bit is set, also of zeros and NaN."""
    return _f.signbit(x)


def sin(x: Tensor, /) -> Tensor:
    """The sines of the elements."""
    return _f.sin(x)


def sinh(x: Tensor, /) -> Tensor:
    """The hyperbolic sines."""
    return _f.sinh(x)


def sqrt(x: Tensor, /) -> Tensor:
    """The square roots."""
    return _f.sqrt(x)


def square(x: Tensor, /) -> Tensor:
    """The squares of the elements."""
    return _f.square(x)


def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    """``x1 - x2``."""
    return _f.sub(*operands("subtract", x1, x2))


def tan(x: Tensor, /) -> Tensor:
    """The tangents of the elements."""
    return _f.tan(x)


def tanh(x: Tensor, /) -> Tensor:
    """The hyperbolic tangents."""
    if not x.is_complex():
        return _f.tanh(x)
    real, imag = _f.real(x), _f.imag(x)
    limits = _f.complex(_f.sgn(real), _f.copysign(_f.zeros_like(imag), imag))
    return _f.where(_f.isinf(real) & _f.isfinite(imag), limits, _f.tanh(x))


def trunc(x: Tensor, /) -> Tensor:
    """The elements without their fractions, in the dtype of ``x``."""
    return _f.trunc(x)
