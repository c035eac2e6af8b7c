"""Layer and group normalisation; batch normalisation is in batch_norm.py.

They subtract a mean, divide by a standard deviation and apply a scale and a shift; they differ
in which elements share statistics. Here every input is seen as (outer, inner) or (batch, channels,
places) arrays; ``rstd`` is ``1 / sqrt(variance + eps)``, the variance being the biased one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.costs import GROUPS_SMALL, ROWS_LARGE, WEIGHTS_REPEATED
from ...machine_code import shared_from
from .. import rows, sums
from ..copies import in_rows
from ..native_kernels import kernels
from ..native_rows import rows_of
from ..shares import share_columns, share_rows
from . import channels
from .common import Array, Shape

Gradients = tuple[Array | None, Array | None, Array | None]


# -------------------------------------------------------------------------------- layers


def _repeated(row: Array | None, step: int, groups: int) -> Array | None:
    """A row as often as a block of rows needs it: arithmetic without broadcasting takes half the time."""
    if row is None or groups < WEIGHTS_REPEATED * step:
        return row
    return np.broadcast_to(row, (step, row.size)).copy()


def _first(repeated: Array | None, count: int) -> Array | None:
    """What ``count`` rows need of ``_repeated``."""
    return repeated if repeated is None or repeated.ndim == 1 else repeated[:count]


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
    groups, count = rows_of(input.shape, tuple(normalized_shape), "normalized_shape", True).laid
    dtype = input.dtype
    grad, table = grad_out.reshape(groups, count), input.reshape(groups, count)
    large = input.size > ROWS_LARGE and count > 0
    flat = None if weight is None else weight.reshape(-1)
    native = channels.are_native(table, grad, mean, rstd, flat)
    if native and not large:
        found = _gradients_of_few(grad, table, mean.reshape(-1), rstd.reshape(-1), flat, output_mask)
        sizes = tuple(normalized_shape)
        return _shaped(found[0], input.shape), _shaped(found[1], sizes), _shaped(found[2], sizes)
    # Native kernels read a block twice, and stay in the cache meanwhile.
    step = rows.rows_of_block((1 + native) * count * input.itemsize) if large else max(groups, 1)
    blocks = rows.blocks_of(groups, step)
    out = np.empty(input.shape, dtype) if output_mask[0] else None
    for_weight = np.zeros((blocks, count), dtype) if output_mask[1] and weight is not None else None
    for_bias = np.zeros((blocks, count), dtype) if output_mask[2] else None
    means, rstds = mean.reshape(groups, 1), rstd.reshape(groups, 1)
    result = None if out is None else out.reshape(groups, count)
    task = _gradients_natively if native else _normalise_backward
    spread = _repeated(flat, step, groups) if large and not native else flat

    def block(number: int, begin: int, end: int) -> None:
        part = slice(begin, end)
        task(
            grad[part],
            table[part],
            means[part],
            rstds[part],
            None if result is None else result[part],
            flat,
            _first(spread, end - begin),
            None if for_weight is None else for_weight[number],
            None if for_bias is None else for_bias[number],
        )

    if out is None and for_weight is None and for_bias is None:
        pass
    elif large:
        rows.each_block(block, groups, step, count)
    elif groups:
        block(0, 0, groups)
    return (
        out,
        None if for_weight is None or weight is None else _total(for_weight, weight.shape),
        None if for_bias is None else _total(for_bias, tuple(normalized_shape)),
    )


def _shaped(array: Array | None, shape: Shape) -> Array | None:
    """The array in a shape; None where there is none."""
    return None if array is None else array.reshape(shape)


def _gradients_of_few(
    grad: Array, table: Array, mean: Array, rstd: Array, weight: Array | None, output_mask: Sequence[bool]
) -> Gradients:
    """The gradients of all rows at once, by native kernels."""
    out = for_weight = for_bias = None
    if output_mask[0] and weight is None:
        out = kernels.normalize_backward(grad, table, mean, rstd)
    elif output_mask[0]:
        out = kernels.normalize_scaled_backward(grad, table, mean, rstd, weight)
    if output_mask[1] and weight is not None:
        for_weight, for_bias = kernels.affine_gradients(grad, table, mean, rstd)
    elif output_mask[2]:
        for_bias = kernels.column_sum(grad)
    return out, for_weight, for_bias if output_mask[2] else None


def _gradients_natively(
    grad: Array,
    table: Array,
    mean: Array,
    rstd: Array,
    out: Array | None,
    weight: Array | None,
    spread: Array | None,
    for_weight: Array | None,
    for_bias: Array | None,
) -> None:
    """``_normalise_backward`` by native kernels: of rows, and of columns while these are in the cache."""
    means, rstds = mean[:, 0], rstd[:, 0]
    if out is not None and weight is None:
        kernels.normalize_backward(grad, table, means, rstds, out=out)
    elif out is not None:
        kernels.normalize_scaled_backward(grad, table, means, rstds, weight, out=out)
    if for_weight is not None:
        kernels.affine_gradients(grad, table, means, rstds, out=(for_weight, for_bias))
    elif for_bias is not None:
        kernels.column_sum(grad, out=for_bias)


def _total(partial: Array, shape: Shape) -> Array:
    """The sum of what the blocks have contributed."""
    return (partial if len(partial) == 1 else np.add.reduce(partial, 0)).reshape(shape)


def _normalise_backward(
    grad: Any,
    table: Any,
    mean: Any,
    rstd: Any,
    out: Array | None,
    weight: Array | None,
    spread: Array | None,
    for_weight: Array | None,
    for_bias: Array | None,
) -> None:
    """The gradients of ``_normalise``, each into its array; ``spread`` is the weight as each row needs it."""
    if for_bias is not None:
        for_bias[...] = sums.sum_along(grad, 0)[0]
    if out is None and for_weight is None:
        return
    count = table.shape[1] or 1
    less, mean = channels.split(mean, rstd)
    if less is not None:
        table = table - less
    if weight is None or spread is None:
        product = np.empty_like(out)
        np.multiply(grad, rstd, out=out)
        through_mean = sums.sum_along(grad, 1)
        through_rstd = np.vecdot(grad, table)[:, None]
    else:
        product = grad * table
        if for_weight is not None:
            for_weight[...] = sums.sum_columns(product, rstd[:, 0])
            for_weight -= sums.sum_columns(grad, (rstd * mean)[:, 0])
        if out is None:
            return
        np.multiply(grad, spread, out=out)
        out *= rstd
        through_mean = sums.matvec(grad, weight)[:, None]
        through_rstd = sums.matvec(product, weight)[:, None]
    # rstd * (g - mean(g) - n * mean(g n)), n = (x - mean) * rstd: what is of x by itself, and the rest
    through_rstd -= mean * through_mean
    through_rstd *= rstd * rstd * rstd / count
    through_mean *= rstd / count
    through_mean -= mean * through_rstd
    out -= np.multiply(table, through_rstd, out=product)
    out -= through_mean


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
