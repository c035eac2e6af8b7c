"""Losses that are made of other operators."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan, pi, prod
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.scalar_type import bool_, int64
from ..dispatch.absent import has_operator
from ..tensors.creation import tensor

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
        raise RuntimeError(
            "cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported"
        )
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"cosine_embedding_loss: {target.ndim}D target tensor expects {target.ndim + 1}D input "
            f"tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
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
        raise ValueError("nll_loss: Expected 1 or more dimensions (got 0)")
    if self.ndim == 1:
        if target.ndim == 1 and target.shape[0] != 1:
            raise ValueError(
                f"nll_loss: For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
            )
    elif not target.ndim or self.shape[0] != target.shape[0]:
        raise ValueError(
            f"nll_loss: Expected input batch_size ({self.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.ndim else 'none'})."
        )
    if self.ndim < 3:
        return F.nll_loss(self, target, weight, reduction, ignore_index)
    if self.ndim == 4:
        return F.nll_loss2d(self, target, weight, reduction, ignore_index)
    shape = (self.shape[0], *self.shape[2:])
    if target.shape != shape:
        raise RuntimeError(f"nll_loss: Expected target size {list(shape)}, got {list(target.shape)}")
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
    """The cross entropy of logits with classes, or with probabilities of their shape. Raises RuntimeError for
    a ``label_smoothing`` outside of [0, 1], for not one weight for each class, for integers as probabilities,
    and for an ``ignore_index`` beside probabilities."""
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if self.shape == target.shape and not target.is_floating_point():
        raise RuntimeError(
            "cross_entropy: a target of the input's shape has the probabilities of classes, which are "
            f"floating-point numbers, but got {target.dtype}"
        )
    class_dim = 0 if self.ndim == 1 else 1
    if weight is not None and self.ndim and (weight.ndim != 1 or weight.shape[0] != self.shape[class_dim]):
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{self.shape[class_dim]} classes or no classes but got weight tensor of shape: "
            f"{list(weight.shape)}"
        )
    if not label_smoothing and _is_fused(self, target, weight):
        return F._fused_cross_entropy(self, target, weight, reduction, ignore_index)[0]
    log_probabilities = F.log_softmax(self, class_dim)
    if self.shape == target.shape:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(log_probabilities, target, weight, reduction, label_smoothing)
    nll = nll_loss_nd(log_probabilities, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return nll
    uniform = _uniform_cross_entropy(log_probabilities, target, weight, reduction, ignore_index)
    return (1 - label_smoothing) * nll + (label_smoothing / max(self.shape[class_dim], 1)) * uniform


def _is_fused(self: Tensor, target: Tensor, weight: Tensor | None) -> bool:
    """Whether ``_fused_cross_entropy`` takes them: logits (N, C) or (C) with as many classes, all in order.

    What is not is left to ``nll_loss_nd``, and its errors.
    """
    T, shape = self._type, self.shape
    return (
        0 < len(shape) < 3
        and (*target.shape, shape[-1]) == shape
        and 0 not in shape
        and target.dtype is int64
        and has_operator(T, "_fused_cross_entropy")
        and target._type.backend is T.backend
        and (weight is None or (weight._type is self._type and not weight.requires_grad))
    )


def _by_class(weight: Tensor, like: Tensor) -> Tensor:
    """The weights so that they broadcast along the classes."""
    return weight if like.ndim == 1 else weight.reshape(1, -1, *[1] * (like.ndim - 2))


def _soft_cross_entropy(
    log_probabilities: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float
) -> Tensor:
    class_dim = 0 if log_probabilities.ndim == 1 else 1
    classes = log_probabilities.shape[class_dim]
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / max(classes, 1)
    product = log_probabilities * target
    if weight is not None:
        product = product * _by_class(weight, product)
    if reduction == NONE:
        return -product.sum(class_dim)
    # The mean is over the batch and the further dims, not over the classes.
    total = -product.sum()
    count = log_probabilities.numel() // classes if classes else nan
    return total / count if reduction == MEAN else total


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


# --------------------------------------------------------------------------------- margins


def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """What belongs together (target 1) counts its distance, the rest (-1) what it lacks of the margin."""
    zeros = F.zeros_like(self)
    apart = F.where(target != 1, (F.full_like(self, margin) - self).clamp(min=0), zeros)
    return apply_reduction(apart + F.where(target != -1, self, zeros), reduction)


def check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    """Raise RuntimeError for unlike ranks."""
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "triplet_margin_loss: The anchor, positive, and negative tensors are expected to have the same "
            f"number of dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    p: float,
    eps: float,
    swap: bool,
    reduction: int,
) -> Tensor:
    """The positive nearer to the anchor than the negative, by a margin; RuntimeError for unlike ranks."""
    check_triplet(anchor, positive, negative)
    near = F.pairwise_distance(anchor, positive, p, eps)
    far = F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p, eps))
    return apply_reduction((margin + near - far).clamp(min=0), reduction)


def _check_scores(
    name: str, self: Tensor, target: Tensor, shapes: Sequence[tuple[int, ...]], reduction: int
) -> None:
    """Scores are (N, C), (C) or (), targets int64 of one of the shapes.

    Scores are floating, save where there are none, nor anything to make of none.
    """
    if not self.is_floating_point() and (self.numel() or reduction != NONE):
        raise NotImplementedError(f"{name}: not implemented for {self.dtype}")
    if self.ndim > 2 or 0 in self.shape[-1:]:
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(self.shape)}"
        )
    if tuple(target.shape) not in shapes:
        raise RuntimeError(
            f"{name}: inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}"
        )
    if target.dtype is not int64:
        raise RuntimeError(f"{name}: expected a target of int64, but found {target.dtype}")


def multi_margin_loss(
    self: Tensor, target: Tensor, p: int | float, margin: float, weight: Tensor | None, reduction: int
) -> Tensor:
    """The score of the class above the others' by a margin.

    Raises RuntimeError for a p that is not 1 or 2, and for sizes that do not fit.
    """
    if p not in (1, 2):
        raise RuntimeError(f"multi_margin_loss: only p == 1 and p == 2 supported, but got {p}")
    batch = self.shape[0] if self.ndim == 2 else 1
    shapes = [(batch,)] if self.ndim == 2 else [(), (1,)]
    _check_scores("multi_margin_loss", self, target, shapes, reduction)
    classes = self.shape[-1] if self.ndim else 1
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"multi_margin_loss: inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        )
    if not batch:
        return apply_reduction(self.select(-1, 0).clone(), reduction)
    scores, labels = self.reshape(batch, classes), target.reshape(batch, 1)
    lacking = (margin - scores.gather(1, labels) + scores).clamp(min=0)
    if p == 2:
        lacking = lacking * lacking
    if weight is not None:
        lacking = lacking * weight[labels]
    loss = lacking.scatter(1, labels, 0).sum(1) / classes
    return apply_reduction(loss.reshape(target.shape), reduction)


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The scores of a row's classes above all others' by 1; its classes end at the first -1."""
    _check_scores("multilabel_margin_loss", self, target, [tuple(self.shape)], reduction)
    batch = self.shape[0] if self.ndim == 2 else 1
    classes = self.shape[-1] if self.ndim else 1
    if not batch:
        return apply_reduction(self.select(-1, 0).clone(), reduction)
    scores, labels = self.reshape(batch, classes), target.reshape(batch, classes)
    given = (labels == -1).cumsum(1) == 0
    labels = labels.masked_fill(given.logical_not(), 0)
    # Added up, so that what stands behind the end says nothing about class 0.
    others = F.zeros_like(labels).scatter_add(1, labels, given.to(int64)) == 0
    lacking = (1 - scores.gather(1, labels).unsqueeze(2) + scores.unsqueeze(1)).clamp(min=0)
    counted = given.unsqueeze(2).logical_and(others.unsqueeze(1))
    loss = F.where(counted, lacking, 0).sum((1, 2)) / classes
    return apply_reduction(loss.reshape(self.shape[:-1]), reduction)


# --------------------------------------------------------------- distributions and sequences


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """The negative log likelihood of counts; ``full`` adds what does not depend on the input."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return apply_reduction(loss, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Tensor:
    """The loss of each sequence; the mean divides each by the length of its target first."""
    single = log_probs.ndim == 2
    probabilities = log_probs.unsqueeze(1) if single else log_probs
    loss = F._ctc_loss(probabilities, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = F.where(loss == float("inf"), 0, loss)
    if reduction == MEAN:
        lengths = tensor([max(n, 1) for n in target_lengths], dtype=loss.dtype, device=loss.device)
        return (loss / lengths).mean()
    return apply_reduction(loss.squeeze(0) if single else loss, reduction)


def ctc_loss_of_lengths(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    reduction: int,
    zero_infinity: bool,
) -> Tensor:
    """``ctc_loss`` with lengths in tensors; RuntimeError for lengths that are no integers."""
    lengths: list[list[int]] = []
    for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if given.is_floating_point() or given.is_complex() or given.dtype is bool_:
            raise RuntimeError(f"{name} must be integral, but got {given.dtype}")
        lengths.append(given.reshape(-1).tolist())
    return ctc_loss(log_probs, targets, lengths[0], lengths[1], blank, reduction, zero_infinity)
