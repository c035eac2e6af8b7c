"""Statistics of channels, and arithmetic with a number for each of them, by blocks of rows.

Arrays are (batch, channels, places). Where there are enough places a row is a channel of a sample;
where there is one place, it is a sample; else the arrays are taken as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.costs import CHANNEL_PLACES, NATIVE_GRAIN
from ...machine_code import shared_from
from .. import rows, sums
from ..copies import in_rows
from ..native_kernels import kernels
from ..shares import share_columns, share_rows
from .common import Array

#: How many standard deviations a mean may be from zero, where sums of squares and products are formed of
#: values from which it has not been subtracted.
MODERATE = 2.0


def _column(values: Array, batch: int) -> Array:
    """A number for each channel as a column with a row for each channel of each sample."""
    return _of_rows(values, batch)[:, None]


def _of_rows(values: Array, batch: int) -> Array:
    """A number for each channel as one for each row, which is a channel of a sample."""
    return np.broadcast_to(values, (batch, values.size)).reshape(-1)


def are_native(table: Array, *others: Array | None) -> bool:
    """Whether native kernels take arrays: they are of one dtype, and the first one, a table, not empty."""
    return (
        table.size > 0
        and table.dtype.char in "fd"
        and all([o is None or o.dtype == table.dtype for o in others])
        and kernels.combine is not None
    )


# -- statistics --------------------------------------------------------------------------------


def moments(x: Array) -> tuple[Array, Array]:
    """Mean and (biased) variance of each channel."""
    if are_native(x):
        return _native_moments(x)
    mean, variance = _moments_about(x, None)
    enough = _outweighs(variance, mean)
    if enough.all():
        return mean, variance
    rest, about = _moments_about(x, mean)
    mean = np.where(enough | np.isinf(mean), mean, mean + rest)
    return mean, np.where(enough, variance, np.maximum(about, 0))


def _moments_about(x: Array, centre: Array | None) -> tuple[Array, Array]:
    """Mean and variance of each channel less its ``centre``, of sums of values and of their squares."""
    batch, depth, places = x.shape
    count = max(batch * places, 1)
    if places >= CHANNEL_PLACES and batch:
        total, squares = np.empty((2, batch * depth), x.dtype)
        less = [] if centre is None else [_column(centre, batch)]
        rows.run(_sums_and_squares, x.reshape(batch * depth, places), total, squares, *less)
        total, squares = (np.add.reduce(a.reshape(batch, depth), 0) for a in (total, squares))
    elif places == 1:
        table = x.reshape(batch, depth)
        if centre is not None:
            table = table - centre
        total, squares = sums.sum_along(table, 0)[0], sums.sum_along(table * table, 0)[0]
    else:
        if centre is not None:
            x = x - centre[:, None]
        total, squares = np.add.reduce(x, (0, 2)), np.einsum("ncl,ncl->c", x, x)
    mean = total / count
    return mean, squares / count - mean * mean


def _native_moments(x: Array) -> tuple[Array, Array]:
    """The same by native kernels: of the moments of rows, or of columns where rows would be short."""
    batch, depth, places = x.shape
    if places >= CHANNEL_PLACES:
        found = np.empty((3, batch, depth), x.dtype)
        table = in_rows(x).reshape(batch * depth, places)
        share_rows(kernels.moments, (table,), (), tuple(found.reshape(3, -1)))
        return _moments_together(*found)
    found = np.empty((3, depth * places), x.dtype)
    share_columns(kernels.column_moments, (_as_columns(x),), (), tuple(found))
    return _moments_together(*found.reshape(3, depth, places).swapaxes(1, 2))


def _moments_together(near: Array, rest: Array, variances: Array) -> tuple[Array, Array]:
    """The moments of channels of those of parts of them, which are as large as each other.

    Means come as numbers near them and what these lack. The squares of how they differ add up, in float64:
    there are few.
    """
    means = near.astype(np.float64)
    means += rest
    mean = np.add.reduce(means, 0) / len(means)
    means -= mean
    variance = np.add.reduce(variances + means * means, 0) / len(means)
    return mean.astype(near.dtype), variance.astype(near.dtype)


def _as_columns(x: Array) -> Array:
    """A matrix with a row for each sample."""
    return in_rows(x).reshape(len(x), -1)


def _of_columns(values: Array, places: int) -> Array:
    """A number for each channel as one for each column of ``_as_columns``."""
    return values if places == 1 else values.repeat(places)


def _outweighs(variance: Array, mean: Array) -> Array:
    """For which channels not nearly all of the mean of the squares is the mean's: else begin without it."""
    found: Array = mean * mean <= variance * (MODERATE * MODERATE)
    return found


def _sums_and_squares(table: Array, total: Array, squares: Array, *centre: Array) -> None:
    for column in centre:
        table = table - column
    total[...] = sums.sum_rows(table)
    np.vecdot(table, table, out=squares)


# -- forward -----------------------------------------------------------------------------------


def affine(x: Array, mean: Array, rstd: Array, weight: Array | None, shift: Array | None) -> Array:
    """``(x - mean) * rstd * weight + shift`` for each channel, in a new array."""
    batch, depth, places = x.shape
    scale = rstd if weight is None else rstd * weight
    if are_native(x, mean, scale, shift):
        return _native_affine(x, mean, scale, np.zeros_like(scale) if shift is None else shift)
    less, rest = split(mean, rstd)
    shift = without(np.zeros_like(scale) if shift is None else shift.copy(), scale, rest)
    out = np.empty(x.shape, x.dtype)
    if places == 1:

        def block(table: Array, out: Array) -> None:
            _scale(table, out, less, scale, shift)

        rows.run(block, x.reshape(batch, depth), out.reshape(batch, depth))
        return out

    def some(table: Array, out: Array, *columns: Array) -> None:
        _scale(
            table,
            out,
            None if less is None else columns[0],
            *columns[-2:],
        )

    shape = (batch * depth, places)
    columns = [_column(v, batch) for v in (less, scale, shift) if v is not None]
    rows.run(some, x.reshape(shape), out.reshape(shape), *columns)
    return out


def _native_affine(x: Array, *numbers: Array) -> Array:
    """``(x - mean) * scale + shift`` by a native kernel, the others being a number for each channel."""
    batch, depth, places = x.shape
    out = np.empty(x.shape, x.dtype)
    if places >= CHANNEL_PLACES and x.size < 2 * NATIVE_GRAIN:
        kernels.scale_and_shift(x, *numbers, out=out)
    elif places >= CHANNEL_PLACES:
        table = in_rows(x).reshape(batch * depth, places)
        of_rows = [_of_rows(v, batch) for v in numbers]
        share_rows(kernels.scale_and_shift, (table, *of_rows), (), (out.reshape(table.shape),))
    else:
        of_columns = [_of_columns(v, places) for v in numbers]
        share_rows(kernels.scale_and_shift_columns, (_as_columns(x),), of_columns, (_as_columns(out),))
    return out


def _scale(table: Array, out: Array, mean: Array | None, scale: Array, shift: Array) -> None:
    if mean is None:
        np.multiply(table, scale, out=out)
    else:
        np.subtract(table, mean, out=out)
        out *= scale
    out += shift


# -- backward ----------------------------------------------------------------------------------


def sums_by_channel(grad: Array, x: Array, mean: Array, rstd: Array) -> tuple[Array, Array]:
    """For each channel the sums of ``grad`` and of ``grad * (x - mean)``."""
    batch, depth, places = x.shape
    if places >= CHANNEL_PLACES and batch:
        tables = grad.reshape(batch * depth, places), x.reshape(batch * depth, places)
        every = np.broadcast_to(mean, (batch, depth)).reshape(-1)
        plain, product = sums_of_gradients(*tables, every, rstd)
        return sums.sum_columns(plain.reshape(batch, depth)), sums.sum_columns(product.reshape(batch, depth))
    if are_native(x, grad, mean):
        columns = _as_columns(grad), _as_columns(x)
        plain, product = np.empty((2, depth * places), x.dtype)
        operands = *columns, _of_columns(mean, places)
        share_columns(kernels.column_gradient_sums, operands, (), (plain, product))
        if places == 1:
            return plain, product
        return sums.sum_rows(plain.reshape(depth, places)), sums.sum_rows(product.reshape(depth, places))
    if places == 1:
        table, grads = x.reshape(batch, depth), grad.reshape(batch, depth)
        plain = sums.sum_along(grads, 0)[0]
        less, rest = split(mean, rstd)
        product = grads * (table if less is None else table - less)
        return plain, without(sums.sum_along(product, 0)[0], plain, rest)
    centred = x - mean[:, None]
    return np.add.reduce(grad, (0, 2)), np.einsum("ncl,ncl->c", grad, centred)


def sums_of_gradients(grad: Array, x: Array, mean: Array, rstd: Array) -> tuple[Array, Array]:
    """For each row the sums of ``grad`` and of ``grad * (x - mean)``; ``rstd`` are rows' or channels'."""
    plain, product = np.empty(len(x), x.dtype), np.empty(len(x), x.dtype)
    if are_native(x, grad, mean):
        tables = in_rows(grad), in_rows(x)
        share_rows(kernels.gradient_sums, (*tables, mean), (), (plain, product))
        return plain, product
    less, rest = split(mean, rstd)

    def some(x: Array, grad: Array, rest: Array, plain: Array, product: Array, *less: Array) -> None:
        plain[...] = sums.sum_along(grad, 1)[:, 0]
        np.vecdot(grad, x - less[0][:, None] if less else x, out=product)
        product[...] = without(product, plain, rest)

    rows.run(some, x, grad, rest, plain, product, *([] if less is None else [less]))
    return plain, product


def split(mean: Array, rstd: Array) -> tuple[Array | None, Array]:
    """What to subtract from values at once, and what from their sums later on: each mean is one of the two.

    A mean that is not many standard deviations from zero may wait, which saves going over the values. The
    other one of the two is 0, and changes nothing; None for 0 everywhere. ``rstd`` are rows' or channels'.
    """
    repeated = mean if mean.size == rstd.size else mean.reshape(-1, rstd.size)
    moderate = (np.abs(repeated * rstd) <= MODERATE).reshape(mean.shape)
    if moderate.all():
        return None, mean
    zero = np.zeros((), mean.dtype)
    return np.where(moderate, zero, mean), np.where(moderate, mean, zero)


def without(product: Array, plain: Array, rest: Array) -> Array:
    """``product - plain * rest``, in place of ``product``."""
    return np.subtract(product, plain * rest, where=rest != 0, out=product)


def combined(grad: Array, x: Array, mean: Array | None, a: Array, b: Array, c: Array) -> Array:
    """``a * grad + b * (x - mean) + c`` for rows: as many numbers as rows, in a new array."""
    count = len(x)
    out = np.empty(x.shape, x.dtype)
    if mean is not None and are_native(x, grad, mean, a, b, c):
        tables = in_rows(grad), in_rows(x)
        share_rows(kernels.combine, (*tables, *[v.reshape(count) for v in (mean, a, b, c)]), (), (out,))
        return out
    columns = [v.reshape(count, 1) for v in (a, b, c)]
    if mean is not None:
        columns.append(mean.reshape(count, 1))
    rows.run(_combine, x, grad, out, *columns)
    return out


def combined_by_channel(
    grad: Array, x: Array, mean: Array, rstd: Array, a: Array, b: Array, c: Array
) -> Array:
    """``combined`` for (batch, channels, places) and a number for each channel."""
    batch, depth, places = x.shape
    shape = batch * depth, places
    if places >= CHANNEL_PLACES and are_native(x, grad, mean, a, b, c):
        if x.size < 2 * NATIVE_GRAIN:
            found: Array = kernels.combine(grad, x, mean, a, b, c)
            return found
        every = [_of_rows(v, batch) for v in (mean, a, b, c)]
        return combined(grad.reshape(shape), x.reshape(shape), *every).reshape(x.shape)
    if are_native(x, grad, mean, a, b, c):
        out = np.empty(x.shape, x.dtype)
        of_columns = [_of_columns(v, places) for v in (mean, a, b, c)]
        tables = _as_columns(grad), _as_columns(x)
        share_rows(kernels.combine_columns, tables, of_columns, (_as_columns(out),))
        return out
    less, rest = split(mean, rstd)
    c = without(c, b, rest)
    if places >= CHANNEL_PLACES:
        each: list[Any] = [None if v is None else np.broadcast_to(v, (batch, depth)) for v in (less, a, b, c)]
        return combined(grad.reshape(shape), x.reshape(shape), *each)
    out = np.empty(x.shape, x.dtype)
    if places == 1:
        table = (batch, depth)
        _combine(x.reshape(table), grad.reshape(table), out.reshape(table), a, b, c, less)
    else:
        columns: list[Any] = [None if v is None else v[:, None] for v in (a, b, c, less)]
        _combine(x, grad, out, *columns)
    return out


def _combine(
    x: Array, grad: Array, out: Array, a: Array, b: Array, c: Array, mean: Array | None = None
) -> None:
    np.multiply(grad, a, out=out)
    if mean is None:
        out += x * b
    else:
        through = x - mean
        through *= b
        out += through
    out += c


# -- columns, by native kernels alone ----------------------------------------------------------


def normalised_columns(
    table: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array]:
    """The columns of a matrix normalised, scaled and shifted; mean, rstd and unbiased variance of each."""
    table, (count, depth), dtype = in_rows(table), table.shape, table.dtype
    scale = np.ones(depth, dtype) if weight is None else weight
    shift = np.zeros(depth, dtype) if bias is None else bias
    numbers = dtype.type(eps), dtype.type(count / (count - 1) if count > 1 else math.nan)
    mean, rstd, variance, scale = _of_columns_alone(kernels.column_statistics, 4, (table, scale), numbers)
    out = _of_elements(kernels.scale_and_shift_columns, (table,), (mean, scale, shift))
    return out, mean, rstd, variance


def column_gradients(
    grad: Array, table: Array, mean: Array, rstd: Array, weight: Array | None, wants_input: bool
) -> tuple[Array | None, Array, Array]:
    """The gradients of ``normalised_columns`` for the matrix, if it is wanted, weight and bias."""
    scale = np.ones(len(mean), table.dtype) if weight is None else weight
    tables = in_rows(grad), in_rows(table)
    operands = *tables, mean, rstd, scale
    bias, scaled, *numbers = _of_columns_alone(kernels.column_gradients, 5, operands, ())
    out = _of_elements(kernels.combine_columns, tables, (mean, *numbers)) if wants_input else None
    return out, scaled, bias


def _of_columns_alone(
    kernel: np.ufunc, count: int, tables: tuple[Array, ...], numbers: tuple[Any, ...]
) -> tuple[Array, ...]:
    """What a kernel gives of each column of tables: ``count`` results."""
    first = tables[0]
    if first.size < shared_from(kernel):
        return tuple(kernel(*tables, *numbers))
    found = tuple([np.empty(first.shape[1], first.dtype) for _ in range(count)])
    share_columns(kernel, tables, numbers, found)
    return found


def _of_elements(kernel: np.ufunc, tables: tuple[Array, ...], numbers: tuple[Array, ...]) -> Array:
    """What a kernel gives of each element of tables, and of a number for each column."""
    if tables[0].size < shared_from(kernel):
        out: Array = kernel(*tables, *numbers)
        return out
    out = np.empty(tables[0].shape, tables[0].dtype)
    share_rows(kernel, tables, numbers, (out,))
    return out
