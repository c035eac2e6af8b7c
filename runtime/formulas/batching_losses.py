"""What the batching rules of losses call. Every tensor is a value, its dimension 0 is the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from .batching_nn import nll_loss_backward_decomposition, nll_loss_decomposition

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def _folded(log_probs: Tensor) -> Tensor:
    """(B, T, N, C) as (T, B * N, C)."""
    count, steps, batch, classes = log_probs.shape
    return log_probs.movedim(0, 1).reshape((steps, count * batch, classes))


def _first(self: Tensor) -> Tensor:
    """(B, N, ...) as (B * N, ...)."""
    return self.reshape((self.shape[0] * self.shape[1], *self.shape[2:]))


def cross_entropy_decomposition(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, ...]:
    """``_fused_cross_entropy`` of one slice; what its gradient needs is nothing."""
    log_probabilities = self.log_softmax(self.ndim - 1)
    nothing = self.new_zeros(0)
    pair = nll_loss_decomposition(log_probabilities, target, weight, reduction, ignore_index)
    return (*pair, nothing, nothing)


def cross_entropy_backward_decomposition(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """``_fused_cross_entropy_backward`` of one slice."""
    dim = self.ndim - 1
    picked = nll_loss_backward_decomposition(
        grad_output, self, target, weight, reduction, ignore_index, total_weight
    )
    return picked - self.softmax(dim) * picked.sum(dim, True)


def ctc_loss_each(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
    zero_infinity: bool,
) -> tuple[Tensor, Tensor]:
    """``_ctc_loss``: the sequences of all slices are one batch."""
    count = len(log_probs)
    lengths = list(input_lengths) * count, list(target_lengths) * count
    loss, alpha = F._ctc_loss(_folded(log_probs), _first(targets), *lengths, blank, zero_infinity)
    return loss.reshape((count, -1)), alpha.reshape((count, -1, *alpha.shape[1:]))
