"""Batch, layer and group normalisation.

All three subtract a mean, divide by a standard deviation and apply a scale and a shift; they differ
in which elements share statistics. Here every input is seen as (outer, inner) or (batch, channels,
places) arrays; ``rstd`` is ``1 / sqrt(variance + eps)``, the variance being the biased one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tengen.native import sums
from tengen.native.nn.common import Array, Shape

Gradients = tuple[Array | None, Array | None, Array | None]


def _mean_of_product(a: Array, b: Array, subscripts: str, count: int) -> Array:
    """A mean of ``a * b`` over the axes that ``subscripts`` drops, without a temporary of their size."""
    return np.einsum(subscripts, a, b) / np.asarray(count, a.dtype)


def _inner_gradient(grad: Array, normalised: Array, rstd: Array, axes: tuple[int, ...], count: int) -> Array:
    """The gradient through the statistics: ``rstd * (g - mean(g) - n * mean(g n))``, n normalised."""
    product = grad * normalised
    out = normalised * (product.sum(axes, keepdims=True) / -count)
    out += grad
    out -= grad.sum(axes, keepdims=True) / count
    out *= rstd
    return np.asarray(out)


def _inner_gradient_of_rows(grad: Array, normalised: Array, rstd: Array, count: int) -> Array:
    """As ``_inner_gradient`` for matrices and their rows; ``normalised`` is written over."""
    normalised *= np.vecdot(grad, normalised)[:, None] / -count
    normalised += grad
    normalised -= sums.sum_along(grad, 1) / count
    normalised *= rstd
    return normalised


# -------------------------------------------------------------------------------- layers


def layer_shapes(
    input: Array, normalized_shape: Shape, weight: Array | None, bias: Array | None
) -> tuple[int, int, Shape]:
    """How many groups of how many elements, and the shape of the statistics. Meta shares it.

    Raises RuntimeError when the input does not end in ``normalized_shape`` or weight and bias differ from it.
    """
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            "but got normalized_shape = []"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != normalized_shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(parameter.shape)} and normalized_shape = {list(normalized_shape)}"
            )
    axis = input.ndim - len(normalized_shape)
    if axis < 0 or input.shape[axis:] != normalized_shape:
        expected = ", ".join(["*", *[str(n) for n in normalized_shape]])
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [{expected}], "
            f"but got input of size {list(input.shape)}"
        )
    statistics = (*input.shape[:axis], *[1] * len(normalized_shape))
    return math.prod(input.shape[:axis]), math.prod(normalized_shape), statistics


def native_layer_norm(
    input: Array, normalized_shape: Shape, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """The normalised input, and mean and rstd of each group (shape (*outer, 1, ..., 1))."""
    groups, count, statistics = layer_shapes(input, tuple(normalized_shape), weight, bias)
    flat = input.reshape(groups, count)
    out, mean, rstd = _normalised_rows(flat, eps)
    if weight is not None:
        out *= weight.reshape(-1)
    if bias is not None:
        out += bias.reshape(-1)
    return out.reshape(input.shape), mean.reshape(statistics), rstd.reshape(statistics)


def _normalised_rows(flat: Array, eps: float) -> tuple[Array, Array, Array]:
    """Each row with mean 0 and variance 1, in a new array; the means and the rstds as columns."""
    count = max(flat.shape[1], 1)
    mean = sums.sum_along(flat, 1) / np.asarray(count, flat.dtype)
    out = flat - mean
    variance = (np.vecdot(out, out) / np.asarray(count, flat.dtype))[:, None]
    variance += eps
    rstd = 1 / np.sqrt(variance)
    out *= rstd
    return out, mean, rstd


def native_layer_norm_backward(
    grad_out: Array,
    input: Array,
    normalized_shape: Shape,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    output_mask: Sequence[bool],
) -> Gradients:
    """Gradients of input, weight and bias; None where there is none or the mask does not ask for it."""
    groups, count, _ = layer_shapes(input, tuple(normalized_shape), None, None)
    grad = grad_out.reshape(groups, count)
    column = rstd.reshape(groups, 1)
    normalised = input.reshape(groups, count) - mean.reshape(groups, 1)
    normalised *= column
    grad_input = grad_weight = grad_bias = None
    if output_mask[1] and weight is not None:
        grad_weight = np.einsum("ij,ij->j", grad, normalised).reshape(weight.shape)
    if output_mask[2]:
        grad_bias = sums.sum_along(grad, 0).reshape(tuple(normalized_shape))
    if output_mask[0]:
        inner = grad if weight is None else grad * weight.reshape(-1)
        grad_input = _inner_gradient_of_rows(inner, normalised, column, max(count, 1)).reshape(input.shape)
    return grad_input, grad_weight, grad_bias


# -------------------------------------------------------------------------------- groups


def group_shapes(input: Array, weight: Array | None, bias: Array | None, channels: int, group: int) -> None:
    """Raises RuntimeError when the channels do not divide into groups or weight and bias do not fit."""
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if channels % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={group}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                f"{name} of shape {list(parameter.shape)} and input of shape {list(input.shape)}"
            )


def native_group_norm(
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
    group_shapes(input, weight, bias, C, group)
    out, mean, rstd = _normalised_rows(input.reshape(N * group, C // group * HxW), eps)
    by_channel = out.reshape(N, C, HxW)
    if weight is not None:
        by_channel *= weight[:, None]
    if bias is not None:
        by_channel += bias[:, None]
    return out.reshape(input.shape), mean.reshape(N, group), rstd.reshape(N, group)


def native_group_norm_backward(
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
    rows, count = N * group, C // group * HxW
    column = rstd.reshape(rows, 1)
    normalised = input.reshape(rows, count) - mean.reshape(rows, 1)
    normalised *= column
    by_channel = grad_out.reshape(N, C, HxW)
    grad_input = grad_weight = grad_bias = None
    if output_mask[1] and weight is not None:
        grad_weight = np.einsum("ncl,ncl->c", by_channel, normalised.reshape(N, C, HxW))
    if output_mask[2]:
        grad_bias = by_channel.sum((0, 2))
    if output_mask[0]:
        inner = (by_channel if weight is None else by_channel * weight[:, None]).reshape(rows, count)
        grad_input = _inner_gradient_of_rows(inner, normalised, column, max(count, 1)).reshape(input.shape)
    return grad_input, grad_weight, grad_bias


# ------------------------------------------------------------------------------- batches


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
    batch, channels, places = batch_shapes(input, parameters)
    flat = input.reshape(batch, channels, places)
    if training:
        count = max(batch * places, 1)
        mean = flat.sum((0, 2)) / np.asarray(count, flat.dtype)
        out = flat - mean[:, None]
        variance = _mean_of_product(out, out, "ncl,ncl->c", count)
        scale = 1 / np.sqrt(variance + eps)
        statistics = mean, scale, variance * (count / (count - 1) if count > 1 else math.nan)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        out = flat - running_mean[:, None]
        scale = 1 / np.sqrt(running_var + eps)
        nothing = np.empty(0, input.dtype)
        statistics = nothing, nothing, nothing
    out *= (scale if weight is None else scale * weight)[:, None]
    if bias is not None:
        out += bias[:, None]
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
    batch, channels, places = batch_shapes(input, {})
    mean: Any = save_mean if train else running_mean
    rstd: Any = save_invstd if train else 1 / np.sqrt(running_var + eps)  # type: ignore[operator]
    grad = grad_out.reshape(batch, channels, places)
    column = rstd[:, None]
    normalised: Any = None
    if train or output_mask[1]:
        normalised = input.reshape(batch, channels, places) - mean[:, None]
        normalised *= column
    grad_input = grad_weight = grad_bias = None
    if output_mask[1] and weight is not None:
        grad_weight = np.einsum("ncl,ncl->c", grad, normalised)
    if output_mask[2]:
        grad_bias = grad.sum((0, 2))
    if output_mask[0]:
        if train:
            inner = _inner_gradient(grad, normalised, column, (0, 2), max(batch * places, 1))
            if weight is not None:
                inner *= weight[:, None]
        else:
            inner = grad * (column if weight is None else column * weight[:, None])
        grad_input = inner.reshape(input.shape)
    return grad_input, grad_weight, grad_bias
