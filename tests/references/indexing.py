"""Independent references for indexing, gather and scatter: one element after the other, in Python."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

Array = Any


def positions(index: Array, dim: int, ndim: int) -> Any:
    """For each place of ``index``: that place, and the place along ``dim`` that it names."""
    for place in np.ndindex(*index.shape):
        at = int(index[place])
        yield place, ((*place[:dim], at, *place[dim + 1 :]) if ndim else ())


def gathered(self: Array, dim: int, index: Array) -> Array:
    out = np.zeros(index.shape, self.dtype)
    for place, source in positions(index, dim % max(self.ndim, 1), self.ndim):
        out[place] = self[source]
    return out


def gathered_without(self: Array, dim: int, index: Array) -> Array:
    """Where indices, and what is gathered, have lost the dim."""
    return gathered(self, dim, np.expand_dims(index, dim)).squeeze(dim) if self.ndim else self[...]


def rows_back(grad: Array, indices: Array, rows: int, padding: int, by_frequency: bool) -> Array:
    """The gradient of the table of which rows were looked up."""
    found = np.zeros((rows, grad.shape[-1]), dtype=grad.dtype)
    for place in np.ndindex(*indices.shape):
        row = indices[place]
        if row != padding:
            found[row] += grad[place] / (np.sum(indices == row) if by_frequency else 1)
    return found


def folded(values: list[Any], reduce: str | None, dtype: Any) -> Any:
    """The values that meet in one place, taken together."""
    if reduce is None:
        return values[-1]
    if reduce in ("amax", "amin"):
        return (max if reduce == "amax" else min)(values)
    wide = dtype if dtype.kind in "biu" else (np.complex128 if dtype.kind == "c" else np.float64)
    array = np.array(values).astype(wide)
    if dtype.kind == "b":
        return array.any() if reduce == "sum" else array.all()
    result = np.prod(array, dtype=wide) if reduce == "prod" else np.sum(array, dtype=wide)
    if reduce == "mean":
        return result // dtype.type(len(values)) if dtype.kind in "iu" else result / len(values)
    return result


def scattered_with(
    self: Array, dim: int, index: Array, src: Any, reduce: str | None, include_self: bool
) -> Array:
    meeting: dict[tuple[int, ...], list[Any]] = {}
    for place, target in positions(index, dim % max(self.ndim, 1), self.ndim):
        held = meeting.setdefault(target, [self[target]] if include_self and reduce else [])
        held.append(src[place] if isinstance(src, np.ndarray) else src)
    out = self.copy()
    for target, values in meeting.items():
        out[target] = folded(values, reduce, self.dtype)
    return out


def gathered_back(grad: Array, sizes: Any, dim: int, index: Array) -> Array:
    return scattered_with(np.zeros(sizes, grad.dtype), dim, index, grad, "sum", True)


def scattered_src_back(grad: Array, dim: int, index: Array, sizes: Any) -> Array:
    out = np.zeros(sizes, grad.dtype)
    for place in np.ndindex(index.shape):
        at = list(place)
        if at:
            at[dim] = int(index[place])
        out[place] = grad[tuple(at)]
    return out


# -- whole slices ------------------------------------------------------------------------------------


def slices(index: Array, dim: int, ndim: int) -> Any:
    """For each index: its number, and the key of the slice that it names."""
    for i, at in enumerate(np.reshape(index, -1)):
        yield i, ((*(slice(None),) * (dim % ndim), int(at)) if ndim else ())


def slices_added(self: Array, dim: int, index: Array, source: Array, alpha: Any) -> Array:
    out = self.astype(np.float64) if self.dtype.kind in "fV" else self.copy()
    for i, key in slices(index, dim, self.ndim):
        part = source.take(i, dim) if self.ndim else source
        out[key] = (
            out[key] | part if self.dtype == bool else out[key] + np.asarray(alpha * part).astype(out.dtype)
        )
    return out.astype(self.dtype)


def slices_back(grad: Array, sizes: Any, dim: int, index: Array) -> Array:
    return slices_added(np.zeros(sizes, grad.dtype), dim, index, grad, 1)


def slices_replaced(self: Array, dim: int, index: Array, source: Any) -> Array:
    out = self.copy()
    for i, key in slices(index, dim, self.ndim):
        whole = np.ndim(source) == 0 or self.ndim == 0
        out[key] = np.asarray(source if whole else source.take(i, dim)).astype(self.dtype)
    return out


def slices_reduced(
    self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool
) -> Array:
    shape = [1] * self.ndim
    shape[dim] = -1
    return scattered_with(
        self, dim, np.broadcast_to(np.reshape(index, shape), source.shape), source, reduce, include_self
    )


# -- positions and masks --------------------------------------------------------------------------------


def advanced(self: Array, indices: Any) -> Array:
    numbers = np.arange(self.size).reshape(self.shape)
    return self.reshape(-1)[numbers[tuple([slice(None) if i is None else i for i in indices])]]


def put_at(self: Array, indices: Any, values: Array, accumulate: bool) -> Array:
    out = self.copy()
    numbers = np.arange(self.size).reshape(self.shape)
    places = numbers[tuple([slice(None) if i is None else i for i in indices])]
    return put_flat(out, places, np.broadcast_to(values, places.shape), accumulate)


def indexed_back(grad: Array, sizes: Any, indices: Any) -> Array:
    return put_at(np.zeros(sizes, grad.dtype), indices, grad, True)


def put_flat(self: Array, index: Array, source: Array, accumulate: bool) -> Array:
    out = self.reshape(-1).copy()
    for at, value in zip(np.reshape(index, -1), np.reshape(source, -1), strict=True):
        out[at] = (out[at] | value if self.dtype == bool else out[at] + value) if accumulate else value
    return out.reshape(self.shape)


def scattered_by_mask(self: Array, mask: Array, source: Array) -> Array:
    self, mask = np.broadcast_arrays(self, mask)
    out, values = self.copy(), iter(source.reshape(-1))
    for place in np.ndindex(*out.shape):
        if mask[place]:
            out[place] = next(values)
    return out


def masked_back(grad: Array, sizes: Any, mask: Array) -> Array:
    full = np.broadcast_shapes(sizes, mask.shape)
    return scattered_by_mask(np.zeros(full, grad.dtype), mask, grad)


def chosen_then_zeros(grad: Array, mask: Array, sizes: Any) -> Array:
    places = [place for place in np.ndindex(*grad.shape) if np.broadcast_to(mask, grad.shape)[place]]
    values = [grad[place] for place in places] + [0] * (int(np.prod(sizes)) - len(places))
    return np.array(values).astype(grad.dtype).reshape(sizes)


def taken_along(self: Array, indices: Array, dim: int | None) -> Array:
    if dim is None:
        return self.reshape(-1)[indices.reshape(-1)]
    shape = list(
        np.broadcast_shapes(
            *[
                tuple([1 if d == dim % self.ndim else n for d, n in enumerate(a.shape)])
                for a in (self, indices)
            ]
        )
    )
    shape[dim] = indices.shape[dim]
    index = np.broadcast_to(indices, shape)
    shape[dim] = self.shape[dim]
    return gathered(np.broadcast_to(self, shape), dim, index % self.shape[dim])


def combined(self: Array, r: int, with_replacement: bool) -> Array:
    """Rows of ``r`` elements, by counting through all places and keeping those that are in order."""
    rows = []
    for places in np.ndindex(*[len(self)] * r):
        steps = [b - a for a, b in itertools.pairwise(places)]
        if all(step >= (0 if with_replacement else 1) for step in steps):
            rows.append([self[place] for place in places])
    return np.array(rows if r else [], self.dtype).reshape((-1, r) if r else (0,))


def first_positions(self: Array, size: int, fill_value: int) -> Array:
    """The positions of what is not 0, as far as they go into ``size`` rows."""
    rows = [place for place in np.ndindex(*self.shape) if self[place]]
    rows = (rows + [(fill_value,) * self.ndim] * size)[:size]
    return np.array(rows, np.int64).reshape(size, self.ndim)
