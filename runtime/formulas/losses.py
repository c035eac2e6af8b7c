"""What the derivative formulas of losses call.

Tensor-level and differentiable: everything here is made of declared operators.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ..composite.losses import apply_reduction
from ..kernels.nn.common import MEAN, broadcast_shape, loss_scale

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def gradient_of_elements(grad: Tensor, reduction: int, *operands: Tensor | None) -> Tensor:
    """The gradient of each element of a loss; what is one for all stays one, 0-d."""
    if reduction != MEAN:
        return grad
    return grad * loss_scale(reduction, prod(broadcast_shape([x.shape for x in operands if x is not None])))


def reduced(elements: Tensor, reduction: int) -> Tensor:
    """``elements`` as they are (0), their mean (1) or their sum (2)."""
    return apply_reduction(elements, reduction)
