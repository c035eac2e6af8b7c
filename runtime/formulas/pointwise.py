"""What the derivative formulas of ``clamp`` call.

Tensor-level and differentiable: everything here is made of declared operators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


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
