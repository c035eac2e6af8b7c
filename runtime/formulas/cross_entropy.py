"""The derivatives of the cross entropy of logits with classes beyond the first, and those of forward mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def cross_entropy_jvp(
    self: Tensor, self_t: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """The tangent of the loss of logits (N, C) or (C)."""
    dim = self.ndim - 1
    centred = self_t - (self_t * self.softmax(dim)).sum(dim, True)
    return F.nll_loss(centred, target, weight, reduction, ignore_index)


def cross_entropy_curvature(
    vector: Tensor,
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """The loss's second derivative for the logits, times a vector of their shape."""
    dim = self.ndim - 1
    picked = F.nll_loss_backward(grad_output, self, target, weight, reduction, ignore_index, total_weight)
    slope = -picked.sum(dim, True)
    return F._softmax_backward_data(vector * slope, self.softmax(dim), dim, self.dtype)
