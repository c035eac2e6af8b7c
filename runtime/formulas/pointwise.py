"""What the derivative formulas of pointwise operators call.

Tensor-level and differentiable: everything here is made of declared operators.
"""

from __future__ import annotations

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
