"""Reading and writing at indices, by flat places, as in ``kernels.index``, ``scatter`` and ``masks``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .. import index as host_index, index_checks as checks, scatter as host_scatter
from ..creation import check_scalar
from ..index import check_index_put, index_shape
from ..nn import embedding as host_embedding
from .common import Array, as_array, cast, flat, in_range, is_array, is_bool, is_integral, number_of

Mask = Any
Operand = Any
Shape = Sequence[int]
Indices = Sequence[Array | None]
Number = bool | int | float | complex
Check = Callable[..., int]


def check_bounds(
    xp: Any, index: Array, size: int, dim: int, error: type[Exception], negative: bool = False
) -> Array:
    """The index, of which what is out of range is an error as of NumPy's kernels, as soon as it is known."""
    check = partial(checks.check_bounds, size=size, dim=dim, error=error, negative=negative)
    return xp.checked(index, check, in_range(-size if negative else 0, size))


def _from_front(xp: Any, index: Array, size: int) -> Array:
    index = cast(xp, index, xp.int64)
    return xp.where(index < 0, index + size, index)


def _described(xp: Any, array: Array) -> Any:
    """What checks of NumPy's kernels ask of an array: its shape and its dtype."""
    return np.broadcast_to(np.zeros((), xp.numpy_dtype(array.dtype)), tuple(array.shape))


def _of_any(check: Callable[..., int]) -> Callable[..., int]:
    """A check of NumPy's kernels, for arrays of any library."""
    return lambda xp, *given: check(*[_described(xp, v) if is_array(v) else v for v in given])


check_gather = _of_any(host_scatter.check_gather)
check_scatter = _of_any(host_scatter.check_scatter)
check_gather_slices = _of_any(host_scatter.check_gather_slices)
check_scatter_slices = _of_any(host_scatter.check_scatter_slices)
check_fill_slices = _of_any(host_scatter.check_fill_slices)
check_gather_whole = _of_any(host_scatter.check_gather_whole)
check_scatter_whole = _of_any(host_scatter.check_scatter_whole)
check_table = _of_any(host_embedding.check_table)
check_index_copy = _of_any(host_index.check_index_copy)


# -- elements along a dimension --------------------------------------------------------------------


def gather_along(xp: Any, check: Check, self: Array, dim: int, index: Array) -> Array:
    """``self`` at ``index`` along ``dim``, the other dims in step; the result has the shape of ``index``."""
    d = check(xp, self, dim, index)
    if not index.size:
        return xp.zeros(index.shape, dtype=self.dtype)
    return xp.reshape(xp.at(flat(xp, self), _places_along(xp, self, d, index)), index.shape)


def _places_along(xp: Any, self: Array, dim: int, index: Array) -> Array:
    """The places in the flattened ``self`` of ``index`` along ``dim``, the other dims in step."""
    shape = tuple(self.shape) or (1,)
    index = cast(xp, check_bounds(xp, index, shape[dim], dim, RuntimeError), xp.int64)
    places = xp.reshape(index, index.shape or (1,)) * prod(shape[dim + 1 :])
    for d, n in enumerate(places.shape):
        if d != dim:
            steps = np.arange(n, dtype=np.int64) * prod(shape[d + 1 :])
            places = places + xp.from_host(steps.reshape([n if e == d else 1 for e in range(places.ndim)]))
    return places


def in_corner(xp: Any, self: Array, sizes: Shape) -> Array:
    """``self`` in the front corner of zeros of these sizes."""
    if tuple(self.shape) == tuple(sizes):
        return self
    if not len(sizes):
        return xp.reshape(self, ())
    return xp.put(xp.zeros(tuple(sizes), dtype=self.dtype), tuple([slice(n) for n in self.shape]), self)


def zeros_of(xp: Any, sizes: Shape, like: Array) -> Array:
    """Zeros of these sizes, of the dtype of an array."""
    return xp.zeros(tuple(sizes), dtype=like.dtype)


def scatter_along(
    xp: Any,
    check: Check,
    self: Array,
    dim: int,
    index: Array,
    src: Any,
    fold: str,
    include_self: bool = True,
    fresh: bool = False,
) -> Array:
    """``self`` changed at ``index`` along ``dim``, as ``kernels.scatter.scatter_along`` says."""
    d = check(xp, self, dim, index, src) if is_array(src) else check(xp, self, dim, index)
    host_scatter.check_fold(fold, xp.numpy_dtype(self.dtype))
    if not index.size:
        return self
    places = _places_along(xp, self, d, index)
    if is_array(src) and src.ndim:
        src = src[tuple([slice(n) for n in places.shape])]
    return _folded(xp, self, (self.size,), 0, places, src, fold, include_self)


def _folded(
    xp: Any, self: Array, shape: Shape, axis: int, places: Array, values: Any, fold: str, include_self: bool
) -> Array:
    """``self``, taken as of a shape, with slices of values, or a number, at places along an axis, together
    with what is there as a fold says."""
    full = (*shape[:axis], *places.shape, *shape[axis + 1 :])
    start, values = xp.reshape(self, shape), xp.broadcast_to(as_array(xp, values, self), full)
    if not include_self:
        identity = xp.scalar(host_scatter.identity_of(fold, xp.numpy_dtype(self.dtype)).item(), self.dtype)
        start = xp.scatter(start, places, xp.broadcast_to(identity, full), "set", axis)
    result = xp.scatter(start, places, cast(xp, values, self.dtype), host_scatter.FOLDS[fold], axis)
    if fold == "mean":
        counts = _counts(xp, places, shape[axis], xp.int64) + int(include_self)
        counts = cast(xp, xp.where(counts < 1, xp.ones_like(counts), counts), self.dtype)
        counts = xp.reshape(counts, (-1, *(1,) * (len(shape) - axis - 1)))
        result = xp.floor_divide(result, counts) if is_integral(xp, self) else result / counts
    return xp.reshape(result, self.shape)


def _counts(xp: Any, places: Array, size: int, dtype: Any) -> Array:
    """How often each place is there."""
    return xp.scatter(xp.zeros((size,), dtype=dtype), places, xp.ones(places.shape, dtype=dtype), "add")


# -- slices along a dimension ----------------------------------------------------------------------


def _check_in_range(size: int, index: Any) -> None:
    if not checks.all_in_range(index, size):
        raise IndexError("index out of range in self")


def gather_slices(xp: Any, check: Check, self: Array, dim: int, index: Array, whole: bool = False) -> Array:
    """The slices of ``self`` along ``dim`` at ``index``, 1-d or 0-d, or ``whole``, of any shape."""
    d = check(xp, self, dim, index)
    if whole:
        index = xp.checked(index, partial(_check_in_range, self.shape[d]), in_range(0, self.shape[d]))
        return xp.at(self, index, d)
    if not self.ndim:
        return self
    index = check_bounds(xp, index, self.shape[d], d, IndexError)
    return xp.take(self, xp.reshape(index, (-1,)), axis=d)


def scatter_slices(
    xp: Any,
    check: Check,
    self: Array,
    dim: int,
    index: Array,
    source: Array,
    fold: str,
    include_self: bool = True,
    fresh: bool = False,
    factor: Number = 1,
    by_count: bool = False,
    skipped: int | None = None,
) -> Array:
    """``self`` changed by the slices of ``source``, times a factor, at ``index`` along ``dim``, as
    ``kernels.scatter.scatter_slices`` says."""
    d = check(xp, self, dim, index, source)
    host_scatter.check_fold(fold, xp.numpy_dtype(self.dtype))
    if not index.size:
        return self
    adds, shape = fold == "sum" and include_self, tuple(self.shape) or (1,)
    index = check_bounds(xp, index, shape[d], d, RuntimeError if adds else IndexError)
    places, behind = flat(xp, cast(xp, index, xp.int64)), (-1, *(1,) * (len(shape) - d - 1))
    source = source if factor == 1 else source * number_of(factor, self.dtype, xp)
    source = xp.reshape(source, (*shape[:d], index.size, *shape[d + 1 :]))
    if by_count:
        source = source / xp.reshape(xp.at(_counts(xp, places, shape[d], source.dtype), places), behind)
    stays = skipped is not None and 0 <= skipped < shape[d]
    if stays and adds:  # what changes nothing, not even the sign of a zero
        source = xp.where(xp.reshape(places == skipped, behind), as_array(xp, -0.0, source), source)
    made = _folded(xp, self, shape, d, places, source, fold, include_self)
    if adds or not stays:
        return made
    return xp.where(xp.reshape(xp.arange(shape[d], dtype=xp.int64), behind) == skipped, self, made)


def fill_slices(xp: Any, check: Check, self: Array, dim: int, index: Array, value: Any) -> Array:
    """``self`` with a number or a 0-d array in the slices at ``index`` along ``dim``; it may be negative."""
    d = check(xp, self, dim, index, value)
    shape = tuple(self.shape) or (1,)
    index = check_bounds(xp, index, shape[d], d, IndexError, negative=True)
    places = flat(xp, _from_front(xp, index, shape[d]))
    return _folded(xp, self, shape, d, places, as_scalar(xp, value, self.dtype), "set", True)


def as_scalar(xp: Any, value: Any, dtype: Any) -> Operand:
    """A number or 0-d array as a 0-d array of the dtype. RuntimeError for an array with dimensions."""
    if not is_array(value):
        return xp.scalar(number_of(value, dtype, xp), dtype)
    check_scalar(value)
    return cast(xp, value, dtype)


# -- flat places -----------------------------------------------------------------------------------


def gather_flat(xp: Any, self: Array, index: Array) -> Array:
    """The elements at places of the flattened ``self``, in the shape of ``index``."""
    if not index.size:
        return xp.zeros(index.shape, dtype=self.dtype)
    return xp.at(flat(xp, self), _flat_places(xp, self, index))


def _flat_places(xp: Any, self: Array, index: Array) -> Array:
    """``index``, which counts from either end of the flattened ``self``, from its front."""
    return _from_front(xp, check_bounds(xp, index, self.size, 0, IndexError, negative=True), self.size)


def scatter_flat(
    xp: Any,
    self: Array,
    index: Array,
    source: Any,
    fold: str,
    include_self: bool = True,
    fresh: bool = False,
) -> Array:
    """``self`` changed by ``source``, or a number, at places of its flattened elements."""
    if is_array(source):
        given = [_described(xp, a) for a in (self, index, source)]
        host_index.check_scatter_flat(*given)
        source = xp.reshape(source, index.shape)
    host_scatter.check_fold(fold, xp.numpy_dtype(self.dtype))
    if not index.size:
        return self
    return _folded(xp, self, (self.size,), 0, _flat_places(xp, self, index), source, fold, include_self)


# -- advanced indices --------------------------------------------------------------------------------


def _without_masks(xp: Any, indices: Indices) -> list[Array | None]:
    """The indices, masks as the places of what is true, which only values tell."""
    found: list[Array | None] = []
    for i in indices:
        if i is not None and (is_bool(xp, i) or i.dtype == xp.uint8):
            found += xp.on_host(lambda a: np.nonzero(a), None, i)
        else:
            found.append(i)
    return found


def _advanced(xp: Any, self: Array, indices: Indices) -> tuple[Array, int, Array, Shape, list[int]]:
    """Advanced indices as one: the array with their dims as one, which one that is, the places there, the
    result's shape, and the order of the dims."""
    shape = tuple(self.shape)
    if not indices:
        raise IndexError("at least one index must be provided")
    indices = _without_masks(xp, indices)
    if len(indices) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(indices)})")
    result = index_shape(shape, [None if i is None else _described(xp, i) for i in indices])
    given = [d for d, i in enumerate(indices) if i is not None]
    adjacent = not given or given == list(range(given[0], given[-1] + 1))
    before = given[0] if given and adjacent else 0
    rest = [d for d in range(len(shape)) if d not in given]
    places: Any = None
    for d in given:
        index = check_bounds(xp, indices[d], shape[d], d, IndexError, negative=True)
        index = _from_front(xp, index, shape[d])
        places = index if places is None else places * shape[d] + index
    places = xp.zeros((1,), dtype=xp.int64) if places is None else flat(xp, places)
    array = xp.permute_dims(self, (*rest[:before], *given, *rest[before:]))
    behind = before + len(given)
    merged = (*array.shape[:before], prod(array.shape[before:behind]), *array.shape[behind:])
    return xp.reshape(array, merged), before, places, result, [*rest[:before], *given, *rest[before:]]


def index(xp: Any, self: Array, indices: Indices) -> Array:
    """``self[indices]``: index arrays are broadcast and take the place of their dims."""
    array, axis, places, shape, _ = _advanced(xp, self, indices)
    if 0 in shape:
        return xp.zeros(shape, dtype=self.dtype)
    return xp.reshape(xp.at(array, places, axis), shape)


def index_put(xp: Any, self: Array, indices: Indices, values: Array, accumulate: bool) -> Array:
    """``self`` with ``values`` (broadcast) at ``indices``; added where they ``accumulate``. RuntimeError for
    values that do not broadcast to the shape of what is indexed."""
    given = [None if i is None else _described(xp, i) for i in indices]
    check_index_put(_described(xp, self), given, _described(xp, values), accumulate)
    values = cast(xp, values, self.dtype)
    first = indices[0]
    whole = first is not None and is_bool(xp, first) and tuple(first.shape) == tuple(self.shape)
    if whole and values.size == 1:
        value = xp.reshape(values, ())
        return xp.where(first, self + value if accumulate else value, self)
    array, axis, places, shape, order = _advanced(xp, self, indices)
    while values.ndim > len(shape) and values.shape[0] == 1:
        values = xp.reshape(values, values.shape[1:])
    try:
        np.broadcast_to(np.empty(values.shape, np.bool_), shape)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(shape)}"
        ) from None
    full = (*array.shape[:axis], *places.shape, *array.shape[axis + 1 :])
    values = xp.reshape(xp.broadcast_to(values, shape), full)
    made = _folded(xp, array, array.shape, axis, places, values, "sum" if accumulate else "set", True)
    made = xp.reshape(made, tuple([self.shape[d] for d in order]))
    return xp.permute_dims(made, tuple(np.argsort(order).tolist()))


def index_backward(xp: Any, grad: Array, sizes: Shape, indices: Indices) -> Array:
    """Zeros of shape ``sizes`` to which ``grad`` is added at ``indices``."""
    return index_put(xp, xp.zeros(tuple(sizes), dtype=grad.dtype), indices, grad, True)


# -- masks -------------------------------------------------------------------------------------------


def check_mask(xp: Any, mask: Array) -> Mask:
    """``mask`` itself. RuntimeError unless it is bool."""
    checks.check_mask(_described(xp, mask))
    return mask


def masked_select(xp: Any, self: Array, mask: Array) -> Array:
    """The elements where ``mask`` is true, 1-d: how many there are only values tell. RuntimeError for a mask
    of another dtype than bool."""
    if not is_bool(xp, mask):
        raise RuntimeError("expected BoolTensor for mask")
    self, mask = xp.broadcast_arrays(self, mask)
    return xp.on_host(lambda a, m: a[m], None, self, mask)[0]


def _order(xp: Any, mask: Array) -> Array:
    """For each flat place how many are true before it."""
    counts = xp.cumulative_sum(flat(xp, xp.astype(mask, xp.int64)), axis=0)
    return counts - xp.astype(flat(xp, mask), xp.int64)


def _check_enough(size: int, ones: Any) -> None:
    if ones.size and size < ones.max():
        raise RuntimeError("Number of elements of source < number of ones in mask")


def masked_scatter(xp: Any, self: Array, mask: Array, source: Array) -> Array:
    """``self`` with the elements of ``source``, in order, where ``mask`` is true; both are broadcast."""
    checks.check_mask(_described(xp, mask))
    checks.check_same_dtype(_described(xp, self), _described(xp, source))
    self, mask = xp.broadcast_arrays(self, mask)
    if not source.size:
        return xp.where(xp.checked(mask, partial(_check_enough, 0)), self, self)
    order = _order(xp, mask)
    if order.size:
        last = order[-1:] + xp.astype(flat(xp, mask)[-1:], xp.int64)
        order = order + (xp.checked(last, partial(_check_enough, source.size)) - last)
    places = xp.where(order < source.size, order, xp.zeros_like(order))
    return xp.where(mask, xp.reshape(xp.at(flat(xp, source), places), self.shape), self)


def masked_scatter_backward(xp: Any, grad_output: Array, mask: Array, sizes: Shape) -> Array:
    """The elements of ``grad_output`` where ``mask`` is true, then zeros, in the shape ``sizes``."""
    grad_output, mask = xp.broadcast_arrays(grad_output, mask)
    size = prod(sizes)
    zeros = xp.zeros((size + 1,), dtype=grad_output.dtype)
    order = _order(xp, mask)
    places = xp.where(flat(xp, mask) & (order < size), order, xp.full_like(order, size))
    return xp.reshape(xp.scatter(zeros, places, flat(xp, grad_output), "add")[:size], tuple(sizes))


def masked_select_backward(xp: Any, grad: Array, sizes: Shape, mask: Array) -> Array:
    """Zeros of shape ``sizes``, with ``grad`` in order where ``mask`` is true."""
    zeros = xp.zeros(tuple(sizes), dtype=grad.dtype)
    return masked_scatter(xp, zeros, mask, grad)


def nonzero(xp: Any, self: Array) -> Array:
    """The indices of what is not zero, a row for each: how many there are only values tell."""
    return xp.on_host(lambda a: np.argwhere(a).astype(np.int64), None, self)[0]
