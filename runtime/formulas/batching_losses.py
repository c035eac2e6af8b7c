"""What the batching rules of losses call. Every tensor is a value, its dimension 0 is the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def _folded(log_probs: Tensor) -> Tensor:
    """(B, T, N, C) as (T, B * N, C)."""
    count, steps, batch, classes = log_probs.shape
    return log_probs.movedim(0, 1).reshape((steps, count * batch, classes))


def _first(self: Tensor) -> Tensor:
    """(B, N, ...) as (B * N, ...)."""
    return self.reshape((self.shape[0] * self.shape[1], *self.shape[2:]))


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
