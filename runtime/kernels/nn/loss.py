"""Losses and their gradients.

Forward kernels take input, target and what else the schema has, and give the elementwise loss
or, by ``reduction`` (0 none, 1 mean, 2 sum), a 0-d one. Backward kernels take the gradient of
that first; where two inputs have a gradient the last argument says which are wanted, and the
others come back as None. Gradients may have the broadcast shape: the engine reduces them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import sums
from ..index_checks import index_range
from ..native_kernels import kernels
from ..reductions import row_starts
from .common import MEAN, NONE, SUM, Array, loss_scale, reduce_loss

Pair = tuple[Array | None, Array | None]

# ------------------------------------------------------------------------ cross entropies

_LOG_FLOOR = -100.0  # torch's, so that log(0) does not give infinite losses
_VARIANCE_FLOOR = 1e-12  # of x (1 - x), likewise for the gradient


def check_same_size(self: Array, target: Array) -> None:
    """Raise RuntimeError for a target of another size."""
    if self.shape != target.shape:
        raise RuntimeError(
            f"target size {list(target.shape)} is different to the input size {list(self.shape)}"
        )


def _weighted(loss: Array, weight: Array | None) -> Array:
    return loss if weight is None else loss * weight


def binary_cross_entropy_forward(self: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    """``-weight * (target log(self) + (1 - target) log(1 - self))``, the logarithms at least -100.

    Raises RuntimeError when the sizes differ and when an element of one of them is not in [0, 1].
    """
    check_same_size(self, target)
    for name, values in (("input", self), ("target", target)):
        if values.size and not (np.min(values) >= 0 and np.max(values) <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    loss = np.maximum(np.log1p(-self), _LOG_FLOOR)
    loss *= target - 1
    loss -= np.maximum(np.log(self), _LOG_FLOOR) * target
    return reduce_loss(_weighted(loss, weight), reduction)


def binary_cross_entropy_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    output_mask: Sequence[bool],
) -> Pair:
    outer = _weighted(grad_output * loss_scale(reduction, self.size), weight)
    for_self, for_target = output_mask
    grad_self = grad_target = None
    if for_self:
        grad_self = self - target
        grad_self /= np.maximum((1 - self) * self, _VARIANCE_FLOOR)
        grad_self *= outer
    if for_target:
        grad_target = np.log1p(-self)
        grad_target -= np.log(self)
        grad_target *= outer
    return grad_self, grad_target


# ------------------------------------------------------------------ negative log likelihood


def check_nll(self: Array, target: Array, weight: Array | None) -> None:
    """Shapes of the 1-d and 2-d forms; also used on Meta. RuntimeError where they do not fit; ValueError for
    a 1-d target of several beside a 1-d input."""
    if self.ndim not in (1, 2):
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    if self.ndim == 2 and (target.ndim != 1 or self.shape[0] != target.shape[0]):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    check_class_weight(self, weight, self.shape[-1])


def check_class_weight(self: Array, weight: Array | None, classes: int) -> None:
    """RuntimeError unless there is a weight for each class, or none at all."""
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            "weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: {list(weight.shape)}"
        )


def check_nll2d(self: Array, target: Array, weight: Array | None) -> None:
    """Shapes of the 4-d form; also used on Meta. RuntimeError unless ``target`` has the sizes of ``self``
    without its channels."""
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


def class_weights(
    target: Array, weight: Array | None, classes: int, ignore_index: int, dtype: np.dtype[Any]
) -> tuple[Array, Array, Array]:
    """Which targets count, the targets with the others set to 0, and the weight of each, 0 where it does not.

    Raises IndexError when a target is no class, RuntimeError when targets are no indices.
    """
    if target.dtype not in (np.int64, np.uint8):
        raise RuntimeError(f"expected target dtype to be int64 or uint8, but got {target.dtype}")
    kept = target != ignore_index
    safe = np.where(kept, target, 0).astype(np.int64, copy=False)
    if safe.size and (safe.min() < 0 or safe.max() >= classes):
        bad = safe[(safe < 0) | (safe >= classes)]
        raise IndexError(f"Target {int(bad.flat[0])} is out of bounds.")
    return kept, safe, kept.astype(dtype) if weight is None else weight[safe] * kept


def _all_count(self: Array, target: Array, weight: Array | None, ignore_index: int) -> bool:
    """Whether the targets of a matrix are all classes, none ignored, all of one weight: as nearly always."""
    if weight is not None or self.ndim != 2 or not target.size or target.dtype != np.int64:
        return False
    low, high = index_range(target)
    return low >= 0 and high < self.shape[1] and not low <= ignore_index <= high


def _native_losses(self: Array, target: Array, ignore_index: int) -> Array | None:
    """``-self[target]`` of rows, 0 of ignored ones; None without a kernel, or where a target is no class."""
    if self.ndim != 2 or self.dtype.char not in "fd" or target.dtype != np.int64 or not self.size:
        return None
    if (kernel := kernels.class_losses) is None:
        return None
    loss, wrong = kernel(self, target, np.int64(ignore_index))
    return None if wrong.any() else loss


def _nll(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """The loss over class vectors along axis 1, and the sum of the weights used.

    The batch stays when nothing is reduced; then the sum is 0, as nobody needs it.
    """
    native = _native_losses(self, target, ignore_index) if weight is None else None
    if native is not None:
        if reduction == NONE:
            return native, np.zeros((), self.dtype)
        count = np.asarray(np.count_nonzero(target != ignore_index), self.dtype)
        total = np.asarray(sums.sum_all(native))
        return (total / count if reduction == MEAN else total), count
    if _all_count(self, target, weight, ignore_index):
        if self.flags.c_contiguous:
            found = self.reshape(-1).take(row_starts(*self.shape) + target)
        else:
            found = self[np.arange(len(target)), target]
        if reduction == NONE:
            return -found, np.zeros((), self.dtype)
        count = np.asarray(len(target), self.dtype)
        total = -sums.sum_all(found)
        return (total / count if reduction == MEAN else total), count
    kept, safe, each = class_weights(target, weight, self.shape[1], ignore_index, self.dtype)
    if self.size:
        loss = np.take_along_axis(self, safe[:, None], 1)[:, 0]
        loss = np.where(kept, -loss * each, 0).astype(self.dtype, copy=False)
    else:
        loss = np.zeros(target.shape, self.dtype)
    if reduction == NONE:
        return loss, np.zeros((), self.dtype)
    total = np.sum(each)
    if reduction == SUM:
        return np.sum(loss), total
    return np.sum(loss) / total, total


def _nll_gradient(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    if _all_count(self, target, weight, ignore_index):
        out = np.zeros(self.size, self.dtype)
        out[row_starts(*self.shape) + target] = -(
            grad_output / total_weight if reduction == MEAN else grad_output
        )
        return out.reshape(self.shape)
    kept, safe, each = class_weights(target, weight, self.shape[1], ignore_index, self.dtype)
    values = -each * (grad_output / total_weight if reduction == MEAN else grad_output)
    # The mean over no target at all is NaN, but its gradient is 0.
    values = np.where(kept, values, 0).astype(self.dtype, copy=False)
    out = np.zeros(self.shape, self.dtype)
    if out.size:
        np.put_along_axis(out, safe[:, None], values[:, None], 1)
    return out


def nll_loss_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """``-weight[target] * self[target]`` of log probabilities (N, C) or (C); and the weights' sum.

    Targets that are ``ignore_index`` count for nothing; the mean is weighted.
    """
    check_nll(self, target, weight)
    if self.ndim == 2:
        return _nll(self, target, weight, reduction, ignore_index)
    # A single vector has a 0-d loss, reduced or not.
    return _nll(self[None], target.reshape(1), weight, reduction or SUM, ignore_index)


def nll_loss_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    check_nll(self, target, weight)
    if self.ndim == 1:
        self = self[None]
        target = target.reshape(1)
        return _nll_gradient(grad_output, self, target, weight, reduction, ignore_index, total_weight)[0]
    return _nll_gradient(grad_output, self, target, weight, reduction, ignore_index, total_weight)


def nll_loss2d_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """The loss of each pixel: log probabilities (N, C, H, W), targets (N, H, W)."""
    check_nll2d(self, target, weight)
    return _nll(self, target, weight, reduction, ignore_index)


def nll_loss2d_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    check_nll2d(self, target, weight)
    return _nll_gradient(grad_output, self, target, weight, reduction, ignore_index, total_weight)
