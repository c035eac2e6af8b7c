"""What the derivative formulas of pointwise operators call.

Tensor-level and differentiable: everything here is made of declared operators.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


def conj_number(number: Number) -> Number:
    """The conjugate of a Python number; a real one as it is."""
    return number.conjugate() if isinstance(number, complex) else number


# -- one operand --------------------------------------------------------------------------

#: The square of what is below it is nothing beside 1; a quotient of two such numbers may have lost digits.
NEAR_ZERO = 1e-20


def angle_backward(grad: Tensor, self: Tensor) -> Tensor:
    """1j * z / abs(z) ** 2, and 0 at 0; for real numbers 0."""
    if not self.is_complex():
        return F.zeros_like(grad)
    at_zero = self == 0
    return F.where(at_zero, 0, grad * 1j / F.where(at_zero, 1, self).conj())


def angle_jvp(self: Tensor, self_t: Tensor) -> Tensor:
    """The imaginary part of the relative change."""
    if not self.is_complex():
        return F.zeros_like(self_t)
    at_zero = self == 0
    return F.imag(F.where(at_zero, 0, self_t / F.where(at_zero, 1, self)))


def asinh_backward(grad: Tensor, self: Tensor) -> Tensor:
    """``grad / sqrt(z * z + 1)``, by a hypotenuse or scaled by abs(z), for the square may leave the range."""
    if not self.is_complex():
        return grad / F.hypot(self, self.new_ones(()))
    scale = self.abs().clamp_min(1)
    return grad * ((self / scale).square() + scale.reciprocal().square()).rsqrt().conj() / scale


def i1_backward(grad: Tensor, self: Tensor, order_0: Tensor, order_1: Tensor) -> Tensor:
    """The derivative of a Bessel function of order 1: ``i0 - i1 / x``, and 0.5 at and near 0."""
    at_zero = self.abs() <= NEAR_ZERO
    divisor = F.where(at_zero, 1, self)
    return grad * F.where(at_zero, 0.5, order_0 - order_1 / divisor)


#: From here on scaled Bessel functions of order 0 and 1 are so near to each other that a series is nearer.
_FAR, _TERMS = 32, 16


def _gaps() -> list[float]:
    """How far the coefficients of the asymptotic series of order 0 and 1 are apart, the later ones first."""
    zero, one, found = 1.0, 1.0, []
    for k in range(1, _TERMS + 1):
        square = (2 * k - 1) ** 2
        zero, one = zero * -square / (8 * k), one * (4 - square) / (8 * k)
        found.append(one - zero)
    return found[::-1]


_GAPS = _gaps()


def _far_gap(self: Tensor, near: Tensor, scale: float, sign: int) -> Tensor:
    """``near``, and from ``_FAR`` on ``sqrt(scale / x)`` times the series of gaps, in ``sign / x``.

    What is left out of it there is less than 1e-14 of the sum; for NaN it is NaN.
    """
    far = self.clamp_min(_FAR)
    total: Any = 0
    for gap in _GAPS:
        total = (total * sign + gap) / far
    return F.where(self < _FAR, near, total * (scale / far).sqrt())


def scaled_bessel_i_gap(self: Tensor, order_0: Tensor, order_1: Tensor) -> Tensor:
    """``i0e - i1e`` of numbers that are not negative, without losing it where both are nearly equal."""
    return _far_gap(self, order_0 - order_1, 0.5 / math.pi, -1)


def scaled_bessel_k_gap(self: Tensor, order_0: Tensor, order_1: Tensor) -> Tensor:
    """``k1e - k0e`` (``special.scaled_modified_bessel_k1`` and ``k0``), likewise."""
    return _far_gap(self, order_1 - order_0, 0.5 * math.pi, 1)


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    """The sum of ``digamma(self - j / 2)`` for j below p."""
    halves = F.arange(p, dtype=self.dtype, device=self.device) / 2
    return grad * (self.unsqueeze(-1) - halves).digamma().sum(-1)


def sgn_backward(grad: Tensor, self: Tensor, sgn: Tensor) -> Tensor:
    """What of ``grad`` turns ``sgn``: its part across it, over abs(z); 0 at 0 and for real numbers.

    The tangent has the same formula.
    """
    if not self.is_complex():
        return F.zeros_like(grad)
    modulus = self.abs()
    at_zero = modulus == 0
    along = F.real(grad * sgn.conj())
    return F.where(at_zero, 0, (grad - sgn * along) / F.where(at_zero, 1, modulus))


# -- clamp --------------------------------------------------------------------------------


def _inside(self: Tensor, min: Any, max: Any) -> Tensor:
    """Where no bound moves an element: inside them and on them."""
    inside: Tensor = self <= max if min is None else self >= min
    if min is not None and max is not None:
        inside = inside.logical_and(self <= max)
    return inside


def clamp_backward(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    """The gradient where no bound moves an element."""
    return F.where(_inside(self, min, max), grad, 0)


def _at_bound(self: Tensor, min: Tensor | None, max: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Where the lower bound is the result, and where the upper one is."""
    at_min = None if min is None else self < min
    at_max = None if max is None else self > max
    if min is not None and max is not None and at_min is not None and at_max is not None:
        crossed = max < min
        at_min = at_min.logical_and(crossed.logical_not())
        at_max = at_max.logical_or(crossed)
    return at_min, at_max


def clamp_bounds_backward(
    grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None, grad_input_mask: tuple[bool, bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the bounds; where they are equal the lower one has none, as it does not bind alone."""
    masks = _at_bound(self, min, max)
    if min is not None and max is not None and masks[0] is not None:
        masks = masks[0].logical_and(min < max), masks[1]
    low, high = [
        F.where(mask, grad, 0) if wanted and mask is not None else None
        for mask, wanted in zip(masks, grad_input_mask, strict=True)
    ]
    return low, high


def clamp_jvp(
    self: Tensor,
    self_t: Tensor,
    min: Tensor | None,
    min_t: Tensor | None,
    max: Tensor | None,
    max_t: Tensor | None,
) -> Tensor:
    """The tangent of whichever operand is the result."""
    at_min, at_max = _at_bound(self, min, max)
    tangent = self_t
    if at_min is not None:
        tangent = F.where(at_min, 0 if min_t is None else min_t, tangent)
    if at_max is not None:
        tangent = F.where(at_max, 0 if max_t is None else max_t, tangent)
    return tangent


# -- pow ----------------------------------------------------------------------------------


def pow_exponent_backward(grad: Tensor, self: Tensor | Number, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of ``self ** exponent`` for the exponent; 0 where 0 is raised to what is not negative."""
    if not isinstance(self, Tensor):
        self = F.scalar_tensor(self, dtype=result.dtype, device=result.device)
    at_zero = self == 0
    if not exponent.is_complex():
        at_zero = at_zero.logical_and(exponent >= 0)
    return F.where(at_zero, 0, grad * (result * self.log()).conj())
