"""Losses and their gradients; the names are those of ``kernels.nn.loss``."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..nn import loss as host
from ..nn.common import MEAN, NONE, SUM, check_reduction
from .common import Array, as_array, cast, flat, in_range

Operand = Any


def reduce_loss(xp: Any, loss: Array, reduction: int) -> Array:
    """``loss`` elementwise (0), its mean (1) or its sum (2). ValueError for another number."""
    if reduction == NONE:
        return loss
    check_reduction(reduction)
    total = xp.sum(loss, dtype=loss.dtype)
    return total / as_array(xp, loss.size, total) if reduction == MEAN else total


# -- cross entropies ----------------------------------------------------------------------------


def _check_probabilities(name: str, values: Any) -> None:
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")


def probabilities(xp: Any, values: Array, name: str, input: Array) -> Operand:
    """``values`` themselves. RuntimeError unless all are in [0, 1], and they are of the size of the input."""
    host.check_same_size(input, values)
    return xp.checked(values, partial(_check_probabilities, name), lambda p: (p >= 0) & (p <= 1))


def binary_cross_entropy_elements(xp: Any, x: Array, y: Array) -> Array:
    """``-(y log(x) + (1 - y) log(1 - x))``, the logarithms at least -100."""
    floor = as_array(xp, -100.0, x)
    return xp.maximum(xp.log1p(-x), floor) * (y - 1) - xp.maximum(xp.log(x), floor) * y


def _check_classes(classes: int, targets: Any) -> None:
    bad = targets[(targets < 0) | (targets >= classes)]
    if bad.size:
        raise IndexError(f"Target {int(bad.flat[0])} is out of bounds.")


def checked_nll(xp: Any, self: Array, target: Array, weight: Array | None) -> Array:
    """``self``, and what ``kernels.nn.loss.checked_nll`` raises."""
    return host.checked_nll(self, target, weight)


def checked_nll2d(xp: Any, self: Array, target: Array, weight: Array | None) -> Array:
    """``self``, and what ``kernels.nn.loss.checked_nll2d`` raises."""
    return host.checked_nll2d(self, target, weight)


def _class_weights(
    xp: Any, target: Array, weight: Array | None, classes: int, ignore_index: int, dtype: Any
) -> tuple[Array, Array, Array]:
    """Which targets count, the targets with the others set to 0, and the weight of each, 0 where not."""
    if target.dtype not in (xp.int64, xp.uint8):
        raise RuntimeError(f"expected target dtype to be int64 or uint8, but got {target.dtype}")
    target = cast(xp, target, xp.int64)
    kept = target != ignore_index
    safe = xp.where(kept, target, xp.zeros_like(target))
    safe = xp.checked(safe, partial(_check_classes, classes), in_range(0, classes))
    each = xp.astype(kept, dtype)
    if weight is not None:
        each = xp.at(weight, safe) * each
    return kept, safe, each


def nll_forward(
    xp: Any, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """``-weight[target] * self[target]`` of log probabilities, and the sum of the weights used."""
    if self.ndim == 1:
        row, one = xp.reshape(self, (1, -1)), xp.reshape(target, (1,))
        return nll_forward(xp, row, one, weight, reduction or SUM, ignore_index)
    kept, safe, each = _class_weights(xp, target, weight, self.shape[1], ignore_index, self.dtype)
    column = xp.expand_dims(safe, axis=1)
    loss = xp.squeeze(xp.take_along_axis(self, column, axis=1), axis=1) if self.size else each
    loss = xp.where(kept, -loss * each, xp.zeros_like(each))
    if reduction == NONE:
        return loss, xp.zeros((), dtype=self.dtype)
    total, weights = xp.sum(loss, dtype=loss.dtype), xp.sum(each, dtype=each.dtype)
    return (total if reduction == SUM else total / weights), weights


def nll_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    """The gradient of ``nll_forward``."""
    if self.ndim == 1:
        row, one = xp.reshape(self, (1, -1)), xp.reshape(target, (1,))
        rest = (weight, reduction, ignore_index, total_weight)
        return xp.reshape(nll_backward(xp, grad_output, row, one, *rest), self.shape)
    kept, safe, each = _class_weights(xp, target, weight, self.shape[1], ignore_index, self.dtype)
    values = -each * (grad_output / total_weight if reduction == MEAN else grad_output)
    values = xp.expand_dims(xp.where(kept, values, xp.zeros_like(each)), axis=1)
    shape = (1, self.shape[1], *[1] * (self.ndim - 2))
    classes = xp.reshape(xp.arange(self.shape[1], dtype=xp.int64), shape)
    chosen = xp.expand_dims(safe, axis=1) == classes
    return xp.where(chosen, values, xp.zeros_like(values))


def _as_table(xp: Any, self: Array) -> Array:
    """Logits (N, C) or (C) as rows."""
    return xp.reshape(self, (1, -1)) if self.ndim == 1 else self


def fused_cross_entropy(
    xp: Any, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array, Array, Array]:
    """What ``kernels.nn.cross_entropy.fused_cross_entropy`` gives, and its errors."""
    host.checked_nll(self, target, weight)
    if self.ndim == 1:
        reduction = reduction or SUM
    table, target = _as_table(xp, self), flat(xp, target)
    kept, safe, each = _class_weights(xp, target, weight, table.shape[1], ignore_index, self.dtype)
    top = xp.max(table, axis=1, keepdims=True)
    log_sum = xp.log(xp.sum(xp.exp(table - top), axis=1))
    row_max = xp.squeeze(top, axis=1)
    picked = xp.squeeze(xp.take_along_axis(table, xp.expand_dims(safe, axis=1), axis=1), axis=1)
    loss = xp.where(kept, (log_sum - (picked - row_max)) * each, xp.zeros_like(each))
    if reduction == NONE:
        return loss, xp.zeros((), dtype=self.dtype), row_max, log_sum
    total, weights = xp.sum(loss, dtype=loss.dtype), xp.sum(each, dtype=each.dtype)
    return (total if reduction == SUM else total / weights), weights, row_max, log_sum


def fused_cross_entropy_backward(
    xp: Any,
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
    row_max: Array,
    log_sum: Array,
) -> Array:
    """The gradient of the logits, 0 in the rows of targets that do not count."""
    table, target = _as_table(xp, self), flat(xp, target)
    kept, safe, each = _class_weights(xp, target, weight, table.shape[1], ignore_index, self.dtype)
    slope = (grad_output / total_weight if reduction == MEAN else grad_output) * each
    slope = xp.expand_dims(xp.where(kept, slope, xp.zeros_like(slope)), axis=1)
    less = table - xp.expand_dims(row_max, axis=1) - xp.expand_dims(log_sum, axis=1)
    classes = xp.reshape(xp.arange(table.shape[1], dtype=xp.int64), (1, -1))
    chosen = xp.expand_dims(safe, axis=1) == classes
    found = xp.exp(less) * slope - xp.where(chosen, slope, xp.zeros_like(slope))
    return xp.reshape(found, self.shape)
