"""Losses as ``torch.nn.functional`` has them.

``reduction`` is ``'none'``, ``'mean'`` or ``'sum'`` (ValueError for others); ``size_average`` and
``reduce`` are its older forms and win where they are given.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from tengen.generated import functions as F

from ..autograd.grad_mode import no_grad
from ..autograd.rounding import rounded_once
from ..composite.losses import apply_reduction, check_triplet
from ..core.user_stack import program_stacklevel
from ..tensors.tensor import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """The ``reduction`` that ``size_average`` and ``reduce`` stand for, with a warning."""
    size_average = True if size_average is None else size_average
    reduction = "none" if reduce is False else "mean" if size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
        stacklevel=program_stacklevel(),
    )
    return reduction


def _reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number that operators take."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
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
    return apply_reduction(loss, reduction)


def _elementwise(
    loss: Callable[..., Tensor],
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    *rest: float,
) -> Tensor:
    """A loss of elements; weights of them come before its reduction."""
    if weight is not None:
        return _weighted(loss(input, target, 0, *rest), weight, reduction)
    return loss(input, target, reduction, *rest)


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
    return _elementwise(F.mse_loss, input, target, weight, _reduction(reduction, size_average, reduce))


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
    return _elementwise(F.l1_loss, input, target, weight, _reduction(reduction, size_average, reduce))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared below ``beta``, absolute above; RuntimeError for a negative beta.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the broadcast shape.
    """
    _warn_of_broadcast(input, target)
    return F.smooth_l1_loss(input, target, _reduction(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``delta`` times ``smooth_l1_loss`` of beta ``delta``; RuntimeError unless delta is positive.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the broadcast shape.
    """
    _warn_of_broadcast(input, target)
    return _elementwise(F.huber_loss, input, target, weight, _reduction(reduction), delta)


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
    """The negative log likelihood of log probabilities (N, C, ...) or (C) and int64 classes.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the shape of
    ``target``.
    """
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
    """``max(0, -target * (input1 - input2) + margin)``.

    The shapes broadcast, and the dtypes are promoted to one; ``reduction`` is "mean" or "sum", which give a
    tensor without dimensions, or "none". RuntimeError where the numbers of dimensions differ.
    """
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
    """``1 - cos`` of pairs with target 1, ``max(0, cos - margin)`` of those with target -1.

    The inputs have the shape (N, D) and ``target`` (N), or (D) and (). ``reduction`` "mean" and "sum"
    give a tensor without dimensions, "none" one of the shape of ``target``.
    """
    return F.cosine_embedding_loss(
        input1, input2, target, margin, _reduction(reduction, size_average, reduce)
    )


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the broadcast shape.
    """
    return F.hinge_embedding_loss(input, target, margin, _reduction(reduction, size_average, reduce))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` of targets 1 and -1.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the broadcast shape.
    """
    return F.soft_margin_loss(input, target, _reduction(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The score of the class above the others' by the margin; ValueError for other p than 1 and 2.

    ``input`` has the shape (N, C) or (C), ``target`` is int64. ``reduction`` "mean" and "sum" give a
    tensor without dimensions, "none" one of the shape of ``target``.
    """
    number = _reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    return F.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The scores of a row's classes, those before its first -1, above all others' by 1.

    Both have the shape (N, C) or (C), and ``target`` is int64. ``reduction`` "mean" and "sum" give a
    tensor without dimensions, "none" one of the shape (N), or ().
    """
    return F.multilabel_margin_loss(input, target, _reduction(reduction, size_average, reduce))


@rounded_once
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy of each class by itself, of logits (*, C); the mean over the classes first.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the shape (*).
    IndexError for an input without dimensions.
    """
    number = _reduction(reduction, size_average, reduce)
    if not input.ndim:
        raise IndexError("multilabel_soft_margin_loss: expected an input of shape (*, C), but got one of []")
    loss = -(target * F.log_sigmoid(input) + (1 - target) * F.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(-1) / input.shape[-1]
    return apply_reduction(loss, number)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The positive nearer to the anchor than the negative; ValueError for a margin that is not positive.

    The shapes broadcast to (N, D) or (D). ``reduction`` "mean" and "sum" give a tensor without
    dimensions, "none" one of the shape (N), or ().
    """
    number = _reduction(reduction, size_average, reduce)
    _check_margin(margin)
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` by any distance (default: ``pairwise_distance``).

    Raises ValueError for a margin that is not positive, RuntimeError for unlike ranks.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the shape that the
    distances have.
    """
    number = _reduction(reduction)
    _check_margin(margin)
    check_triplet(anchor, positive, negative)
    distance = F.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = F.minimum(far, distance(positive, negative))
    loss = (margin + near - far).clamp(min=0)
    return apply_reduction(loss, number)


def _other_sizes(input: Tensor, var: Tensor) -> list[int]:
    """The sizes of ``var`` that are not the input's."""
    return [m for n, m in zip(input.shape, var.shape, strict=True) if n != m]


@rounded_once
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """``(log(var) + (input - target)^2 / var) / 2``, variances at least ``eps``; ``full`` adds the constant.

    ``var`` is of the input's size, or there is one for each row. Raises ValueError where it is of
    another, and where it is negative.
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * F.ones_like(input)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or _other_sizes(input, var) != [1]:
            raise ValueError("var is of incorrect size")
    number = _reduction(reduction)
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return apply_reduction(loss, number)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts; ``full`` adds Stirling's approximation of what is constant.

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the broadcast shape.
    """
    number = _reduction(reduction, size_average, reduce)
    return F.poisson_nll_loss(input, target, log_input, full, eps, number)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | tuple[int, ...] | list[int],
    target_lengths: Tensor | tuple[int, ...] | list[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The connectionist temporal classification loss of ``log_probs`` (T, N, C) or (T, C).

    ``reduction`` "mean" and "sum" give a tensor without dimensions, "none" one of the shape (N), or ()
    for (T, C).
    """
    lengths: tuple[Any, Any] = (input_lengths, target_lengths)
    return F.ctc_loss(log_probs, targets, *lengths, blank, _reduction(reduction), zero_infinity)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """``cross_entropy`` of ``linear(input, linear_weight, linear_bias)``.

    Of a weight (C, d1, ..., K) the further dims are places, each of which has C classes. ``options``,
    which in PyTorch say how memory is saved, change nothing here. Raises RuntimeError for shapes that
    do not fit.
    """
    if input.ndim not in (1, 2) or linear_weight.ndim < 2:
        raise RuntimeError(
            "expected input with dimensionality 1 or 2 and linear_weight with dimensionality at least 2, got "
            f"{input.ndim} and {linear_weight.ndim}"
        )
    classes, *places, features = linear_weight.shape
    if input.shape[-1] != features:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {features}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *places):
        raise RuntimeError(f"expected linear_bias shape {(classes, *places)}, got {tuple(linear_bias.shape)}")
    if places and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
            f"batched input, (N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:-1], classes, *places)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = F.linear(input, linear_weight.flatten(0, -2), bias).reshape(shape)
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
