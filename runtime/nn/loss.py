"""Losses as ``torch.nn.functional`` has them.

``reduction`` is ``'none'``, ``'mean'`` or ``'sum'`` (ValueError for others); ``size_average`` and
``reduce`` are its older forms and win where they are given.
"""

from __future__ import annotations

import warnings

from tengen.generated import functions as F

from ..core.user_stack import program_stacklevel
from ..tensors.tensor import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def _reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number that operators take."""
    if size_average is not None or reduce is not None:
        size_average = True if size_average is None else size_average
        reduction = "none" if reduce is False else "mean" if size_average else "sum"
        warnings.warn(
            f"size_average and reduce args will be deprecated, use reduction='{reduction}' instead.",
            stacklevel=program_stacklevel(),
        )
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def _warn_of_broadcast(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). "
            "This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=program_stacklevel(),
        )


def _weighted(loss: Tensor, weight: Tensor, reduction: int) -> Tensor:
    """An elementwise loss with weights of its size; the mean is the weighted one."""
    if weight.shape != loss.shape:
        raise ValueError("Inputs and weights must have the same size.")
    loss = loss * weight
    if reduction == 1:
        return loss.sum() / weight.sum()
    return loss.sum() if reduction == 2 else loss


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``(input - target)^2``; warns when the sizes differ."""
    _warn_of_broadcast(input, target)
    number = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(F.mse_loss(input, target, 0), weight, number)
    return F.mse_loss(input, target, number)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """``|input - target|``; warns when the sizes differ."""
    _warn_of_broadcast(input, target)
    number = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(F.l1_loss(input, target, 0), weight, number)
    return F.l1_loss(input, target, number)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared below ``beta``, absolute above; RuntimeError for a negative beta."""
    _warn_of_broadcast(input, target)
    return F.smooth_l1_loss(input, target, _reduction(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``delta`` times ``smooth_l1_loss`` of beta ``delta``; RuntimeError unless delta is positive."""
    _warn_of_broadcast(input, target)
    number = _reduction(reduction)
    if weight is not None:
        return _weighted(F.huber_loss(input, target, 0, delta), weight, number)
    return F.huber_loss(input, target, number, delta)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence; ``'batchmean'`` divides the sum by the batch size."""
    if reduction == "batchmean":
        out = F.kl_div(input, target, 2, log_target=log_target)
        return out / input.shape[0] if input.ndim else out
    number = _reduction(reduction, size_average, reduce)
    if number == 1:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. "
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition.",
            stacklevel=program_stacklevel(),
        )
    return F.kl_div(input, target, number, log_target=log_target)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of probabilities; ValueError when the sizes differ."""
    number = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
            "deprecated. Please ensure they have the same size."
        )
    return F.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``binary_cross_entropy`` of ``sigmoid(input)``; ValueError when the sizes differ."""
    number = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of log probabilities (N, C, ...) or (C) and int64 classes."""
    return F.nll_loss_nd(input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """``nll_loss`` of ``log_softmax(input)``; the target may also hold probabilities of input's shape."""
    number = _reduction(reduction, size_average, reduce)
    return F.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return F.margin_ranking_loss(input1, input2, target, margin, _reduction(reduction, size_average, reduce))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of pairs with target 1, ``max(0, cos - margin)`` of those with target -1."""
    return F.cosine_embedding_loss(
        input1, input2, target, margin, _reduction(reduction, size_average, reduce)
    )
