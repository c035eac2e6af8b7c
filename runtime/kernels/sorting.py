"""Kernels that order elements: sort, selection of the k-th, medians, modes, unique, searches.

NaN counts as greater than everything, as in torch. Half-precision floats come widened.
Sorts are stable. Which of several equal elements a selection (``topk``, ``kthvalue``, ``median``)
returns is not specified, as in torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.costs import SORT_LARGE, SORT_SHORT
from .argsort import partial_argsort, stable_argsort
from .copies import in_rows
from .cpu import cast
from .dims import reduce_dims, wrap_dim
from .dtypes import INT64
from .flat_index import take_along
from .reductions import check_nonempty
from .scans import last_true_index

Array = Any
DType = np.dtype[Any]


def is_nan(self: Array) -> Array:
    """Where a real array is NaN; False everywhere for one that cannot be."""
    return np.isnan(self) if self.dtype.kind == "f" else np.zeros(self.shape, bool)


# -- sort --------------------------------------------------------------------------------------


def sort(self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """The elements along ``dim`` in order, stable, and the positions they come from."""
    dim = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), INT64)
    order = stable_argsort(self, dim, descending)
    return take_along(self, order, dim), order


def topk(self: Array, k: int, dim: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    """The ``k`` greatest (or least) elements along ``dim`` in order, and where they stand.

    Raises RuntimeError when there are not ``k``.
    """
    dim = topk_dim(self.shape, k, dim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), INT64)
    n = self.shape[dim]
    if self.size < SORT_LARGE or k == 0:
        order = stable_argsort(self, dim, largest)[(slice(None),) * dim + (slice(k),)]
        return take_along(self, order, dim), order
    if dim < self.ndim - 1:
        lanes = in_rows(np.moveaxis(self, dim, -1))
        values, order = topk(lanes, k, -1, largest, sorted)
        return _to_last_dim(values, dim), _to_last_dim(order, dim)
    if k * (20 + n // 32) < n:  # what finding one after the other costs, and what a sort does
        found = _topk_by_max(self, k, largest)
        if found is not None:
            return found
    if k > n // 4:
        order = stable_argsort(self, dim, largest)[..., :k].copy()
        return take_along(self, order, dim), order
    if n <= SORT_SHORT:
        order = partial_argsort(self, k, dim, largest)
        if order is not None:
            return take_along(self, order, dim), order
    if largest:
        chosen = self.argpartition(n - k, dim)[..., n - k :]
    else:
        chosen = self.argpartition(k - 1, dim)[..., :k]
    chosen.sort(dim)  # so that equal elements come in order of their positions
    values = take_along(self, chosen, dim)
    order = stable_argsort(values, dim, largest)
    return take_along(values, order, dim), take_along(chosen, order, dim)


def topk_dim(shape: tuple[int, ...], k: int, dim: int) -> int:
    """The dimension from the front. RuntimeError where there are not ``k`` elements along it."""
    d = wrap_dim(dim, len(shape))
    if not 0 <= k <= (shape[d] if shape else 1):
        raise RuntimeError("selected index k out of range")
    return d


def _to_last_dim(self: Array, dim: int) -> Array:
    """Contiguous, with the last dim where ``dim`` is."""
    return in_rows(np.moveaxis(self, -1, dim))


def _topk_by_max(self: Array, k: int, largest: bool) -> tuple[Array, Array] | None:
    """``topk`` along the last dim by finding one after the other; None when that cannot tell them apart."""
    if self.dtype.kind == "f":
        taken = self.dtype.type(-np.inf if largest else np.inf)
    elif self.dtype.kind == "b":
        return None
    else:
        limits = np.iinfo(self.dtype)
        taken = self.dtype.type(limits.min if largest else limits.max)
    rest = np.where(np.isnan(self), taken, self) if self.dtype.kind == "f" and not largest else self.copy()
    table = rest.reshape(-1, self.shape[-1])
    rows = np.arange(len(table))
    indices = np.empty((len(table), k), INT64)
    values = np.empty((len(table), k), self.dtype)
    for j in range(k):
        place = table.argmax(1) if largest else table.argmin(1)
        indices[:, j] = place
        values[:, j] = table[rows, place]
        table[rows, place] = taken
    if (values == taken).any():
        return None
    shape = (*self.shape[:-1], k)
    return values.reshape(shape), indices.reshape(shape)


# -- selection -----------------------------------------------------------------------------------


def kthvalue(self: Array, k: int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The ``k``-th least element along ``dim`` (from 1) and where it stands."""
    dim = kthvalue_dim(self.shape, k, dim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), INT64)
    return _take_one(self, _kth_index(self, k - 1, dim), dim, keepdim)


def kthvalue_dim(shape: tuple[int, ...], k: int, dim: int) -> int:
    """The dimension from the front.

    Raises RuntimeError where there is no ``k``-th element along it, IndexError where there is none at all.
    """
    d = wrap_dim(dim, len(shape))
    if shape:
        check_nonempty(shape, (d,))
    if not 1 <= k <= (shape[d] if shape else 1):
        raise RuntimeError(f"selected number k out of range for dimension {d}")
    return d


def _kth_index(self: Array, k: int, dim: int) -> Array:
    """Where the ``k``-th least element (from 0) stands along ``dim``, which is kept."""
    order = stable_argsort(self, dim) if self.size < SORT_LARGE else self.argpartition(k, dim)
    return order[(slice(None),) * dim + (slice(k, k + 1),)]


def _take_one(self: Array, indices: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """Values at, and ``indices`` of one element along ``dim``, that dim dropped unless kept."""
    values = take_along(self, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def median_all(self: Array) -> Array:
    """The lower median of all elements; NaN if one is NaN, or of no floats."""
    flat = self.reshape(-1)
    if not flat.size:
        return _empty_median(self)
    if self.dtype.kind == "f":
        last = flat[flat.argmax()]  # argmax finds NaN first
        if last != last:
            return last
    k = (flat.size - 1) // 2
    return np.partition(flat, k)[k]


def nanmedian_all(self: Array) -> Array:
    """The lower median of the elements that are not NaN; NaN if all are."""
    flat = self.reshape(-1)
    if self.dtype.kind == "f":
        present = flat[~np.isnan(flat)]
        flat = present if present.size else flat
    return median_all(flat)


def _empty_median(self: Array) -> Array:
    """NaN, cast to the dtype."""
    return np.array(np.nan).astype(self.dtype)


def median_dim(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The lower median along ``dim`` and where it stands; where there is NaN, the first."""
    return _median(self, dim, keepdim, skip_nan=False)


def nanmedian_dim(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The lower median along ``dim`` of what is not NaN, and where it stands."""
    return _median(self, dim, keepdim, skip_nan=True)


def _median(self: Array, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Array, Array]:
    dim = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), INT64)
    check_nonempty(self.shape, (dim,))
    n = self.shape[dim]
    missing = reduce_dims(np.add, is_nan(self), (dim,), True, INT64)
    if not missing.any():
        return _take_one(self, _kth_index(self, (n - 1) // 2, dim), dim, keepdim)
    order = stable_argsort(self, dim)
    if skip_nan:
        place = np.where(missing < n, n - missing - 1, n - 1) // 2
    else:
        place = np.where(missing > 0, n - missing, (n - 1) // 2)  # the first NaN stands there
    return _take_one(self, np.take_along_axis(order, place, dim), dim, keepdim)


def mode(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The most frequent element along ``dim``, the least of several, and where it stands last."""
    dim = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), INT64)
    check_nonempty(self.shape, (dim,))
    lanes = np.moveaxis(self, dim, -1)
    shape = (*lanes.shape[:-1], 1)
    lanes = lanes.reshape(-1, self.shape[dim])
    order = stable_argsort(lanes, 1)
    values = take_along(lanes, order, 1)
    starts = np.ones(values.shape, bool)
    np.not_equal(values[:, 1:], values[:, :-1], out=starts[:, 1:])
    lengths = np.arange(values.shape[1]) - last_true_index(starts)
    best = take_along(order, lengths.argmax(1, keepdims=True), 1)
    return _take_one(self, np.moveaxis(best.reshape(shape), -1, dim), dim, keepdim)


# -- unique --------------------------------------------------------------------------------------


def unique2(
    self: Array, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """The distinct elements in order; which of them each element is; how often each occurs.

    The last two are empty unless asked for. Every NaN is distinct.
    """
    flat = self.reshape(-1)
    if flat.size and flat.dtype.kind in "biu":
        low, high = int(flat[flat.argmin()]), int(flat[flat.argmax()])
        if high - low <= 2 * flat.size:
            return _unique_by_count(flat, low, self.shape, return_inverse, return_counts)
    if not return_inverse:
        values, _, counts = unique_consecutive(np.sort(flat), False, return_counts, None)
        return values, np.zeros(0, INT64), counts
    order = stable_argsort(flat, 0)
    values, run, counts = unique_consecutive(flat[order], True, return_counts, None)
    inverse = np.empty_like(order)
    inverse[order] = run
    return values, inverse.reshape(self.shape), counts


def _unique_by_count(
    flat: Array, low: int, shape: tuple[int, ...], return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """``unique2`` of integers from ``low`` on that span a small range: counted, not sorted."""
    places = flat.astype(INT64) - low
    counts = np.bincount(places)
    present = counts.nonzero()[0]
    inverse = np.zeros(0, INT64)
    if return_inverse:
        inverse = (np.add.accumulate(counts > 0, 0, INT64) - 1).take(places).reshape(shape)
    return (
        (present + low).astype(flat.dtype),
        inverse,
        counts[present] if return_counts else np.zeros(0, INT64),
    )


def unique_consecutive(
    self: Array, return_inverse: bool, return_counts: bool, dim: int | None
) -> tuple[Array, Array, Array]:
    """The first of each run of equal elements (along ``dim``: of slices); the run of each; run lengths.

    Without ``dim`` the last two are empty unless asked for. IndexError for a ``dim`` of a 0-d array.
    """
    if dim is None or (dim == 0 and self.ndim == 1):
        dim, table, shape = None, self.reshape(-1), self.shape
        changes = table[1:] != table[:-1]
    else:
        dim = wrap_dim(dim, self.ndim)
        if self.ndim == 0:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        table, shape = np.moveaxis(self, dim, 0), (self.shape[dim],)
        rows = table.reshape(len(table), -1) if table.size else _no_rows(self, dim)
        changes = (rows[1:] != rows[:-1]).any(1)
    first = np.ones(len(table), bool)
    first[1:] = changes
    starts = first.nonzero()[0]
    inverse = counts = np.zeros(0, INT64)
    if return_inverse or dim is not None:
        inverse = (np.add.accumulate(first, 0, INT64) - 1).reshape(shape)
    if return_counts or dim is not None:
        counts = np.diff(starts, append=len(table))
    values = table[starts]
    return (values if dim is None else in_rows(np.moveaxis(values, 0, dim))), inverse, counts


def _no_rows(self: Array, dim: int) -> Array:
    if self.shape[dim] or self.shape.count(0) > 1:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return np.zeros((0, 0), self.dtype)


def unique_dim(
    self: Array, dim: int, sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """``unique2`` of the slices along ``dim``, in lexicographic order; all three are always given. IndexError
    for a 0-d array."""
    dim = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    table = np.moveaxis(self, dim, 0)
    rows = table.reshape(len(table), -1) if table.size else _no_rows(self, dim)
    order = np.lexsort(rows.T[::-1]) if rows.size else np.arange(len(rows))
    values, run, counts = unique_consecutive(self.take(order, dim), True, True, dim)
    inverse = np.empty_like(order)
    inverse[order] = run
    return values, inverse, counts


# -- searches ------------------------------------------------------------------------------------


def searchsorted(
    sorted_sequence: Array, self: Array, out_int32: bool, right: bool, side: str | None, sorter: Array | None
) -> Array:
    """Where each element of ``self`` would go in the innermost dim of ``sorted_sequence``.

    Before elements equal to it, after them with ``right``. Raises RuntimeError for shapes that do
    not agree, a wrong ``side`` or ``sorter``.
    """
    check_search(sorted_sequence, self, right, side, sorter)
    right = right or side == "right"
    if sorter is not None:
        n = sorted_sequence.shape[-1]
        if sorter.size and not (sorter.min() >= 0 and sorter.max() < n):
            raise RuntimeError("sorter index out of range")
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, -1)
    if sorted_sequence.ndim == 1 and not (sorted_sequence.size and is_nan(sorted_sequence[-1:])[0]):
        found = sorted_sequence.searchsorted(self, "right" if right else "left")
    else:
        found = _bisect(sorted_sequence, self, right)
    return found.astype(np.int32) if out_int32 else found


def _bisect(table: Array, values: Array, right: bool) -> Array:
    """Bisection of all rows at once. NaN goes after everything."""
    low = np.zeros(values.shape, INT64)
    if table.size == 0:
        return low
    high = np.full(values.shape, table.shape[-1], INT64)
    if table.ndim == 1:
        table = np.broadcast_to(table, (*values.shape[:-1], len(table)))
    for _ in range(int(table.shape[-1]).bit_length()):
        middle = (low + high) >> 1
        at = np.take_along_axis(table, np.minimum(middle, table.shape[-1] - 1), -1)
        beyond = ~(at > values if right else at >= values) & (low < high)
        low = np.where(beyond, middle + 1, low)
        high = np.where(beyond, high, middle)
    return low


def check_search(
    sorted_sequence: Array, self: Array, right: bool, side: str | None, sorter: Array | None
) -> None:
    """Raise RuntimeError where the arguments of ``searchsorted`` do not go together."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError("side and right can't be set to opposites, got side of left while right was True")
    if sorted_sequence.ndim == 0:
        raise RuntimeError("boundaries tensor should have positive dimension, but got 0 dimension")
    if self.ndim == 0 and sorted_sequence.ndim != 1:
        raise RuntimeError(
            "input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != self.shape[:-1]:
        raise RuntimeError(
            "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and "
            f"input value tensor {list(self.shape)}"
        )
    if sorter is None:
        return
    if sorter.shape != sorted_sequence.shape:
        raise RuntimeError(
            "boundary and sorter must have the same size, but got boundary tensor "
            f"{list(sorted_sequence.shape)} and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype != INT64:
        raise RuntimeError(f"sorter must be a tensor of long dtype but got dtype {sorter.dtype}")


def bucketize(self: Array, boundaries: Array, out_int32: bool, right: bool) -> Array:
    """``searchsorted`` in one row of boundaries. RuntimeError unless they are 1-d."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, self, out_int32, right, None, None)


def isin_number(number: bool | int | float, dtype: DType) -> Array:
    """A number as comparisons with an array of ``dtype`` round it: what is too great for it is infinite."""
    with np.errstate(over="ignore"):
        return cast(np.asarray(number), dtype)


def isin(elements: Array, test_elements: Array, assume_unique: bool, invert: bool) -> Array:
    """Which ``elements`` are among ``test_elements``; NaN never is."""
    flat = test_elements.reshape(-1)
    if flat.size * elements.size <= SORT_LARGE:  # comparing with each is faster than sorting both
        found = np.asarray(np.logical_or.reduce(elements[..., np.newaxis] == flat, -1))
    elif flat.size <= 8:
        found = np.zeros(elements.shape, bool)
        for value in flat:
            found |= elements == value
    elif elements.dtype.kind == "f":
        flat = np.sort(flat)
        found = flat.take(flat.searchsorted(elements), mode="clip") == elements
    else:
        found = np.isin(elements, flat)
    return ~found if invert else found


# -- counting ------------------------------------------------------------------------------------


def bincount(self: Array, weights: Array | None, minlength: int) -> Array:
    """How often each number from 0 occurs, or the sum of its ``weights`` (float64 unless float32).

    Raises RuntimeError for anything but 1-d non-negative integers.
    """
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.ndim != 1 or (self.size and self.item(self.argmin()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if self.size == 0:
        return np.zeros(minlength, INT64)
    if weights is None:
        return np.bincount(self, None, minlength)
    real = weights.real if weights.dtype.kind == "c" else weights
    sums = np.bincount(self, real.astype(np.float64, copy=False), minlength)
    return sums.astype(np.float32) if weights.dtype == np.float32 else sums


def histc(self: Array, bins: int, min: float, max: float) -> Array:
    """How many elements fall in each of ``bins`` equal parts of ``[min, max]``, in the input's dtype.

    Equal bounds stand for the least and greatest element. Raises RuntimeError for bounds in the
    wrong order or not finite, or no bins.
    """
    if bins <= 0:
        raise RuntimeError(f"bins must be > 0, but got {bins} for dimension 0")
    flat = self.reshape(-1)
    low, high = float(min), float(max)
    if low == high and flat.size:
        low, high = float(flat[flat.argmin()]), float(flat[flat.argmax()])
    if not np.isfinite([low, high]).all():
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError("max must be larger than min")
    if low == high:  # the middle of [low - 1, low + 1], which may be no numbers of the dtype
        return np.bincount(np.full(flat.size, bins // 2), None, bins).astype(self.dtype)
    scalar = self.dtype.type
    first, last = scalar(low), scalar(high)
    inside = flat[(flat >= first) & (flat <= last)]
    # A range whose multiple is too large a number is counted in smaller units.
    largest = scalar(np.finfo(self.dtype).max / (4 * bins))
    unit = scalar(1) if np.abs([first, last]).max() < largest else scalar(1 / (8 * bins))
    place = ((inside * unit - first * unit) * scalar(bins) / (last * unit - first * unit)).astype(INT64)
    return np.bincount(np.minimum(place, bins - 1), None, bins).astype(self.dtype)
