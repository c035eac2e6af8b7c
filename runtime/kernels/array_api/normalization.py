"""Normalisations and their gradients; the names are those of ``kernels.nn.normalization``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..nn import normalization as host
from ..nn.batch_norm import batch_shapes
from .common import Array, as_array

Shape = Sequence[int]
Gradients = tuple[Array | None, Array | None, Array | None]


def _statistics(xp: Any, x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """What is left of the mean, the mean, and ``1 / sqrt(variance + eps)``; dimensions stay with size 1."""
    count = math.prod([x.shape[d] for d in axes]) or 1
    mean = xp.sum(x, axis=axes, keepdims=True) / as_array(xp, count, x)
    centred = x - mean
    rest = xp.sum(centred, axis=axes, keepdims=True) / as_array(xp, count, x)  # what was rounded away
    mean, centred = mean + rest, centred - rest
    variance = xp.sum(centred * centred, axis=axes, keepdims=True) / as_array(xp, count, x)
    return centred, mean, 1 / xp.sqrt(variance + eps)


def _input_gradient(xp: Any, g: Array, normalised: Array, rstd: Array, axes: tuple[int, ...]) -> Array:
    """The gradient of ``centred * rstd`` by what was normalised over ``axes``."""
    count = as_array(xp, math.prod([g.shape[d] for d in axes]) or 1, g)
    mean = xp.sum(g, axis=axes, keepdims=True) / count
    along = xp.sum(g * normalised, axis=axes, keepdims=True) / count
    return (g - mean - normalised * along) * rstd


def native_group_norm(
    xp: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The input normalised over each group of channels of each sample; mean and rstd (N, group)."""
    host.group_shapes(input, weight, bias, C, group)
    host.check_group_size(input, N, C, HxW)
    centred, mean, rstd = _statistics(xp, xp.reshape(input, (N, group, C // group * HxW)), (2,), eps)
    out = xp.reshape(centred * rstd, (N, C, HxW))
    out = out if weight is None else out * xp.reshape(weight, (C, 1))
    out = out if bias is None else out + xp.reshape(bias, (C, 1))
    return xp.reshape(out, input.shape), xp.reshape(mean, (N, group)), xp.reshape(rstd, (N, group))


def native_group_norm_backward(
    xp: Any,
    grad_out: Array,
    input: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Sequence[bool],
) -> Gradients:
    """Gradients of input, weight and bias; None where there is none or the mask does not ask for it."""
    grouped = (N, group, C // group * HxW)
    scale = xp.reshape(rstd, (N, group, 1))
    normalised = (xp.reshape(input, grouped) - xp.reshape(mean, (N, group, 1))) * scale
    g = xp.reshape(grad_out, (N, C, HxW))
    for_input = for_weight = for_bias = None
    if output_mask[0]:
        given = g if weight is None else g * xp.reshape(weight, (C, 1))
        found = _input_gradient(xp, xp.reshape(given, grouped), normalised, scale, (2,))
        for_input = xp.reshape(found, input.shape)
    if output_mask[1] and weight is not None:
        for_weight = xp.sum(g * xp.reshape(normalised, (N, C, HxW)), axis=(0, 2))
    if output_mask[2]:
        for_bias = xp.sum(g, axis=(0, 2))
    return for_input, for_weight, for_bias


def _by_channel(xp: Any, values: Array, ndim: int) -> Array:
    return xp.reshape(values, (1, -1, *[1] * (ndim - 2)))


def batch_norm_with_stats(
    xp: Any,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    eps: float,
) -> tuple[Array, Array, Array, Array]:
    """The input normalised for each channel, by its own statistics when training, else by the running ones.

    Results: the output and, when training, mean, rstd and unbiased variance of each channel (else empty).
    RuntimeError without running statistics unless training.
    """
    parameters = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    batch, channels, places = batch_shapes(input, parameters)
    axes = (0, *range(2, input.ndim))
    if training:
        count = batch * places
        centred, mean, rstd = _statistics(xp, input, axes, eps)
        out = centred * rstd
        unbiased = count - 1 if count > 1 else math.nan
        variance = xp.sum(centred * centred, axis=axes) / as_array(xp, unbiased, input)
        statistics = xp.reshape(mean, (channels,)), xp.reshape(rstd, (channels,)), variance
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        rstd = 1 / xp.sqrt(running_var + eps)
        out = (input - _by_channel(xp, running_mean, input.ndim)) * _by_channel(xp, rstd, input.ndim)
        nothing = xp.zeros((0,), dtype=input.dtype)
        statistics = nothing, nothing, nothing
    out = out if weight is None else out * _by_channel(xp, weight, input.ndim)
    return out if bias is None else out + _by_channel(xp, bias, input.ndim), *statistics


def native_batch_norm_backward(
    xp: Any,
    grad_out: Array,
    input: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array | None,
    save_invstd: Array | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> Gradients:
    """Gradients of input, weight and bias; None where there is none or the mask does not ask for it."""
    batch_shapes(input, {})
    axes = (0, *range(2, input.ndim))
    mean: Any = save_mean if train else running_mean
    variance: Any = running_var
    rstd: Any = save_invstd if train else 1 / xp.sqrt(variance + eps)
    scale = _by_channel(xp, rstd, input.ndim)
    normalised = (input - _by_channel(xp, mean, input.ndim)) * scale
    for_input = for_weight = for_bias = None
    if output_mask[0]:
        g = grad_out if weight is None else grad_out * _by_channel(xp, weight, input.ndim)
        for_input = _input_gradient(xp, g, normalised, scale, axes) if train else g * scale
    if output_mask[1] and weight is not None:
        for_weight = xp.sum(grad_out * normalised, axis=axes)
    if output_mask[2]:
        for_bias = xp.sum(grad_out, axis=axes)
    return for_input, for_weight, for_bias
