"""Orders and running folds; the names are those of ``kernels.sorting`` and ``kernels.scans``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import scans as host_scans, sorting as host
from ..dims import wrap_dim
from ..reductions import check_nonempty
from .common import Array, as_array, by_values, cast, flat, is_bool, is_complex, is_integral, is_real

INT64 = np.dtype("int64")


def _take_along(xp: Any, self: Array, places: Array, d: int) -> Array:
    return xp.take_along_axis(self, places, axis=d)


def _order(xp: Any, self: Array, d: int, descending: bool) -> Array:
    """The stable order along a dimension; NaN goes behind all, or before all where it descends."""
    key = xp.astype(self, xp.uint8) if is_bool(xp, self) else self
    if descending:  # of what is turned around: the order stays stable
        key = -cast(xp, key, xp.int64) if xp.isdtype(key.dtype, "unsigned integer") else -1 - key
        if is_real(xp, self):
            key = -self
            unknown = xp.astype(self == self, xp.uint8)
            order = xp.argsort(key, axis=d, stable=True)
            first = xp.argsort(_take_along(xp, unknown, order, d), axis=d, stable=True)
            return xp.astype(_take_along(xp, order, first, d), xp.int64)
    return xp.astype(xp.argsort(key, axis=d, stable=True), xp.int64)


def sort(xp: Any, self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """The elements along ``dim`` in order, stable, and the positions they come from."""
    d = wrap_dim(dim, self.ndim)
    if not self.ndim:
        return self, xp.zeros((), dtype=xp.int64)
    order = _order(xp, self, d, descending)
    return _take_along(xp, self, order, d), order


def _part(self: Array, d: int, part: slice) -> Array:
    return self[(*(slice(None),) * d, part, ...)]


def topk(xp: Any, self: Array, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    """The ``k`` greatest (or least) elements along ``dim`` in order, and where they stand."""
    d = host.topk_dim(tuple(self.shape), k, dim)
    values, order = sort(xp, self, dim, largest)
    return (_part(values, d, slice(0, k)), _part(order, d, slice(0, k))) if self.ndim else (values, order)


def _one(xp: Any, values: Array, order: Array, d: int, k: int, keepdim: bool) -> tuple[Array, Array]:
    place = slice(k, k + 1)
    return _without(xp, _part(values, d, place), _part(order, d, place), d, keepdim)


def _without(xp: Any, values: Array, order: Array, d: int, keepdim: bool) -> tuple[Array, Array]:
    """Both without the dimension ``d`` of size 1, unless it is kept."""
    return (values, order) if keepdim else (xp.squeeze(values, axis=d), xp.squeeze(order, axis=d))


def kthvalue(xp: Any, self: Array, k: int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The ``k``-th least element along ``dim`` (from 1) and where it stands."""
    d = host.kthvalue_dim(tuple(self.shape), k, dim)
    values, order = sort(xp, self, d, False)
    return _one(xp, values, order, d, k - 1, keepdim) if self.ndim else (values, order)


def _median(xp: Any, self: Array, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Array, Array]:
    d = wrap_dim(dim, self.ndim)
    if not self.ndim:
        return self, xp.zeros((), dtype=xp.int64)
    check_nonempty(tuple(self.shape), (d,))
    n = self.shape[d]
    values, order = sort(xp, self, d, False)
    unknown = self != self
    known = xp.sum(xp.astype(~unknown, xp.int64), axis=d, keepdims=True, dtype=xp.int64)
    middle = xp.full_like(known, (n - 1) // 2)
    if is_real(xp, self) and skip_nan:
        middle = xp.where(known > 0, (known - 1) // 2, xp.zeros_like(known))
    elif is_real(xp, self):
        middle = xp.where(known < n, known, middle)  # the first NaN stands behind all that is known
    found, places = _take_along(xp, values, middle, d), _take_along(xp, order, middle, d)
    return _without(xp, found, places, d, keepdim)


def median_dim(xp: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The lower median along ``dim`` and where it stands; where there is NaN, the first."""
    return _median(xp, self, dim, keepdim, False)


def nanmedian_dim(xp: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The lower median along ``dim`` of what is not NaN, and where it stands."""
    return _median(xp, self, dim, keepdim, True)


def median_all(xp: Any, self: Array) -> Array:
    """The lower median of all elements; NaN if one is NaN, or of no floats."""
    return _median(xp, flat(xp, self), 0, False, False)[0] if self.size else _empty_median(xp, self)


def nanmedian_all(xp: Any, self: Array) -> Array:
    """The lower median of the elements that are not NaN; NaN if all are."""
    return _median(xp, flat(xp, self), 0, False, True)[0] if self.size else _empty_median(xp, self)


def _empty_median(xp: Any, self: Array) -> Array:
    return xp.from_host(host.median_all(np.zeros(0, xp.numpy_dtype(self.dtype))))


def searchsorted(
    xp: Any,
    sorted_sequence: Array,
    self: Array,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Array | None,
) -> Array:
    """Where each element of ``self`` would go in the innermost dim of ``sorted_sequence``."""
    self = as_array(xp, self, sorted_sequence)
    dtype = np.dtype("int32") if out_int32 else INT64
    given = [sorted_sequence, self, out_int32, right, side, sorter]
    return xp.on_host(host.searchsorted, [(tuple(self.shape), dtype)], *given)[0]


def bucketize(xp: Any, self: Array, boundaries: Array, out_int32: bool, right: bool) -> Array:
    """Which of the intervals between boundaries each element lies in. RuntimeError unless the boundaries are
    1-d."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(xp, boundaries, self, out_int32, right, None, None)


def isin(xp: Any, elements: Array, test_elements: Array, assume_unique: bool, invert: bool) -> Array:
    """Whether each element is among others."""
    like = [(tuple(elements.shape), np.dtype("bool"))]
    return xp.on_host(host.isin, like, elements, test_elements, assume_unique, invert)[0]


def isin_number(xp: Any, number: bool | int | float, dtype: Any) -> Array:
    """A number as comparisons with an array of ``dtype`` round it."""
    return cast(xp, xp.from_host(host.isin_number(number, xp.numpy_dtype(dtype))), dtype)


def mode(xp: Any, self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The most frequent element along ``dim``, the least of several, and where it stands last."""
    d = wrap_dim(dim, self.ndim)
    shape = tuple(self.shape)
    if self.ndim:
        shape = (*shape[:d], *((1,) if keepdim else ()), *shape[d + 1 :])
    like = [(shape, xp.numpy_dtype(self.dtype)), (shape, INT64)]
    values, places = xp.on_host(host.mode, like, self, dim, keepdim)
    return values, places


unique2 = by_values(host.unique2)
unique_consecutive = by_values(host.unique_consecutive)
unique_dim = by_values(host.unique_dim)
bincount = by_values(host.bincount)


def histc(xp: Any, self: Array, bins: int, min: float, max: float) -> Array:
    """How many elements are in each of equal intervals."""
    return xp.on_host(host.histc, [((bins,), xp.numpy_dtype(self.dtype))], self, bins, min, max)[0]


# -- running folds ------------------------------------------------------------------------------


def _running(xp: Any, function: Any, self: Array, dim: int, dtype: Any) -> Array:
    d = wrap_dim(dim, self.ndim)
    if dtype is None:
        dtype = xp.int64 if is_integral(xp, self) or is_bool(xp, self) else self.dtype
    if xp.isdtype(dtype, "bool"):
        raise NotImplementedError("not implemented for 'Bool'")
    self = cast(xp, self, dtype)
    return function(self, axis=d, dtype=dtype) if self.ndim else self


def cumsum(xp: Any, self: Array, dim: int, dtype: Any) -> Array:
    """The cumulative sum along ``dim`` as ``dtype``: by default the input's, int64 for bools and integers."""
    return _running(xp, xp.cumulative_sum, self, dim, dtype)


def cumprod(xp: Any, self: Array, dim: int, dtype: Any) -> Array:
    """The cumulative product along ``dim`` as ``dtype``, by default as for ``cumsum``."""
    return _running(xp, xp.cumulative_prod, self, dim, dtype)


def scanned(
    xp: Any, dtype: Any, name: str, row: Array, axis: int, reverse: bool, values: Array | None = None
) -> Array:
    """What ``kernels.scans.scanned`` gives."""
    if name not in ("cumsum", "cumprod", "logcumsumexp"):
        like = [(tuple(row.shape), INT64 if values is not None else xp.numpy_dtype(row.dtype))]
        arrays = (row,) if values is None else (row, values)

        def on_host(row: Array, *values: Array) -> Array:
            return host_scans.scanned(None, name, row, axis, reverse, *values)

        return xp.on_host(on_host, like, *arrays)[0]
    if reverse:
        return xp.flip(scanned(xp, dtype, name, xp.flip(row, axis=axis), axis, False), axis=axis)
    if name in ("cumsum", "cumprod"):
        return (cumsum if name == "cumsum" else cumprod)(xp, row, axis, dtype)
    return logcumsumexp(xp, row, axis)


def _kept(function: Callable[..., Any], results: int = 1) -> Callable[..., Any]:
    """A kernel of the host whose first result is like the first array, the second the places."""

    def kernel(xp: Any, self: Array, *arguments: Any) -> Any:
        like = [(tuple(self.shape), xp.numpy_dtype(self.dtype)), (tuple(self.shape), INT64)][:results]
        found = xp.on_host(function, like, self, *arguments)
        return found[0] if results == 1 else tuple(found)

    return kernel


linear_scan = _kept(host_scans.linear_scan)


def logcumsumexp(xp: Any, self: Array, dim: int) -> Array:
    """``log(cumsum(exp(self)))`` along ``dim``, without overflow."""
    if is_complex(xp, self) or not self.ndim or not self.size:
        like = [(tuple(self.shape), xp.numpy_dtype(self.dtype))]
        return xp.on_host(host_scans.logcumsumexp, like, self, dim)[0]
    d = wrap_dim(dim, self.ndim)
    step, n = 1, self.shape[d]
    while step < n:
        after, before = _part(self, d, slice(step, None)), _part(self, d, slice(0, n - step))
        top = xp.maximum(after, before)
        distance = xp.where(after == before, xp.zeros_like(top), -xp.abs(after - before))
        self = xp.concat([_part(self, d, slice(0, step)), top + xp.log1p(xp.exp(distance))], axis=d)
        step *= 2
    return self
