"""Normalisations that are made of other operators."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..autograd.grad_mode import no_grad
from ..autograd.rounding import widened
from ..core.scalar_type import finfo, uint8
from ..dispatch.absent import has_operator

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalisation; training moves the running statistics, in place, unless the input is empty.

    RuntimeError without running statistics unless ``training``.
    """
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        out = F._batch_norm_by_running(input, weight, bias, running_mean, running_var, eps)
        return out, input.new_empty(0), input.new_empty(0)
    # The running statistics take no part, so that changing them does not spoil the backward.
    out, mean, rstd, variance = F._batch_norm_with_stats(input, weight, bias, eps)
    if input.numel():
        with no_grad():
            for statistic, own in ((running_mean, mean), (running_var, variance)):
                if statistic is not None:
                    statistic.mul_(1 - momentum).add_(own, alpha=momentum)
    return out, mean, rstd


def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_invstd: Tensor | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of batch normalisation for input, weight and bias, where the mask asks for them.

    RuntimeError without the statistics by which it was done.
    """
    mean, spread = (save_mean, save_invstd) if train else (running_mean, running_var)
    if mean is None or spread is None:
        raise RuntimeError("native_batch_norm_backward: the statistics must be defined")
    if train:
        return F._batch_norm_with_stats_backward(grad_out, input, weight, mean, spread, output_mask)
    return F._batch_norm_by_running_backward(grad_out, input, weight, mean, spread, eps, output_mask)


def batch_norm_with_update(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``native_batch_norm`` in training, and nothing that is reserved."""
    found = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, input.new_empty(0, dtype=uint8)


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """As ``native_batch_norm``, the output only.

    Raises IndexError for a 1-d input, ValueError when only one of the running statistics is there.
    """
    if input.ndim < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{input.ndim or 1}, 0], but got 1)"
        )
    if (running_mean is None) is not (running_var is None):
        raise ValueError(
            "batch_norm: running_mean and running_var must either both be None or neither be None"
        )
    for name, statistic in (("running_mean", running_mean), ("running_var", running_var)):
        if statistic is not None and statistic.numel() != input.shape[1]:
            raise RuntimeError(
                f"batch_norm: {name} should contain {input.shape[1]} elements not {statistic.numel()}"
            )
    kind = input.dtype
    if input._type.rounds:  # the running statistics are written to
        input, weight, bias = widened(input, weight, bias)
        if not training:
            running_mean, running_var = widened(running_mean, running_var)
    out = native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]
    return out if out.dtype is kind else out.to(kind)


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """``batch_norm`` with the batch counted among the channels. RuntimeError without running statistics
    unless ``use_input_stats``; IndexError for less than two dimensions."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    if input.ndim < 2:
        raise IndexError(f"instance_norm: expected at least 2 dimensions, but the input has {input.ndim}")
    batch, channels = input.shape[:2]
    flat = input.contiguous().view(1, batch * channels, *input.shape[2:])
    scale, shift, mean, var = (
        None if p is None else p.repeat(batch) for p in (weight, bias, running_mean, running_var)
    )
    out = batch_norm(flat, scale, shift, mean, var, use_input_stats, momentum, eps, cudnn_enabled)
    if use_input_stats and input.numel():
        with no_grad():
            for statistic, moved in ((running_mean, mean), (running_var, var)):
                if statistic is not None and moved is not None:
                    statistic.copy_(moved.view(batch, channels).mean(0))
    return out.view(input.shape)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """Normalisation over each group of channels; IndexError for fewer than two dims."""
    if input.ndim < 2:
        raise IndexError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels, *spatial = input.shape
    sizes = batch, channels, prod(spatial), num_groups
    return F.native_group_norm(input, weight, bias, *sizes, eps)[0]


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
) -> Tensor:
    """Division by the root mean square. RuntimeError where ``normalized_shape`` is not that of the last
    dimensions; NotImplementedError for integers."""
    if eps is None:
        eps = finfo(input.dtype).eps if input.is_floating_point() or input.is_complex() else 0.0
    fused = has_operator(input._type, "_native_rms_norm_backward")
    if fused and (weight is None or weight._type is input._type):
        return F._native_rms_norm(input, normalized_shape, weight, eps)[0]
    from ..core.errors import explain
    from ..kernels.bodies import check_shared
    from ..kernels.dims import axes_of_rows

    try:
        axes = axes_of_rows(tuple(input.shape), tuple(normalized_shape), "normalized_shape")
        sizes = tuple([input.shape[d] for d in axes])
        check_shared(sizes, [] if weight is None else [tuple(weight.shape)])
    except RuntimeError as error:
        raise explain(error, "rms_norm") from None
    if not (input.is_floating_point() or input.is_complex()):
        raise NotImplementedError(f"rms_norm: not implemented for {input.dtype}")
    dims = tuple(range(-len(normalized_shape), 0))
    out = input * ((input * input).mean(dims, True) + eps).rsqrt()
    if weight is not None:
        out = out * weight
    return out.to(input.dtype).contiguous()
