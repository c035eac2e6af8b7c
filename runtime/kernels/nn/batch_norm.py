"""Batch normalisation: a channel shares its statistics over the batch, or has running ones.

``rstd`` is ``1 / sqrt(variance + eps)``, the variance being the biased one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.costs import CHANNEL_FEW
from . import channels
from .common import Array
from .normalization import Gradients


def batch_shapes(input: Array, parameters: dict[str, Array | None]) -> tuple[int, int, int]:
    """(batch, channels, places) of the input. Meta shares it.

    Raises RuntimeError when a weight, bias or running statistic has not one element a channel.
    """
    if input.ndim < 2:
        raise IndexError(f"Expected input to be at least 2-dimensional, but got {input.ndim}D")
    channels = input.shape[1]
    for name, parameter in parameters.items():
        if parameter is not None and parameter.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {parameter.size}")
    return input.shape[0], channels, math.prod(input.shape[2:])


def _by_place(x: Array) -> Array:
    """A matrix with a row for each place of each sample, and a column for each channel."""
    if x.ndim == 2:
        return x
    batch, depth = x.shape[:2]
    return x.reshape(batch, depth, -1).swapaxes(1, 2).reshape(-1, depth)


def _by_channel(table: Array, like: Array) -> Array:
    """What ``_by_place`` made a matrix of, in the shape that ``like`` has."""
    if like.ndim == 2:
        return table
    batch, depth = like.shape[:2]
    return np.ascontiguousarray(table.reshape(batch, -1, depth).swapaxes(1, 2)).reshape(like.shape)


def batch_norm_with_stats(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    eps: float,
) -> tuple[Array, Array, Array, Array]:
    """The input normalised for each channel, by its own statistics when training, else by the running ones.

    Results: the output and, when training, mean, rstd and unbiased variance of each channel (else
    empty). Raises RuntimeError without running statistics when not training.
    """
    parameters = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    batch, depth, places = batch_shapes(input, parameters)
    count = batch * places
    few = places == 1 or batch * places <= CHANNEL_FEW
    if training and few and channels.are_native(input, weight, bias):
        found = channels.normalised_columns(_by_place(input), weight, bias, eps)
        return _by_channel(found[0], input), *found[1:]
    if training:
        mean, variance = channels.moments(input.reshape(batch, depth, places))
        rstd = 1 / np.sqrt(variance + eps)
        statistics = mean, rstd, variance * (count / (count - 1) if count > 1 else math.nan)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        mean, rstd = running_mean, 1 / np.sqrt(running_var + eps)
        nothing = np.empty(0, input.dtype)
        statistics = nothing, nothing, nothing
    out = channels.affine(input.reshape(batch, depth, places), mean, rstd, weight, bias)
    return out.reshape(input.shape), *statistics


def native_batch_norm_backward(
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
    batch, depth, places = batch_shapes(input, {})
    mean: Any = save_mean if train else running_mean
    rstd: Any = save_invstd if train else 1 / np.sqrt(running_var + eps)  # type: ignore[operator]
    few = places == 1 or batch * places <= CHANNEL_FEW
    if train and few and channels.are_native(input, grad_out, mean, rstd, weight):
        tables = _by_place(grad_out), _by_place(input)
        for_x, for_weight, for_bias = channels.column_gradients(*tables, mean, rstd, weight, output_mask[0])
        return (
            None if for_x is None else _by_channel(for_x, input),
            for_weight if output_mask[1] and weight is not None else None,
            for_bias if output_mask[2] else None,
        )
    x, g = input.reshape(batch, depth, places), grad_out.reshape(batch, depth, places)
    plain = product = grad_input = grad_weight = grad_bias = None
    if train or output_mask[1] or output_mask[2]:
        plain, product = channels.sums_by_channel(g, x, mean, rstd)
    if output_mask[1] and weight is not None:
        grad_weight = product * rstd
    if output_mask[2]:
        grad_bias = plain
    if output_mask[0]:
        scale = rstd if weight is None else rstd * weight
        count = max(batch * places, 1)
        if train:
            grad_input = channels.combined_by_channel(
                g, x, mean, rstd, scale, product * (scale * rstd * rstd / -count), plain * (scale / -count)
            )
        else:
            grad_input = g * scale[:, None]
        grad_input = grad_input.reshape(input.shape)
    return grad_input, grad_weight, grad_bias
