"""The cross entropy of rows of logits with classes, in one pass forward and one backward.

Of each row its maximum and the logarithm of the sum of exponentials are kept, apart, so that no digits are
lost: the probabilities are ``exp(row - maximum - logarithm)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...machine_code import shared_from
from .. import sums
from ..native_kernels import as_rows, kernel_of_floats
from ..shares import share_rows
from .common import MEAN, NONE, SUM, Array
from .loss import checked_nll, class_weights

Forward = tuple[Array, Array, Array, Array]


def fused_cross_entropy(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> Forward:
    """The loss of logits (N, C) or (C), the sum of the weights used, and of each row maximum and logarithm.

    Nothing is reduced: the loss is (N), and the sum 0. Raises IndexError for a target that is no class.
    """
    checked_nll(self, target, weight)
    if self.ndim == 1:  # its loss is 0-d, reduced or not
        reduction, target = reduction or SUM, target.reshape(1)
    table = _table(self)
    losses, row_max, log_sum, kept = _losses(table, target, ignore_index)
    if weight is None:
        count: Any = self.dtype.type(np.count_nonzero(kept))
    else:
        each = class_weights(target, weight, table.shape[1], ignore_index, self.dtype)[2]
        losses, count = np.where(kept, losses * each, 0), np.sum(each)
    if reduction == NONE:
        return losses, np.zeros((), self.dtype), row_max, log_sum
    total = sums.sum_all(losses)
    return np.asarray(total / count if reduction == MEAN else total), np.asarray(count), row_max, log_sum


def _table(self: Array) -> Array:
    """The rows, contiguous."""
    return self if self.ndim == 2 and self.flags.c_contiguous else as_rows(self)


def _losses(table: Array, target: Array, ignore_index: int) -> tuple[Array, Array, Array, Array]:
    """``logarithm - (row[target] - maximum)``, 0 of ignored targets; maxima; logarithms; which count."""
    rows, classes = table.shape
    if (kernel := kernel_of_floats("cross_entropy", table.dtype)) is not None:
        numbers = np.int64(ignore_index), np.int64(classes)
        if table.size < shared_from(kernel):
            *found, wrong = kernel(table, target, *numbers)
        else:
            found = [np.empty(rows, table.dtype) for _ in range(3)]
            found.append(np.empty(rows, bool))
            wrong = np.empty(rows, bool)
            share_rows(kernel, (table, target), numbers, (*found, wrong))
        if np.count_nonzero(wrong):
            class_weights(target, None, classes, ignore_index, table.dtype)  # says which
        return tuple(found)
    kept, safe, _ = class_weights(target, None, classes, ignore_index, table.dtype)
    top = np.maximum.reduce(table, 1, keepdims=True)
    less = table - top
    picked = np.take_along_axis(less, safe[:, None], 1)[:, 0]
    log_sum = np.log(np.add.reduce(np.exp(less, out=less), 1))
    return np.where(kept, log_sum - picked, 0), top[:, 0], log_sum, kept


def fused_cross_entropy_backward(
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
    """The gradient of the logits: probabilities less what the target has, times each row's slope.

    The mean over no target at all is NaN, but its gradient is 0.
    """
    slope = grad_output / total_weight if reduction == MEAN else grad_output
    table, target = _table(self), target.reshape(-1)
    rows, classes = table.shape
    if weight is not None:
        slope = slope * class_weights(target, weight, classes, ignore_index, self.dtype)[2]
    out = np.empty(self.shape, self.dtype)
    of_rows, result = [table, target, row_max, log_sum], out.reshape(table.shape)
    if (kernel := kernel_of_floats("cross_entropy_backward", table.dtype)) is not None:
        ignored = np.int64(ignore_index)
        if slope.ndim:
            share_rows(kernel, (*of_rows, slope), (ignored,), (result,))
        else:
            share_rows(kernel, of_rows, (slope, ignored), (result,))
        return out
    kept, safe, _ = class_weights(target, None, classes, ignore_index, table.dtype)
    slopes = np.where(kept, slope, 0)
    np.subtract(table, row_max[:, None], out=result)
    np.subtract(result, log_sum[:, None], out=result)
    np.exp(result, out=result)
    np.multiply(result, slopes[:, None], out=result)
    result[np.arange(rows), safe] -= slopes
    return out
