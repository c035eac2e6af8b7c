"""Kernels that read and write at given positions: advanced indexing, takes and puts.

Inputs are never changed: what PyTorch calls writing gives a new array here. Indices are int64 or
int32 arrays, masks bool (uint8 in advanced indexing). Out-of-range indices are IndexErrors.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.costs import INDEX_LARGE
from ..core.user_stack import program_stacklevel
from .creation import as_scalar, cast_number
from .dims import wrap_dim
from .dtypes import acc_dtype
from .index_checks import (
    all_in_range,
    check_bounds,
    check_long,
    check_same_dtype,
    index_range,
    wrap_index,
)
from .masks import masked_select, true_positions
from .scatter import NUMBERS, PLAIN, check_fold, fold_flat
from .scatter_add import add_at, add_slices
from .select import select

Array = Any
Number = bool | int | float | complex
Indices = Sequence[Array | None]  # of advanced indexing; None stands for the whole dim
Shape = tuple[int, ...]

# -- advanced indexing ---------------------------------------------------------------------------


def index(self: Array, indices: Indices) -> Array:
    """``self[indices]``, always a copy: index tensors are broadcast and take the place of their dims.

    That place is the front when other dims stand between them. Masks stand for the positions
    where they are true. Raises IndexError for dtypes, shapes and values that do not fit.
    """
    dim = len(indices) - 1
    if 0 <= dim < self.ndim and (dim == 0 or all([i is None for i in indices[:-1]])):
        last = indices[dim]
        if last is not None and last.dtype.char in "lqi":
            try:  # a third of the time of a general advanced index
                return self.take(last, dim)
            except IndexError as error:
                raise index_error(self.shape, indices, error) from None
    key = _key(self.shape, indices)
    if self.size >= INDEX_LARGE and self.flags.c_contiguous:
        found = _index_flat(self, indices)
        if found is not None:
            return found
    try:
        result = self[key]
    except IndexError as error:
        raise index_error(self.shape, indices, error) from None
    return result.copy() if result.base is not None else result


def _index_flat(self: Array, indices: Indices) -> Array | None:
    """``index`` of a contiguous array by flat positions, where they can be told; None elsewhere."""
    first = indices[0]
    if first is not None and first.dtype.char in "?B":
        return masked_select(self, first.astype(bool, copy=False)) if first.ndim == self.ndim else None
    found = _slice_view(self.shape, indices)
    if found is None:
        return None
    sizes, places, shape = found
    return self.reshape(sizes).take(places, 1, mode="wrap").reshape(shape)


def index_put(self: Array, indices: Indices, values: Array, accumulate: bool) -> Array:
    """``self`` with ``values`` (broadcast) at ``indices``; added where they ``accumulate``.

    Where indices repeat and values are not added, the last one stays.
    Raises IndexError for an index out of bounds, RuntimeError for values that do not broadcast to the shape
    of what is indexed.
    """
    check_index_put(self, indices, values, accumulate)
    key = _key(self.shape, indices)
    if self.dtype != values.dtype:
        values = as_scalar(values.reshape(()), self.dtype)
    dtype = self.dtype
    if accumulate and dtype != acc_dtype(dtype):  # what is added is rounded once
        self, values = self.astype(acc_dtype(dtype)), values.astype(acc_dtype(dtype))
    out = self.copy()
    try:
        if values.ndim > _result_ndim(self.ndim, indices):
            raise ValueError
        if not accumulate:
            if not (out.size >= INDEX_LARGE and _index_put_flat(out, indices, values)):
                out[key] = values
        elif all([i is None or i.dtype.char in "?B" for i in indices]):
            out[key] += values  # masks name no position twice
        else:
            _accumulate(out, indices, key, values)
    except IndexError as error:
        raise index_error(self.shape, indices, error) from None
    except ValueError:
        shape = index_shape(self.shape, indices)
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(shape)}"
        ) from None
    return out.astype(dtype, copy=False)


def check_index_put(self: Array, indices: Indices, values: Array, accumulate: bool) -> None:
    """RuntimeError without an index, and for values of another dtype. One number at a mask may be of another,
    as ``masked_fill`` takes it. Meta shares this."""
    if not indices:
        raise RuntimeError("at least one index must be provided")
    if self.dtype != values.dtype:
        given = [i for i in indices if i is not None]
        if accumulate or values.size != 1 or len(given) != 1 or given[0].dtype.char != "?":
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {self.dtype} for the "
                f"destination and {values.dtype} for the source."
            )


def _index_put_flat(out: Array, indices: Indices, values: Array) -> bool:
    """``out[indices] = values`` by flat positions, where that is a choice of whole slices of ``out``."""
    first = indices[0]
    if first is not None and first.dtype.char in "?B":
        if first.ndim != out.ndim:
            return False
        if values.size == 1:
            np.copyto(out, select(first.astype(bool, copy=False), values.reshape(()), out))
        else:
            out.reshape(-1)[true_positions(first)] = values
        return True
    found = _slice_view(out.shape, indices)
    if found is None or found[0][0] != 1:
        return False
    (_, count, inner), places, shape = found
    values = np.broadcast_to(values, shape).reshape(places.size, inner)
    if inner == 1:
        out.reshape(-1)[places] = values.reshape(-1)
    else:
        out.reshape(count, inner)[places] = values
    return True


def index_backward(grad: Array, sizes: Shape, indices: Indices) -> Array:
    """Zeros of shape ``sizes`` to which ``grad`` is added at ``indices``."""
    out = np.zeros(sizes, grad.dtype)
    key = _key(sizes, indices)
    if all([i is None or i.dtype.char in "?B" for i in indices]):  # they name no position twice
        if not (out.size >= INDEX_LARGE and _index_put_flat(out, indices, grad)):
            out[key] = grad
    else:
        _accumulate(out, indices, key, grad)
    return out


def _accumulate(out: Array, indices: Indices, key: tuple[Any, ...], values: Array) -> None:
    found = _slice_view(out.shape, indices)
    if found is None:
        places = np.arange(out.size).reshape(out.shape)[key]
        values = np.broadcast_to(values, places.shape)
        add_at(out, places.reshape(-1), values.reshape(-1))
        return
    (outer, count, inner), places, shape = found
    if values.shape != shape:
        values = np.broadcast_to(values, shape)
    add_slices(out.reshape(outer, count, inner), places, values.reshape(outer, places.size, inner))


def _slice_view(shape: Shape, indices: Indices) -> tuple[tuple[int, int, int], Array, Shape] | None:
    """Advanced indexing as the choice of slices from (outer, count, inner) elements, where it is one.

    It is where the indices are integers and stand side by side: their dims become one. The sizes of
    the three dims, the places in the middle one (1-d, checked, not negative), the shape of the result.
    """
    given = [i for i in indices if i is not None]
    first = 0
    while first < len(indices) and indices[first] is None:
        first += 1
    end = first + len(given)
    if not given or len(shape) < end or any([i is None or i.dtype.char in "?B" for i in indices[first:end]]):
        return None
    places: Array = None
    for i, size in zip(given, shape[first:end], strict=True):
        i = wrap_index(i, size)
        if i is None:
            return None
        try:
            places = i if places is None else np.add(np.multiply(places, size, dtype=np.int64), i)
        except ValueError:  # they do not broadcast: NumPy will say so
            return None
    count = math.prod(shape[first:end])
    sizes = (math.prod(shape[:first]), count, math.prod(shape[end:]))
    return sizes, places.reshape(-1), (*shape[:first], *places.shape, *shape[end:])


def _key(shape: Shape, indices: Indices) -> tuple[Any, ...]:
    """The indices as NumPy takes them, their dtypes and the shapes of masks checked."""
    if not indices:
        raise IndexError("at least one index must be provided")
    key: list[Any] = []
    dim = 0
    for i in indices:
        if i is None:
            key.append(slice(None))
            dim += 1
        elif i.dtype.char in "lqi":
            key.append(i)
            dim += 1
        elif i.dtype.char in "?B":
            for offset, n in enumerate(i.shape):
                if dim + offset >= len(shape) or n != shape[dim + offset]:
                    raise IndexError(
                        f"The shape of the mask {list(i.shape)} at index {offset} does not match the shape "
                        f"of the indexed tensor {list(shape)} at index {dim + offset}"
                    )
            key.append(i if i.dtype.kind == "b" else _from_bytes(i))
            dim += i.ndim
        else:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if dim > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {dim})")
    return tuple(key)


def _from_bytes(mask: Array) -> Array:
    """A mask of bytes as one of bools; a warning says that these are wanted."""
    warnings.warn(
        "indexing with dtype tengen.uint8 is now deprecated, please use a dtype tengen.bool instead.",
        UserWarning,
        stacklevel=program_stacklevel(),
    )
    return mask.astype(bool)


def _result_ndim(ndim: int, indices: Indices) -> int:
    """How many dims the result of advanced indexing has."""
    broadcast = 0
    for i in indices:
        if i is not None:
            mask = i.dtype.char in "?B"
            ndim -= i.ndim if mask else 1
            broadcast = max(broadcast, 1 if mask else i.ndim)
    return ndim + broadcast


def index_shape(shape: Shape, indices: Indices) -> Shape:
    """The shape of ``index(self, indices)``. Masks must be arrays with data. IndexError for indices that do
    not broadcast to each other."""
    sizes: list[Shape] = []
    rest: list[int] = []
    dim, places = 0, []
    for i in indices:
        if i is None:
            rest.append(shape[dim])
            dim += 1
            continue
        places.append(dim)
        if i.dtype.char in "?B":
            sizes.append((int(np.count_nonzero(i)),))
            dim += i.ndim
        else:
            sizes.append(i.shape)
            dim += 1
    adjacent = all([i is not None for i in _index_span(indices)])
    before = places[0] if places and adjacent else 0
    rest += shape[dim:]
    try:
        broadcast = np.broadcast_shapes(*sizes)
    except ValueError:
        shapes = ", ".join([str(list(s)) for s in sizes])
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return (*rest[:before], *broadcast, *rest[before:])


def _index_span(indices: Indices) -> Indices:
    """The indices from the first to the last one that is given."""
    given = [k for k, i in enumerate(indices) if i is not None]
    return indices[given[0] : given[-1] + 1] if given else []


def index_error(shape: Shape, indices: Indices, error: IndexError) -> IndexError:
    """What is wrong with indices that NumPy refused, in torch's words."""
    dim = 0
    for i in indices:
        if i is not None and i.dtype.char in "lqi":
            if i.size and shape[dim] == 0:
                return IndexError("index is out of bounds for dimension with size 0")
            try:
                check_bounds(i, shape[dim], dim, IndexError, negative=True)
            except IndexError as found:
                return found
        dim += 1 if i is None or i.dtype.char not in "?B" else i.ndim
    try:
        index_shape(shape, indices)
    except IndexError as found:
        return found
    return error


# -- what index_copy checks -------------------------------------------------------------------------


def check_index_copy(self: Array, dim: int, index: Array, source: Array) -> int:
    """``dim`` from 0; raises as ``index_copy`` must for arguments that do not go together."""
    dim = wrap_dim(dim, self.ndim)
    check_long(index)
    check_same_dtype(self, source)
    if index.ndim > 1:
        raise IndexError(f"Index should have dimension 1 or 0 (got {index.ndim})")
    if source.ndim == 0 and index.size != 1:
        raise IndexError(f"When source is scalar, index should have one element (got {index.size})")
    if source.ndim and self.ndim and source.ndim != self.ndim:
        raise IndexError(
            "When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    ours, theirs = (s[:dim] + s[dim + 1 :] for s in (self.shape, source.shape))
    if ours != theirs:
        raise RuntimeError(
            f"Source/destination tensor must have same slice shapes. Destination slice shape: {list(ours)} "
            f"at dimension {dim} and source slice shape: {list(theirs)} at dimension 0."
        )
    if source.ndim and index.size != source.shape[dim]:
        raise IndexError(
            f"Number of indices ({index.size}) should be equal to source.size(dim) ({source.shape[dim]})"
        )
    return dim


# -- flat positions ----------------------------------------------------------------------------------


def gather_flat(self: Array, index: Array) -> Array:
    """The elements at positions of the flattened ``self``, in the shape of ``index``. IndexError for a
    position out of range, also for any in no elements."""
    _check_flat(self, index)
    if self.size == 0 and index.size:
        raise IndexError("tried to take from an empty tensor")
    return self.reshape(-1).take(index)


def scatter_flat(
    self: Array,
    index: Array,
    source: Any,
    fold: str,
    include_self: bool = True,
    fresh: bool = False,
) -> Array:
    """``self`` changed by ``source``, or a number, at positions of its flattened elements, as in
    ``scatter_along``. IndexError for a position out of range, and another number of elements than there are
    positions."""
    _check_flat(self, index)
    if fold not in PLAIN:
        check_fold(fold, self.dtype)
    if source.__class__ in NUMBERS:
        source = np.broadcast_to(cast_number(source, self.dtype), index.shape)
    check_scatter_flat(self, index, source)
    out = self if fresh else self.copy()
    flat, values = out.reshape(-1), source.reshape(-1)
    if fold == "set":
        flat[index.reshape(-1)] = values
        return out
    places = wrap_index(index, out.size)
    if places is None:
        raise IndexError("tried to put elements into an empty tensor")
    fold_flat(flat, places.reshape(-1), values, fold, include_self)
    return out


def check_scatter_flat(self: Array, index: Array, source: Array) -> None:
    """RuntimeError for another dtype than that of ``self``, IndexError unless there is a value for each
    position."""
    check_same_dtype(self, source)
    if source.size != index.size:
        raise IndexError(
            "Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )


def _check_flat(self: Array, index: Array) -> None:
    check_long(index)
    if index.size and self.size and not all_in_range(index, self.size):
        low, high = index_range(index)
        if high >= self.size or low < -self.size:
            wrong = high if high >= self.size else low
            raise IndexError(
                f"out of range: tried to access index {wrong} on a tensor of {self.size} elements."
            )
