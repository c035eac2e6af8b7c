"""Losses that are made of other operators."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

NONE, MEAN, SUM = 0, 1, 2  # torch's Reduction


def apply_reduction(loss: Tensor, reduction: int) -> Tensor:
    """``loss`` elementwise (0), its mean (1) or its sum (2)."""
    if reduction == MEAN:
        return loss.mean()
    return loss.sum() if reduction == SUM else loss


def kl_div(self: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    """The Kullback-Leibler divergence of log probabilities ``self`` from the target.

    Raises RuntimeError for other than real floating-point tensors.
    """
    if not (self.is_floating_point() and target.is_floating_point()):
        raise RuntimeError(
            f"kl_div: expected floating-point tensors, but got {self.dtype} and {target.dtype}"
        )
    if log_target:
        loss = target.exp() * (target - self)
    else:
        loss = F.xlogy(target, target) - target * self
    return apply_reduction(loss, reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int
) -> Tensor:
    """Pairs that belong together (target 1) pulled to a cosine of 1, the others (-1) below the margin.

    Raises RuntimeError unless the inputs have one dim more than the target, which has at most one.
    """
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with "
            f"sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    dim = input1.ndim - 1
    squares = ((input1 * input1).sum(dim) + 1e-12) * ((input2 * input2).sum(dim) + 1e-12)
    cosine = (input1 * input2).sum(dim) / squares.sqrt()
    alike, apart = 1 - cosine, (cosine - margin).clamp(min=0)
    loss = F.where(target == 1, alike, F.where(target == -1, apart, 0))
    return apply_reduction(loss, reduction)


def nll_loss_nd(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """The negative log likelihood with any number of dims behind the classes.

    Raises ValueError when the batch sizes differ, RuntimeError when other sizes do.
    """
    if not self.ndim:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if self.ndim == 1:
        if target.ndim == 1 and target.shape[0] != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
            )
    elif not target.ndim or self.shape[0] != target.shape[0]:
        raise ValueError(
            f"Expected input batch_size ({self.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.ndim else 'none'})."
        )
    if self.ndim < 3:
        return F.nll_loss(self, target, weight, reduction, ignore_index)
    if self.ndim == 4:
        return F.nll_loss2d(self, target, weight, reduction, ignore_index)
    shape = (self.shape[0], *self.shape[2:])
    if target.shape != shape:
        raise RuntimeError(f"Expected target size {list(shape)}, got {list(target.shape)}")
    flat = (self.shape[0], 1, prod(self.shape[2:]))
    out = F.nll_loss2d(
        self.reshape(*self.shape[:2], *flat[1:]), target.reshape(flat), weight, reduction, ignore_index
    )
    return out if reduction else out.reshape(shape)


def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    """The cross entropy of logits with classes, or with probabilities of their shape."""
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    class_dim = 0 if self.ndim == 1 else 1
    if weight is not None and (weight.ndim != 1 or weight.shape[0] != self.shape[class_dim]):
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{self.shape[class_dim]} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    log_probabilities = F.log_softmax(self, class_dim)
    if self.shape == target.shape and target.is_floating_point():
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(log_probabilities, target, weight, reduction, label_smoothing)
    nll = nll_loss_nd(log_probabilities, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return nll
    uniform = _uniform_cross_entropy(log_probabilities, target, weight, reduction, ignore_index)
    return (1 - label_smoothing) * nll + (label_smoothing / self.shape[class_dim]) * uniform


def _by_class(weight: Tensor, like: Tensor) -> Tensor:
    """The weights so that they broadcast along the classes."""
    return weight if like.ndim == 1 else weight.reshape(1, -1, *[1] * (like.ndim - 2))


def _soft_cross_entropy(
    log_probabilities: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float
) -> Tensor:
    class_dim = 0 if log_probabilities.ndim == 1 else 1
    classes = log_probabilities.shape[class_dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    product = log_probabilities * target
    if weight is not None:
        product = product * _by_class(weight, product)
    if reduction == NONE:
        return -product.sum(class_dim)
    # The mean is over the batch and the further dims, not over the classes.
    total = -product.sum()
    return total / (log_probabilities.numel() // classes) if reduction == MEAN else total


def _uniform_cross_entropy(
    log_probabilities: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """The cross entropy with all classes alike, ignored targets left out."""
    class_dim = 0 if log_probabilities.ndim == 1 else 1
    weighted = log_probabilities
    if weight is not None:
        weighted = weighted * _by_class(weight, weighted)
    loss = -weighted.sum(class_dim)
    ignored = target == ignore_index
    loss = loss.masked_fill(ignored.reshape(loss.shape), 0)
    if reduction != MEAN:
        return apply_reduction(loss, reduction)
    kept = ignored.logical_not()
    if weight is None:
        return loss.sum() / kept.sum()
    used = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0)
    return loss.sum() / used.sum()
