"""Group normalisation; batch normalisation is in batch_norm.py, and the others are bodies.

Every input is seen as (outer, inner) or (batch, channels, places) arrays; ``rstd`` is
``1 / sqrt(variance + eps)``, the variance being the biased one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.costs import GROUPS_SMALL
from ...machine_code import shared_from
from .. import rows, sums
from ..copies import in_rows
from ..native_kernels import kernels
from ..shares import share_columns, share_rows
from . import channels
from .common import Array, Shape

Gradients = tuple[Array | None, Array | None, Array | None]


def _normalise(
    table: Array,
    out: Array,
    mean: Array,
    rstd: Array,
    eps: float,
    weight: Array | None,
    bias: Array | None,
    scaled: bool = True,
) -> None:
    """Each row with mean 0 and variance 1, times ``weight`` plus ``bias``; the statistics are columns.

    Unless ``scaled``, the rows have mean 0 only.
    """
    count = table.shape[1] or 1
    np.divide(sums.sum_along(table, 1), count, out=mean)
    np.subtract(table, mean, out=out)
    rest = sums.sum_along(out, 1) / count  # what the mean lacks, having been rounded
    mean += rest
    out -= rest
    _reciprocal_deviation(out, rstd, count, eps)
    if scaled:
        out *= rstd
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias


def _reciprocal_deviation(centred: Array, rstd: Array, count: int, eps: float) -> None:
    """Put ``1 / sqrt(variance + eps)`` of rows, less their means already, into the column ``rstd``."""
    np.vecdot(centred, centred, out=rstd[:, 0])
    rstd /= count
    rstd += eps
    np.sqrt(rstd, out=rstd)
    np.reciprocal(rstd, out=rstd)


def _shaped(array: Array | None, shape: Shape) -> Array | None:
    """The array in a shape; None where there is none."""
    return None if array is None else array.reshape(shape)


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


def check_group_size(input: Array, N: int, C: int, HxW: int) -> None:
    """Raises RuntimeError unless there are ``N * C * HxW`` elements."""
    if input.size != N * C * HxW:
        raise RuntimeError(f"expected {N} * {C} * {HxW} elements, but the input has {input.size}")


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
    check_group_size(input, N, C, HxW)
    dtype = input.dtype
    native = channels.are_native(input, weight, bias)
    if native and C * HxW <= GROUPS_SMALL:
        return _small_groups_normalised(
            in_rows(input).reshape(N, group, -1), weight, bias, HxW, eps, input.shape
        )
    out, mean, rstd = np.empty(input.shape, dtype), np.empty((N, group), dtype), np.empty((N, group), dtype)
    operands = input.reshape(N, C * HxW), out.reshape(N, C * HxW), mean, rstd

    def natively(table: Array, out: Array, mean: Array, rstd: Array) -> None:
        samples = len(table)
        groups = in_rows(table).reshape(samples, group, -1)
        near, rest, variance = kernels.moments(groups)
        np.add(near, rest, out=mean)
        np.reciprocal(np.sqrt(variance + dtype.type(eps)), out=rstd)
        each = (samples, group, C // group)
        scale = rstd[:, :, None] if weight is None else rstd[:, :, None] * weight.reshape(each[1:])
        shift = dtype.type(0) if bias is None else bias.reshape(each[1:])
        kernels.scale_and_shift(
            groups.reshape(*each, HxW),
            near[:, :, None],
            scale,
            shift - rest[:, :, None] * scale,
            out=out.reshape(*each, HxW),
        )

    def some(table: Array, out: Array, mean: Array, rstd: Array) -> None:
        shape = len(table) * group, C // group * HxW
        normalised, column = out.reshape(shape), rstd.reshape(-1, 1)
        _normalise(
            table.reshape(shape), normalised, mean.reshape(-1, 1), column, eps, None, None, weight is None
        )
        by_channel = out.reshape(len(table), C, HxW)
        if weight is not None:
            scale = column.reshape(len(table), group, 1) * weight.reshape(group, -1)
            by_channel *= scale.reshape(len(table), C, 1)
        if bias is not None:
            by_channel += bias[:, None]

    rows.run(natively if native else some, *operands, columns=HxW)
    return out, mean, rstd


def _small_groups_normalised(
    table: Array, weight: Array | None, bias: Array | None, places: int, eps: float, shape: Shape
) -> tuple[Array, Array, Array]:
    """(samples, groups, elements) normalised by one native kernel, in a shape; mean and rstd of groups."""
    kernel, dtype = kernels.normalize_groups, table.dtype
    shared = _of_groups(weight, 1, table, places), _of_groups(bias, 0, table, places), dtype.type(eps)
    if table.size < shared_from(kernel):
        out, mean, rstd = kernel(table, *shared)
        return out.reshape(shape), mean, rstd
    out, mean, rstd = np.empty(shape, dtype), *np.empty((2, *table.shape[:2]), dtype)
    share_rows(kernel, (table,), shared, (out.reshape(table.shape), mean, rstd))
    return out, mean, rstd


def _of_groups(parameter: Array | None, absent: int, table: Array, places: int) -> Array:
    """What each element of a group has of a number for each channel; ``absent`` where there is none."""
    shape = table.shape[1:]
    if parameter is None:
        return np.full(shape, absent, table.dtype)
    return parameter.repeat(places).reshape(shape)


def _gradients_of_small_groups(
    grad: Array,
    table: Array,
    mean: Array,
    rstd: Array,
    weight: Array | None,
    places: int,
    mask: Sequence[bool],
) -> Gradients:
    """The gradients of (samples, groups, elements) by native kernels alone; parameters' by channel."""
    out = for_weight = for_bias = None
    if mask[0]:
        out = np.empty(table.shape, table.dtype)
        scale = _of_groups(weight, 1, table, places)
        kernel = kernels.normalize_scaled_backward
        share_rows(kernel, (grad, table, mean, rstd), (scale,), (out,))
    if mask[1] or mask[2]:
        g, x, means, rstds = (a.swapaxes(0, 1) for a in (grad, table, mean, rstd))
        found = [np.empty(table.shape[1:], table.dtype) for _ in range(2)]
        share_columns(kernels.affine_gradients, (g, x), (means, rstds), found)
        for_weight, for_bias = [np.add.reduce(a.reshape(-1, places), 1) for a in found]
    return out, for_weight if mask[1] and weight is not None else None, for_bias if mask[2] else None


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
    if C * HxW <= GROUPS_SMALL and channels.are_native(input, grad_out, mean, rstd, weight):
        grad, table = (in_rows(a).reshape(N, group, -1) for a in (grad_out, input))
        found = _gradients_of_small_groups(grad, table, mean, rstd, weight, HxW, output_mask)
        return _shaped(found[0], input.shape), found[1], found[2]
    count = max(C // group * HxW, 1)
    centre = np.repeat(mean.reshape(-1), C // group)
    x, g = input.reshape(N * C, HxW), grad_out.reshape(N * C, HxW)
    # Of each channel of each sample: the sum of g, and of g times the input less its mean.
    plain, product = channels.sums_of_gradients(g, x, centre, np.repeat(rstd.reshape(-1), C // group))
    plain, product = plain.reshape(N, C), product.reshape(N, C)
    grad_input = grad_weight = grad_bias = None
    if output_mask[1] and weight is not None:
        by_group = product.reshape(N, group, C // group) * rstd.reshape(N, group, 1)
        grad_weight = np.add.reduce(by_group.reshape(N, C), 0)
    if output_mask[2]:
        grad_bias = np.add.reduce(plain, 0)
    if output_mask[0]:
        scale = np.repeat(rstd.reshape(N, group), C // group, 1)
        if weight is not None:
            scale *= weight
            plain, product = plain * weight, product * weight
        deviation = rstd.reshape(N, group, 1)
        through_rstd = np.add.reduce(product.reshape(N, group, C // group), 2, keepdims=True)
        through_rstd *= deviation * deviation * deviation / -count
        through_mean = np.add.reduce(plain.reshape(N, group, C // group), 2, keepdims=True)
        through_mean *= deviation / -count
        each = (N, group, C // group)
        grad_input = channels.combined(
            g,
            x,
            centre,
            scale,
            np.broadcast_to(through_rstd, each),
            np.broadcast_to(through_mean, each),
        ).reshape(input.shape)
    return grad_input, grad_weight, grad_bias
