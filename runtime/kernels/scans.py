"""Kernels that run along a dimension and keep every intermediate result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.costs import GRAIN, LANES, SCAN_LARGE
from .copies import in_rows
from .dims import wrap_dim
from .dtypes import FLOAT32, FLOAT64, INT64, acc_dtype, total_dtype
from .parallel import each_block, items_of_block
from .reductions import cast

Array = Any
DType = np.dtype[Any]

#: float32 sums along more elements than this accumulate in float64, as torch's do: the error of
#: a cumulative sum grows with its length. Products do always: they may leave float32 and come back.
LONG = 64
#: The elements of a lane that are one part, where parts run side by side.
_STEPS = 8
#: Between these sizes their products stay far from the ends of float64's range.
SAFE_RANGE = 1e-30, 1e30


def cumsum(self: Array, dim: int, dtype: DType | None = None) -> Array:
    """The cumulative sum along ``dim`` as ``dtype``: by default the input's, int64 for bools and integers."""
    return _accumulate(np.add, self, dim, dtype)


def cumprod(self: Array, dim: int, dtype: DType | None = None) -> Array:
    """The cumulative product along ``dim`` as ``dtype``, by default as for ``cumsum``."""
    return _accumulate(np.multiply, self, dim, dtype)


def _accumulate(ufunc: np.ufunc, self: Array, dim: int, dtype: DType | None) -> Array:
    dim = wrap_dim(dim, self.ndim)
    if dtype is not None and dtype.kind == "b" and self.ndim and self.size:
        raise NotImplementedError("not implemented for 'Bool'")  # of a number, or of nothing, there is none
    dtype = total_dtype(self.dtype, dtype)
    self = cast(self, dtype)
    if not self.ndim or not self.size:
        return self.copy()
    wide = acc_dtype(dtype)
    if wide == FLOAT32 and (self.shape[dim] > LONG or ufunc is np.multiply):
        wide = FLOAT64
    if dim < self.ndim - 1 and self.size >= LANES * self.shape[dim] > 0:
        return _accumulate_lanes(ufunc, self, dim, wide, dtype)
    last = dim == self.ndim - 1 and self.shape[dim] >= LANES and self.size >= SCAN_LARGE
    if ufunc is np.multiply and last and self.dtype.kind == "f":
        return _cumprod_rows(in_rows(self).reshape(-1, self.shape[dim])).reshape(self.shape)
    if wide == dtype:
        return ufunc.accumulate(self, dim, wide)
    result = self.astype(wide)  # at once: accumulate would do so piece by piece
    return ufunc.accumulate(result, dim, wide, result).astype(dtype)


def _accumulate_lanes(ufunc: np.ufunc, self: Array, dim: int, wide: DType, dtype: DType) -> Array:
    """``ufunc.accumulate`` over many lanes side by side: one vectorised step for each place in them."""
    result = np.empty(self.shape, dtype)
    rows, results = np.moveaxis(self, dim, 0), np.moveaxis(result, dim, 0)
    total = rows[0].astype(wide)
    results[0] = total
    for i in range(1, len(rows)):
        results[i] = ufunc(total, rows[i], total)
    return result


def _running_extremum(ufunc: np.ufunc, self: Array, dim: int) -> Array:
    """The cumulative maximum or minimum; NaN stays."""
    if self.size < SCAN_LARGE or self.shape[dim] < LANES:
        return ufunc.accumulate(self, dim)
    return _of_lanes(lambda table: parallel_scan(ufunc, table, self.dtype, self.dtype), self, dim)


def _where_it_stands(values: Array, self: Array, dim: int) -> Array:
    """Where the cumulative extremum ``values`` stands, the last of equal ones, and the last NaN."""
    renewed: Array = self == values
    if self.dtype.kind == "f":
        renewed |= self != self
    if self.size < SCAN_LARGE:
        places = np.arange(self.shape[dim]).reshape([-1] + [1] * (self.ndim - 1 - dim))
        return np.maximum.accumulate(np.where(renewed, places, 0), dim)
    return _of_lanes(last_true_index, renewed, dim)


def _of_lanes(function: Callable[[Array], Array], self: Array, dim: int) -> Array:
    """What a function makes of a table whose rows are along ``dim``."""
    lanes = in_rows(np.moveaxis(self, dim, -1))
    found = function(lanes.reshape(-1, self.shape[dim])).reshape(lanes.shape)
    return in_rows(np.moveaxis(found, -1, dim))


def last_true_index(rows: Array) -> Array:
    """For each place of each row the last one up to it that is true. The first of a row must be."""
    count = rows.shape[1]
    if rows.size < SCAN_LARGE:
        return np.maximum.accumulate(np.where(rows, np.arange(count), 0), 1)
    places = rows.reshape(-1).nonzero()[0]
    runs = np.diff(places, append=rows.size)
    if 4 * places.size < rows.size:
        return np.repeat(np.remainder(places, count), runs).reshape(rows.shape)
    found = np.repeat(places, runs).reshape(rows.shape)
    found -= np.arange(0, rows.size, count).reshape(-1, 1)
    return found


def _cumprod_rows(table: Array) -> Array:
    """The cumulative products of the rows of a matrix of floats, computed in float64."""
    result = parallel_scan(np.multiply, table, FLOAT64, table.dtype)
    sizes = np.abs(table)
    least, greatest = SAFE_RANGE
    if not (sizes.item(sizes.argmin()) > least and sizes.item(sizes.argmax()) < greatest):
        unsafe = ~((np.minimum.reduce(sizes, 1) > least) & (np.maximum.reduce(sizes, 1) < greatest))
        result[unsafe] = np.multiply.accumulate(table[unsafe].astype(FLOAT64), 1)
    return result


def parallel_scan(ufunc: np.ufunc, table: Array, wide: DType, dtype: DType) -> Array:
    """``ufunc.accumulate`` over the rows of a contiguous matrix, computed in ``wide``.

    A running operation waits for each step before it makes the next. Here each step is made in all
    parts of ``_STEPS`` elements at once, and then each part gets what the parts before it came to.
    """
    result = np.empty(table.shape, dtype)
    length = table.shape[1]
    step = items_of_block(GRAIN, length)

    def rows(_: int, begin: int, end: int) -> None:
        _parallel_scan_block(ufunc, table[begin:end], wide, result[begin:end])

    each_block(rows, len(table), length, GRAIN, step)
    return result


def _parallel_scan_block(ufunc: np.ufunc, table: Array, wide: DType, result: Array) -> None:
    rows, length = table.shape
    count, rest = divmod(length, _STEPS)
    cut = length - rest
    steps = np.empty((_STEPS, rows, count), wide)
    steps[...] = table[:, :cut].reshape(rows, count, _STEPS).transpose(2, 0, 1)
    for i in range(1, _STEPS):
        ufunc(steps[i - 1], steps[i], out=steps[i])
    totals = ufunc.accumulate(steps[-1], 1)
    ufunc(totals[:, :-1], steps[:, :, 1:], out=steps[:, :, 1:])
    result[:, :cut].reshape(rows, count, _STEPS)[...] = steps.transpose(1, 2, 0)
    if rest:
        tail = ufunc.accumulate(table[:, cut:].astype(wide), 1, wide)
        result[:, cut:] = ufunc(totals[:, -1:], tail)


def logcumsumexp(self: Array, dim: int) -> Array:
    """``log(cumsum(exp(self)))`` along ``dim``, without overflow."""
    dim = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy()
    if self.dtype.kind == "c":
        return _with_infinities(_complex_logcumsumexp(self, dim), self, dim)
    return np.logaddexp.accumulate(self, dim)


def _log_add_exp(before: Array, after: Array) -> Array:
    """``log(exp(before) + exp(after))`` of complex numbers, scaled by the greater real part."""
    top = np.maximum(before.real, after.real)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    return top + np.log(np.exp(before - top) + np.exp(after - top))


def _complex_logcumsumexp(self: Array, dim: int) -> Array:
    """Of the many logarithms of a complex number the one that a sequential scan arrives at, as torch's.

    Adding ``exp(x)`` to ``exp(y)`` turns the greater of the two by less than a quarter, so the
    imaginary part is that of the last element that was the greater one, and the turns since.
    """
    result = np.moveaxis(hillis_steele_scan(_log_add_exp, self, dim), dim, 0)
    if len(result) < 2:
        return np.moveaxis(result, 0, dim)
    values = np.moveaxis(self, dim, 0)
    before, added = result[:-1], values[1:]
    anew = added.real >= before.real
    ratio = np.where(anew, before - added, added - before)
    turns = np.zeros_like(values.imag)
    turns[1:] = np.angle(1 + np.exp(ratio))
    place = np.zeros(values.shape, np.int64)
    place[1:] = np.where(anew, np.arange(1, len(values)).reshape([-1] + [1] * (self.ndim - 1)), 0)
    np.maximum.accumulate(place, 0, None, place)
    turned = np.add.accumulate(turns, 0)
    start = values.imag - turned + turns
    angle = np.take_along_axis(start, place, 0) + turned
    result.imag = np.where(np.isfinite(angle), angle, result.imag)
    return np.moveaxis(result, 0, dim)


def _with_infinities(result: Array, self: Array, dim: int) -> Array:
    """The running log-sum-exps where a sum is 0 or infinite: its angle is 0, or that of infinite terms."""
    if np.isfinite(self.real).all():
        return result
    sums, values = np.moveaxis(result, dim, 0), np.moveaxis(self, dim, 0)
    great = values.real == np.inf
    least = np.minimum.accumulate(np.where(great, values.imag, np.inf), 0)
    most = np.maximum.accumulate(np.where(great, values.imag, -np.inf), 0)
    infinite = np.logical_or.accumulate(great, 0)
    sums.real[infinite] = np.inf
    sums.imag[infinite] = np.where(least == most, most, np.nan)[infinite]
    sums[np.logical_and.accumulate(values.real == -np.inf, 0)] = complex(-np.inf, 0.0)
    sums[np.logical_or.accumulate(np.isnan(values), 0)] = complex(np.nan, np.nan)
    return result


def hillis_steele_scan(combine: Callable[[Array, Array], Array], self: Array, dim: int) -> Array:
    """The running ``combine`` along ``dim`` of an associative operation, in log2(n) vectorised steps."""
    result = np.moveaxis(self, dim, 0).copy()
    step = 1
    while step < len(result):
        result[step:] = combine(result[:-step], result[step:])
        step *= 2
    return np.moveaxis(result, 0, dim)


def scanned(
    dtype: DType | None, name: str, row: Array, axis: int, reverse: bool, values: Array | None = None
) -> Array:
    """What a scan of bodies gives of an array with dims: along ``axis`` (from 0), or from the end; sums and
    products as ``dtype``, by default the array's, int64 for bools and integers. Of places ``values`` are
    what stands there.
    """
    if reverse:
        back = (slice(None),) * axis + (slice(None, None, -1),)
        beside = None if values is None else values[back]
        found = scanned(dtype, name, row[back], axis, False, beside)[back]
        return in_rows(found if values is None else row.shape[axis] - 1 - found)
    if values is not None:
        return _where_it_stands(values, row, axis)
    return _TOTALS[name](row, axis, dtype) if name in _TOTALS else _SCANS[name](row, axis)


def scanned_alone(
    dtype: DType | None, name: str, row: Array, axis: int, reverse: bool, values: Array | None = None
) -> Array:
    """The same of a number, which is one element."""
    if values is not None:
        return np.zeros_like(row, INT64)
    return np.array(cast(row, total_dtype(row.dtype, dtype)) if name in _TOTALS else row)


#: The scans of bodies, by their names: those that are told the dtype, and others; what is left gives places.
_TOTALS: dict[str, Callable[..., Array]] = {"cumsum": cumsum, "cumprod": cumprod}
_SCANS: dict[str, Callable[[Array, int], Array]] = {
    "cummax": partial(_running_extremum, np.maximum),
    "cummin": partial(_running_extremum, np.minimum),
    "logcumsumexp": logcumsumexp,
}


def _whole(scan: Callable[..., Array], self: Array, dim: int | tuple[int], _: bool, *asked: DType) -> Array:
    """A scan, called as reductions are."""
    return scan(self, dim if isinstance(dim, int) else dim[0], *asked)


#: The scans that are all of a body, by their names.
WHOLE_SCANS = {name: partial(_whole, scan) for name, scan in {**_TOTALS, **_SCANS}.items()}


def linear_scan(self: Array, factor: Array, dim: int, reverse: bool) -> Array:
    """``y[i] = self[i] + factor[i] * y[i - 1]`` along ``dim``; reversed, ``... factor[i] * y[i + 1]``.

    The first factor on the way meets nothing. The derivatives of cumulative products and of
    running log-sum-exps are such recurrences, and so are theirs: no division, exact at zeros.
    """
    dim = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy()
    total = np.moveaxis(self, dim, 0).copy()
    gain = np.moveaxis(factor, dim, 0)
    if reverse:
        total, gain = total[::-1], gain[::-1]
    if total[:1].size >= len(total):  # many short lanes: one step for each element of a lane
        for i in range(1, len(total)):
            total[i] += gain[i] * total[i - 1]
    else:
        gain, step = gain.copy(), 1
        while step < len(total):
            total[step:] += gain[step:] * total[:-step]
            gain[step:] = gain[step:] * gain[:-step]
            step *= 2
    return np.moveaxis(total[::-1] if reverse else total, 0, dim)
