"""Independent references for reductions, scans and what orders elements.

They compute in float64 or complex128, or element by element in Python, and never with the
kernels' functions or ways. Arguments are NumPy arrays and Python values.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from typing import Any

import numpy as np

Array = Any


def wide(self: Array) -> Array:
    """The same numbers with all the precision there is; integers and bools as they are."""
    self = np.asarray(self)
    if self.dtype.kind in "biu":
        return self
    return self.astype(np.complex128 if self.dtype.kind == "c" else np.float64)


def axes_of(self: Array, dim: Any) -> tuple[int, ...]:
    """The reduced axes, from 0; None and () are all."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(self.ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(d % self.ndim for d in dims) if self.ndim else ()


def lanes(self: Array, dim: Any, keepdim: bool, function: Any) -> Array:
    """``function`` of the elements of each lane along the reduced axes, one after the other, as Python's."""
    axes = axes_of(self, dim)
    kept = [d for d in range(self.ndim) if d not in axes]
    outer = [self.shape[d] for d in kept]
    length = math.prod([self.shape[d] for d in axes])
    rows = np.transpose(self, (*kept, *axes)).reshape(math.prod(outer), length)
    results = [function(row.tolist()) for row in rows]
    shape = [1 if d in axes else n for d, n in enumerate(self.shape)] if keepdim else outer
    return np.array(results).reshape(shape)


def restored(self: Array, dim: Any, keepdim: bool, ndim: int) -> Array:
    if keepdim:
        return self
    dims = range(ndim) if dim is None or len(dim) == 0 else sorted(d % ndim for d in dim)
    for d in dims:
        self = np.expand_dims(self, d)
    return self


def evenly(grad: Array, self: Array, value: Array) -> Array:
    equal = np.isnan(self) if np.isnan(value) else self == value
    return np.where(equal, grad / max(np.sum(equal), 1), 0).astype(self.dtype)


def placed(grad: Array, dim: int, indices: Array, sizes: Any, keepdim: bool) -> Array:
    if not sizes:
        return grad
    if not keepdim:
        grad, indices = np.expand_dims(grad, dim), np.expand_dims(indices, dim)
    out, d = np.zeros(sizes, grad.dtype), dim % len(sizes)
    for place in np.ndindex(*indices.shape):
        out[(*place[:d], indices[place], *place[d + 1 :])] = grad[place]
    return out


# -- sums, tests, extrema ------------------------------------------------------------------------


def result_dtype(self: Array, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return np.int64 if self.dtype.kind in "biu" else self.dtype


def total(self: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    dtype = result_dtype(self, dtype)
    values = wide(self.astype(dtype))
    return np.asarray(np.sum(values, axis=axes_of(self, dim), keepdims=keepdim)).astype(dtype)


def product(self: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    dtype = result_dtype(self, dtype)
    values = wide(self.astype(dtype))
    return lanes(values, dim, keepdim, math.prod if values.dtype.kind in "fc" else wrapped_product).astype(
        dtype
    )


def wrapped_product(row: list[int]) -> int:
    """The product in 64 bits with a sign."""
    found = 1
    for value in row:
        found = found * value & 2**64 - 1
    return found - 2**64 if found >= 2**63 else found


def mean(self: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    axes = axes_of(self, dim)
    count = math.prod([self.shape[d] for d in axes])
    dtype = self.dtype if dtype is None else dtype
    with np.errstate(all="ignore"):
        return np.asarray(np.divide(np.sum(wide(self), axis=axes, keepdims=keepdim), count)).astype(dtype)


def deviation_and_mean(
    function: Any, self: Array, dim: Any, correction: Any, keepdim: bool
) -> tuple[Array, Array]:
    ddof = 1 if correction is None else correction
    return function(wide(self), axis=dim, ddof=ddof, keepdims=keepdim), mean(self, dim, keepdim, None)


def tested(function: Any, self: Array, dim: Any, keepdim: bool) -> Array:
    axes = dim if dim is None or len(dim) == 0 else axes_of(self, dim)
    result = function(np.asarray(self).astype(bool), axis=axes, keepdims=keepdim)
    return np.asarray(result).astype(np.uint8 if self.dtype == np.uint8 else bool)


def extremum(self: Array, dim: Any, keepdim: bool, greatest: bool) -> Array:
    def of(row: list[Any]) -> Any:
        best = row[0]
        for value in row[1:]:
            if best == best and (value != value or (value > best if greatest else value < best)):
                best = value
        return best

    return lanes(self, dim, keepdim, of).astype(self.dtype)


def argument(self: Array, dim: Any, keepdim: bool, greatest: bool) -> Array:
    def of(row: list[Any]) -> int:
        best = 0
        for i, value in enumerate(row):
            held = row[best]
            if held == held and (value != value or (value > held if greatest else value < held)):
                best = i
        return best

    return lanes(self, dim, keepdim, of).astype(np.int64)


def vector_norm(self: Array, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Array:
    size = np.abs(wide(self if dtype is None else self.astype(dtype)))
    p = 2 if p is None else p
    axes = axes_of(self, dim)
    if p == math.inf:
        result = np.max(size, axis=axes, keepdims=keepdim)
    elif p == -math.inf:
        result = np.min(size, axis=axes, keepdims=keepdim)
    elif p == 0:
        result = np.sum(size != 0, axis=axes, keepdims=keepdim)
    else:
        result = np.sum(size**p, axis=axes, keepdims=keepdim) ** (1 / p)
    return np.asarray(result).astype(np.abs(self if dtype is None else self.astype(dtype)).dtype)


def named_norm(self: Array, p: str, dim: Any, keepdim: bool) -> Array:
    if p == "fro":
        return vector_norm(self, 2, dim, keepdim, None)
    axes = axes_of(self, dim)
    values = np.linalg.svd(np.moveaxis(wide(self), axes, (-2, -1)), compute_uv=False)
    result = np.sum(values, axis=-1)
    for d in sorted(axes) if keepdim else ():
        result = np.expand_dims(result, d)
    return result.astype(np.abs(self).dtype)


# -- scans -----------------------------------------------------------------------------------------


def along(self: Array, dim: int, function: Any) -> Array:
    """``function`` of each 1-d lane along ``dim``, which gives as many elements."""
    if self.ndim == 0:
        return np.asarray(function(self.reshape(1))[0])
    if self.size == 0:
        return self.copy()
    return np.apply_along_axis(function, dim, self)


def recurrence(self: Array, factor: Array, dim: int, reverse: bool) -> Array:
    both = np.stack([self, factor], -1)
    moved = np.moveaxis(both, dim, 0)
    steps = moved[::-1] if reverse else moved
    results: list[Array] = []
    for value in steps:
        results.append(value[..., 0] + value[..., 1] * results[-1] if results else value[..., 0])
    if not results:
        return self.copy()
    return np.moveaxis(np.array(results[::-1] if reverse else results), 0, dim)


def running(better: Any, self: Array, dim: int) -> tuple[Array, Array]:
    if self.ndim == 0 or self.size == 0:
        return self, np.zeros(self.shape, np.int64)
    steps = np.moveaxis(self, dim, 0)
    best, place = steps[0], np.zeros(steps.shape[1:], np.int64)
    values, places = [], []
    for i, value in enumerate(steps):
        found = (value != value) | better(value, best)
        best, place = np.where(found, value, best), np.where(found, i, place)
        values.append(best)
        places.append(place)
    return np.moveaxis(np.array(values), 0, dim), np.moveaxis(np.array(places), 0, dim)


def taken(self: Array, dim: int, places: Any) -> tuple[Array, Array]:
    """The elements at the places that a function finds in each row, and the places."""
    indices = along(self, dim, places).astype(np.int64)
    if self.ndim == 0 or self.size == 0:
        return self, indices
    return np.take_along_axis(self, indices, dim), indices


def stepped(self: Array, dim: int, step: Any) -> Array:
    """What a step makes of what it made before and the next elements, for all lanes at once."""
    if self.ndim == 0 or self.size == 0:
        return self.copy()
    results: list[Array] = []
    for values in np.moveaxis(self, dim, 0):
        results.append(step(results[-1], values) if results else values)
    return np.moveaxis(np.array(results), 0, dim)


def scanned(ufunc: Any, self: Array, dim: int, dtype: Any) -> Array:
    dtype = result_dtype(self, dtype)
    return stepped(wide(self.astype(dtype)), dim, ufunc).astype(dtype)


def log_running_sum(self: Array, dim: int) -> Array:
    def step(held: Array, value: Array) -> Array:
        less = np.real(value) < np.real(held)
        low, high = np.where(less, value, held), np.where(less, held, value)
        return np.where(np.real(low) > -np.inf, high + np.log1p(np.exp(low - high)), high)

    return stepped(wide(self), dim, step).astype(self.dtype)


def difference(self: Array, n: int, dim: int, prepend: Any, append: Any) -> Array:
    parts = [a for a in (prepend, self, append) if a is not None]
    joined = np.concatenate(parts, dim) if n else self
    for _ in range(min(n, joined.shape[dim])):
        after, before = np.split(joined, [1], dim)[1], np.split(joined, [joined.shape[dim] - 1], dim)[0]
        joined = after ^ before if joined.dtype == bool else after - before
    return joined


# -- order -------------------------------------------------------------------------------------------


def key(value: Any) -> tuple[bool, Any]:
    """What orders elements: NaN behind everything."""
    return (True, 0) if value != value else (False, value)


def sorting(self: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    def order(row: Array) -> Array:
        # Python's sort keeps the order of equal elements, also in reverse.
        keys = list(map(key, row.tolist()))
        return np.array(sorted(range(len(keys)), key=keys.__getitem__, reverse=descending))

    return taken(self, dim, order)


def greatest(self: Array, k: int, dim: int, largest: bool) -> tuple[Array, Array]:
    values, indices = sorting(self, dim, largest)
    if self.ndim == 0:
        return values, indices
    return values.take(range(k), dim), indices.take(range(k), dim)


def selected(self: Array, place: int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    values, indices = sorting(self, dim, False)
    if self.ndim == 0:
        return values, indices
    chosen = [place] if keepdim else place
    return values.take(chosen, dim), indices.take(chosen, dim)


def lower_median(self: Array, dim: Any, keepdim: bool, skip_nan: bool) -> tuple[Array, Array]:
    def place(row: list[Any]) -> int:
        keys = list(map(key, row))
        order = sorted(range(len(row)), key=keys.__getitem__)
        missing = sum([value != value for value in row])
        if missing and not skip_nan:
            return order[len(row) - missing]
        present = len(row) - missing or len(row)
        return order[(present - 1) // 2]

    return placed_in_lanes(self, dim, keepdim, place)


def placed_in_lanes(self: Array, dim: Any, keepdim: bool, place: Any) -> tuple[Array, Array]:
    """The elements at the place that a function finds in each lane, and the places."""
    found: list[Any] = []

    def noted(row: list[Any]) -> int:
        at: int = place(row)
        found.append(row[at])
        return at

    indices = lanes(self, dim, keepdim, noted).astype(np.int64)
    return np.array(found).reshape(indices.shape).astype(self.dtype), indices


def most_frequent(self: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    def place(row: list[Any]) -> int:
        often = Counter(row)
        best = min(often, key=lambda value: (-often[value], key(value)))
        return len(row) - 1 - row[::-1].index(best)

    return placed_in_lanes(self, dim, keepdim, place)


def uniques(self: Array, inverse: bool, counts: bool, dim: int | None = None) -> tuple[Array, Array, Array]:
    none = np.zeros(0, np.int64)
    values, places, numbers = np.unique(
        self, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    shape = self.shape if dim is None else (self.shape[dim],)
    return values, places.reshape(shape) if inverse else none, numbers if counts else none


def runs(self: Array, inverse: bool, counts: bool, dim: int | None) -> tuple[Array, Array, Array]:
    items = list(self.reshape(-1)) if dim is None else list(np.moveaxis(self, dim, 0))
    starts = [i for i in range(len(items)) if i == 0 or not np.array_equal(items[i], items[i - 1])]
    which = np.array([sum([s <= i for s in starts]) - 1 for i in range(len(items))], np.int64)
    lengths = np.diff(np.array([*starts, len(items)]))
    none = np.zeros(0, np.int64)
    if dim is None:
        values = self.reshape(-1)[starts] if starts else self.reshape(-1)
        return values, which.reshape(self.shape) if inverse else none, lengths if counts else none
    if self.ndim > 1 or dim != 0:
        inverse = counts = True
    return self.take(starts, dim), which if inverse else none, lengths if counts else none


# -- searches and counts ------------------------------------------------------------------------------


def searched(sequence: Array, values: Any, right: bool, out_int32: bool, sorter: Any = None) -> Array:
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    values = np.asarray(values)
    rows = np.broadcast_to(sequence, (*values.shape[:-1], sequence.shape[-1])) if values.ndim else sequence
    found = np.zeros(values.shape, np.int32 if out_int32 else np.int64)
    for place in np.ndindex(*values.shape):
        row = rows[place[:-1]]
        found[place] = sum([bool(v <= values[place] if right else v < values[place]) for v in row])
    return found


def counted(self: Array, weights: Any, minlength: int) -> Array:
    length = max(minlength, int(max(self, default=-1)) + 1)
    if weights is None or self.size == 0:
        return np.array([int(np.sum(self == i)) for i in range(length)], np.int64)
    sums = [np.sum(wide(weights)[self == i]) for i in range(length)]
    return np.array(sums).astype(np.float32 if weights.dtype == np.float32 else np.float64)


def histogram(self: Array, bins: int, low: Any, high: Any) -> Array:
    values = wide(self).reshape(-1)
    if low == high and values.size:
        low, high = values.min(), values.max()
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(values, bins, (low, high))[0].astype(self.dtype)


def summed_to(self: Array, size: Any) -> Array:
    """Each element added where ``expand`` would have taken it from."""
    lead = self.ndim - len(size)
    found = np.zeros(size, np.int64 if self.dtype.kind in "biu" else self.dtype)
    for index in np.ndindex(self.shape):
        place = tuple(0 if size[d] == 1 else i for d, i in enumerate(index[lead:]))
        found[place] += self[index]
    return found


def edges_of(self: Array, bins: Any, range: Any) -> list[Array]:
    """The edges of equal parts along each coordinate of the points."""
    points = wide(self).reshape(self.size // max(len(bins), 1), len(bins))
    found = []
    for d, parts in enumerate(bins):
        low, high = (0, 1) if not len(points) else (points[:, d].min(), points[:, d].max())
        if range:
            low, high = range[2 * d : 2 * d + 2]
        half = 0.5 if low == high else 0
        found.append(np.linspace(low - half, high + half, parts + 1).astype(self.dtype))
    return found


def points_counted(self: Array, bins: Any, weight: Any, density: bool) -> Array:
    """NumPy's histogram of points."""
    points = self.reshape(-1, len(bins))
    weights = None if weight is None else weight.reshape(-1)
    return np.histogramdd(points, bins, weights=weights, density=density)[0].astype(self.dtype)


def bits_combined(self: Array, dim: Any, keepdim: bool) -> Array:
    """One row of bits after the other, as Python's integers."""
    bits = self.astype(np.int64 if self.dtype.kind in "biu" else np.float64).view(np.uint64)
    return lanes(bits, dim, keepdim, lambda row: np.uint64(functools.reduce(operator.xor, row, 0))).astype(
        np.uint64
    )
