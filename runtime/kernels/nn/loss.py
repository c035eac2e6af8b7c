"""Losses and their gradients.

Forward kernels take input, target and what else the schema has, and give the elementwise loss
or, by ``reduction`` (0 none, 1 mean, 2 sum), a 0-d one. Backward kernels take the gradient of
that first; where two inputs have a gradient the last argument says which are wanted, and the
others come back as None. Gradients may have the broadcast shape: the engine reduces them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import sums
from ..flat_index import put_along, row_starts, take_along
from ..index_checks import all_in_range
from .common import MEAN, NONE, SUM, Array

Operand = Any

# ------------------------------------------------------------------------ cross entropies


def check_same_size(self: Array, target: Array) -> None:
    """Raise RuntimeError for a target of another size."""
    if self.shape != target.shape:
        raise RuntimeError(
            f"target size {list(target.shape)} is different to the input size {list(self.shape)}"
        )


def probabilities(values: Array, name: str, input: Array) -> Operand:
    """``values`` themselves. RuntimeError unless all are in [0, 1], and they are of the size of the input."""
    check_same_size(input, values)
    if values.size and not (np.min(values) >= 0 and np.max(values) <= 1):
        raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    return values


# ------------------------------------------------------------------ negative log likelihood


def checked_nll(self: Array, target: Array, weight: Array | None) -> Array:
    """``self``, log probabilities (N, C) or (C); also used on Meta. RuntimeError where shapes do not fit;
    ValueError for a 1-d target of several beside a 1-d input."""
    if self.ndim not in (1, 2):
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    if self.ndim == 2 and (target.ndim != 1 or self.shape[0] != target.shape[0]):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    check_class_weight(self, weight, self.shape[-1])
    return self


def check_class_weight(self: Array, weight: Array | None, classes: int) -> None:
    """RuntimeError unless there is a weight for each class, or none at all."""
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            "weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )


def checked_nll2d(self: Array, target: Array, weight: Array | None) -> Array:
    """``self``, log probabilities (N, C, H, W); also used on Meta. RuntimeError unless ``target`` has its
    sizes without the classes."""
    if target.ndim != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) "
            f"but got targets of dimension: {target.ndim}"
        )
    if self.ndim != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.ndim}"
        )
    if (self.shape[0], *self.shape[2:]) != target.shape:
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)})")
    check_class_weight(self, weight, self.shape[1])
    return self


def class_weights(
    target: Array, weight: Array | None, classes: int, ignore_index: int, dtype: np.dtype[Any]
) -> tuple[Array, Array, Array]:
    """Which targets count, the targets with the others set to 0, and the weight of each, 0 where it does not.

    Raises what ``counted`` does.
    """
    left_out, safe = counted(target, classes, ignore_index)
    kept = np.ones(target.shape, bool) if left_out is None else ~left_out
    return kept, safe, kept.astype(dtype) if weight is None else weight[safe] * kept


def counted(target: Array, classes: int, ignore_index: int) -> tuple[Array | None, Array]:
    """Which targets do not count, None for none, as is usual; and the targets with these set to 0.

    Raises IndexError when a target is no class, RuntimeError when targets are no indices.
    """
    if target.dtype.char not in "lqB":
        raise RuntimeError(f"expected target dtype to be int64 or uint8, but got {target.dtype}")
    if target.dtype.char == "B":
        target = target.astype(np.int64)
    left_out = None
    if 0 <= ignore_index < classes or not all_in_range(target, classes):
        left_out, target = target == ignore_index, target.copy()
        np.putmask(target, left_out, 0)
        if not all_in_range(target, classes):
            bad = target[(target < 0) | (target >= classes)]
            raise IndexError(f"Target {int(bad.flat[0])} is out of bounds.")
    return left_out, target


def _at_classes(self: Array, target: Array) -> Array:
    """What is at classes along axis 1, where all are there."""
    if self.ndim > 2:
        take = take_along if self.flags.c_contiguous else np.take_along_axis
        return take(self, target[:, np.newaxis], 1)[:, 0]
    if self.flags.c_contiguous:
        return self.reshape(-1).take(row_starts(*self.shape) + target)
    return self[np.arange(len(target)), target]


def nll_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """``-weight[target] * self[target]`` of log probabilities (N, C, ...) or (C), and the sum of the weights
    used. Targets that are ``ignore_index`` count for nothing; the mean is weighted.

    The batch stays when nothing is reduced; then the sum is 0, as nobody needs it.
    """
    if self.ndim == 1:  # its loss is 0-d, reduced or not
        self, target, reduction = self[np.newaxis], target.reshape(1), reduction or SUM
    left_out, target = counted(target, self.shape[1], ignore_index)
    loss = -_at_classes(self, target)
    each = None if weight is None else weight.take(target)
    if each is not None:
        loss *= each
    if left_out is not None:
        np.putmask(loss, left_out, 0)
        if each is not None:
            np.putmask(each, left_out, 0)
    if reduction == NONE:
        return loss, np.zeros((), self.dtype)
    total = np.asarray(sums.sum_all(loss))
    if each is not None:
        count = np.asarray(sums.sum_all(each))
    else:
        none = 0 if left_out is None else np.count_nonzero(left_out)
        count = np.asarray(target.size - none, self.dtype)
    return (total / count if reduction == MEAN else total), count


def nll_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    """The gradient of ``nll_forward``. The mean over no target at all is NaN, but its gradient is 0."""
    if self.ndim == 1:
        row = self[np.newaxis], target.reshape(1)
        return nll_backward(grad_output, *row, weight, reduction, ignore_index, total_weight)[0]
    left_out, target = counted(target, self.shape[1], ignore_index)
    values = -(grad_output / total_weight if reduction == MEAN else grad_output)
    if weight is not None:
        values = values * weight.take(target)
    if left_out is not None:
        values = np.where(left_out, 0, values)
    out = np.zeros(self.shape, self.dtype)
    if self.ndim == 2 and out.size:
        out.reshape(-1)[row_starts(*self.shape) + target] = values
    elif out.size:
        put_along(out, target[:, np.newaxis], 1, np.broadcast_to(values, target.shape)[:, np.newaxis])
    return out
