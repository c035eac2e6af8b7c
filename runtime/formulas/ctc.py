"""What the derivative formulas of connectionist temporal classification call: its gradient over Tensors.

The kernels of ``kernels/nn/ctc.py`` compute the same over arrays; here each step is an operator, so that the
gradient has derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..tensors.creation import tensor

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

#: The logarithm of what is as good as nothing: of -inf the derivatives would be NaN.
NOTHING = -1e30


def _states(targets: Tensor, lengths: Sequence[int], blank: int) -> Tensor:
    """The class of each state, (N, 2 S + 1); blanks behind those of a shorter sequence."""
    longest = max(lengths, default=0)
    rows = targets.split(list(lengths)) if targets.ndim == 1 else targets.unbind(0)
    labels = [
        F.constant_pad_nd(row[:length], (0, longest - length), blank)
        for row, length in zip(rows, lengths, strict=True)
    ]
    padded = F.stack(labels).unsqueeze(2) if labels else targets.new_empty((0, longest, 1))
    pairs = F.cat([F.full_like(padded, blank), padded], 2).flatten(1)
    return F.constant_pad_nd(pairs, (0, 1), blank)


def _shifted(states: Tensor, by: int, fill: float) -> Tensor:
    """Each state in the place of one behind it, of which there may be none."""
    return F.constant_pad_nd(states, (by, 0), fill)[..., : states.shape[-1]]


def _stepped(state: Tensor, skip: Tensor) -> Tensor:
    """Sums, as logarithms, over what goes to each state: itself, the last and perhaps the last but one."""
    last = _shifted(state, 1, NOTHING)
    last_but_one = F.where(skip, _shifted(state, 2, NOTHING), NOTHING)
    return state.logaddexp(last).logaddexp(last_but_one)


def ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    """The gradient for ``log_probs``: minus the probability of each class at a time, given the labels."""
    steps = log_probs.shape[0]
    if not log_probs.numel():
        return F.zeros_like(log_probs)
    states = _states(targets, target_lengths, blank)
    count = states.shape[1]
    changed = states != _shifted(states, 2, blank)
    skip = changed.logical_and(states != blank)
    device = log_probs.device
    place = F.arange(count, device=device)
    ends = 2 * tensor(list(target_lengths), device=device).unsqueeze(1)
    is_end = (place == ends).logical_or((place == ends - 1).logical_and(ends > 0))
    time = tensor(list(input_lengths), device=device)
    emitted = log_probs.clamp(min=NOTHING).gather(2, states.expand((steps, *states.shape)))
    first = F.where(place < 2, emitted[0], NOTHING)
    forwards = [first]
    for t in range(1, steps):
        forwards.append(_stepped(forwards[-1], skip) + emitted[t])
    # Backwards the states are reversed, and with them what skips.
    turned = _shifted(skip.flip(1), 2, False)
    now = F.full_like(first, NOTHING)
    later, backwards = now, []
    for t in reversed(range(steps)):
        now = _stepped(later.flip(1), turned).flip(1) if t < steps - 1 else now
        now = F.where((time == t + 1).unsqueeze(1).logical_and(is_end), 0, now)
        backwards.append(now)
        later = now + emitted[t]
    path = F.stack(forwards) + F.stack(backwards[::-1])
    # All paths go through some state at the first step.
    share = (path - path[0].logsumexp(1, True)).exp()
    possible = path > NOTHING / 2
    share = F.where(possible, share, 0)
    out = F.zeros_like(log_probs).scatter_add(2, states.expand(share.shape), -share) * grad.unsqueeze(1)
    within = (F.arange(steps, device=device).unsqueeze(1) < time).unsqueeze(2)
    impossible = (neg_log_likelihood == float("inf")).unsqueeze(1)
    out = F.where(within.logical_and(impossible), 0.0 if zero_infinity else float("nan"), out)
    return F.where(within, out, 0)
