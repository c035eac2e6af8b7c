"""Connectionist temporal classification: the likelihood of label sequences, and its gradient.

Labels are extended by a blank before, behind and between them: 2 S + 1 *states*. An alignment goes from
state to state, one each step of time; it stays, goes on by one, or skips a blank between different labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .common import Array


def ctc_shape(
    log_probs: Any, targets: Any, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> tuple[int, int, int]:
    """The batch size, the steps of time and the number of states; also used on Meta.

    Raises RuntimeError for lengths and sizes that do not fit, and for a blank that is no class.
    """
    if log_probs.ndim != 3:
        raise RuntimeError(f"log_probs must be (T, N, C), but got {list(log_probs.shape)}")
    if 0 in log_probs.shape:
        raise RuntimeError(f"log_probs must have elements, but its shape is {list(log_probs.shape)}")
    steps, batch, classes = log_probs.shape
    if targets.dtype.char not in "lqi":
        raise RuntimeError(f"expected targets to be int64 or int32, but got {targets.dtype}")
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range: from 0 to {classes - 1}, but got {blank}")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size {batch}, but got {len(lengths)}")
        if lengths and min(lengths) < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(lengths)}")
    if input_lengths and max(input_lengths) > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value {max(input_lengths)}"
        )
    longest = max(target_lengths, default=0)
    if targets.ndim == 1:
        fits = targets.shape[0] == sum(target_lengths)
    else:
        fits = targets.ndim == 2 and targets.shape[0] == batch and targets.shape[1] >= longest
    if not fits:
        raise RuntimeError(
            f"Expected targets of size [{sum(target_lengths)}] or [{batch}, {longest} or more], but got "
            f"{list(targets.shape)}"
        )
    return batch, steps, 2 * longest + 1


def _states(targets: Array, lengths: Sequence[int], blank: int, count: int, classes: int) -> Array:
    """The class of each state, (N, 2 S + 1); blanks behind those of a shorter sequence."""
    out: Array = np.full((len(lengths), count), blank, np.int64)
    start = 0
    for row, length in enumerate(lengths):
        labels = targets[start : start + length] if targets.ndim == 1 else targets[row, :length]
        out[row, 1 : 2 * length : 2] = labels
        start += length
    if out.size and (out.min() < 0 or out.max() >= classes):
        bad = out[(out < 0) | (out >= classes)]
        raise RuntimeError(f"targets must be from 0 to {classes - 1}, but got {int(bad[0])}")
    return out


def _skippable(states: Array, blank: int) -> Array:
    """Whether a state may be reached from the last but one: it is a label, and another one."""
    out = np.zeros(states.shape, np.bool_)
    out[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return out


def _emissions(log_probs: Array, states: Array) -> Array:
    """The log probability of each state at each time, (T, N, 2 S + 1)."""
    every = np.broadcast_to(states[None], (log_probs.shape[0], *states.shape))
    return np.take_along_axis(log_probs, every, 2)


def _lattice(
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
) -> tuple[Array, Array, Array]:
    """The states of each sequence, what they emit, (T, N, 2 S + 1), and which may be skipped to."""
    _, _, count = ctc_shape(log_probs, targets, input_lengths, target_lengths, blank)
    states = _states(targets, target_lengths, blank, count, log_probs.shape[2])
    return states, _emissions(log_probs, states), _skippable(states, blank)


def ctc_loss_of(
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
    zero_infinity: bool,
) -> tuple[Array, Array]:
    """The negative log likelihood of each sequence, and the log forward variables, (N, T, 2 S + 1).

    It is infinite where no alignment is long enough. What lies behind the end of a sequence has no meaning.
    """
    _, emitted, skip = _lattice(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, count = emitted.shape
    alpha: Array = np.full((steps, batch, count), -np.inf, log_probs.dtype)
    for t in range(steps):
        if not t:
            alpha[0, :, :2] = emitted[0, :, :2]
            continue
        before = alpha[t - 1]
        now = before.copy()
        now[:, 1:] = np.logaddexp(now[:, 1:], before[:, :-1])
        now[:, 2:] = np.logaddexp(now[:, 2:], np.where(skip[:, 2:], before[:, :-2], -np.inf))
        alpha[t] = now + emitted[t]
    loss: Array = np.empty(batch, log_probs.dtype)
    for row, (time, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        if not time:
            loss[row] = np.inf if length else 0
            continue
        last = alpha[time - 1, row]
        loss[row] = -(np.logaddexp(last[2 * length], last[2 * length - 1]) if length else last[0])
    return loss, np.ascontiguousarray(alpha.transpose(1, 0, 2))


def ctc_loss_backward(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    neg_log_likelihood: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool,
) -> Array:
    """The gradient for ``log_probs``: minus the probability of each class at a time, given the labels.

    It is NaN where the loss is infinite, or 0 with ``zero_infinity``.
    """
    states, emitted, skip = _lattice(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, count = emitted.shape
    rows = np.arange(batch)
    last, ends = np.asarray(input_lengths, np.int64) - 1, 2 * np.asarray(target_lengths, np.int64)
    out = np.zeros(log_probs.shape, log_probs.dtype)
    later: Array = np.full((batch, count), -np.inf, log_probs.dtype)
    for t in reversed(range(steps)):
        now = later.copy()
        now[:, :-1] = np.logaddexp(now[:, :-1], later[:, 1:])
        now[:, :-2] = np.logaddexp(now[:, :-2], np.where(skip[:, 2:], later[:, 2:], -np.inf))
        ending = rows[last == t]
        now[ending, ends[ending]] = 0
        now[ending, np.maximum(ends[ending] - 1, 0)] = 0
        # Of alignments through each state, what comes behind it, without what it emits itself.
        path = log_alpha[:, t] + now
        share = np.where(np.isneginf(path), 0, np.exp(path + neg_log_likelihood[:, None]))
        for state in range(count):
            out[t, rows, states[:, state]] -= share[:, state]
        later = now + emitted[t]
    out *= grad[:, None]
    impossible = np.isposinf(neg_log_likelihood)
    if impossible.any():
        within = np.arange(steps)[:, None] <= last
        out[within & impossible] = 0 if zero_infinity else np.nan
    return out
