"""Reading and writing at indices, by flat places, as in ``kernels.index``, ``scatter`` and ``masks``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .. import index_checks as checks, scatter as host_scatter
from ..dims import wrap_dim
from ..index import check_index_put, check_put_count, index_shape
from .common import Array, as_array, cast, flat, is_array, is_bool, is_integral, moved_back, number_of

Shape = Sequence[int]
Indices = Sequence[Array | None]
Number = bool | int | float | complex


def check_bounds(
    xp: Any, index: Array, size: int, dim: int, error: type[Exception], negative: bool = False
) -> Array:
    """The index, of which what is out of range is an error as of NumPy's kernels, as soon as it is known."""
    return xp.checked(index, partial(checks.check_bounds, size=size, dim=dim, error=error, negative=negative))


def _from_front(xp: Any, index: Array, size: int) -> Array:
    index = cast(xp, index, xp.int64)
    return xp.where(index < 0, index + size, index)


def _along(xp: Any, shape: Shape, dim: int, index: Array) -> Array:
    """The flat places in an array of ``shape`` of an index along ``dim``, the other dims in step."""
    places = index * prod(shape[dim + 1 :])
    for d, n in enumerate(index.shape):
        if d != dim:
            steps = np.arange(n, dtype=np.int64) * prod(shape[d + 1 :])
            own = [1] * index.ndim
            own[d] = n
            places = places + xp.from_host(steps.reshape(own))
    return places


# -- gather and scatter --------------------------------------------------------------------------


def gather(xp: Any, self: Array, dim: int, index: Array) -> Array:
    """``self`` at ``index`` along ``dim``, the other dims in step; the result has the shape of ``index``."""
    d = host_scatter.check_gather(_described(xp, self), dim, _described(xp, index))
    if not index.size:
        return xp.zeros(index.shape, dtype=self.dtype)
    places = _places_along(xp, self, d, index)
    return xp.reshape(xp.at(flat(xp, self), flat(xp, places)), index.shape)


def _places_along(xp: Any, self: Array, d: int, index: Array) -> Array:
    """The places in the flattened ``self`` of ``index`` along ``d``, the other dims in step."""
    shape = tuple(self.shape) or (1,)
    index = check_bounds(xp, index, shape[d], d, RuntimeError)
    return _along(xp, shape, d, cast(xp, xp.reshape(index, index.shape or (1,)), xp.int64))


def _described(xp: Any, array: Array) -> Any:
    """What checks of NumPy's kernels ask of an array: its shape and its dtype."""
    return np.broadcast_to(np.zeros((), xp.numpy_dtype(array.dtype)), tuple(array.shape))


def _scattered(
    xp: Any, self: Array, dim: int, index: Array, src: Array | None, value: Any, how: str
) -> Array:
    """``self`` with ``src`` or a number at ``index`` along ``dim``."""
    d = host_scatter.check_scatter(
        _described(xp, self), dim, _described(xp, index), None if src is None else _described(xp, src)
    )
    if not index.size:
        return self
    places = flat(xp, _places_along(xp, self, d, index))
    if src is None:
        values = xp.broadcast_to(as_array(xp, value, self), places.shape)
    else:
        part = src[tuple([slice(n) for n in index.shape or (1,)])] if src.ndim else src
        values = flat(xp, part)
    return xp.reshape(xp.scatter(flat(xp, self), places, values, how), self.shape)


def scatter(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Array:
    """``self`` with the elements of ``src`` at ``index`` along ``dim``."""
    return _scattered(xp, self, dim, index, src, None, "set")


def scatter_value(xp: Any, self: Array, dim: int, index: Array, value: Number) -> Array:
    """``self`` with ``value`` at ``index`` along ``dim``."""
    return _scattered(xp, self, dim, index, None, value, "set")


def scatter_add(xp: Any, self: Array, dim: int, index: Array, src: Array) -> Array:
    """``self`` with the elements of ``src`` added at ``index`` along ``dim``."""
    return _scattered(xp, self, dim, index, src, None, "add")


def _fold(reduce: str) -> str:
    host_scatter.reduction_ufunc(reduce)
    return "add" if reduce == "add" else "mul"


def scatter_with(xp: Any, self: Array, dim: int, index: Array, src: Array, reduce: str) -> Array:
    """``scatter`` that adds or multiplies instead of replacing."""
    return _scattered(xp, self, dim, index, src, None, _fold(reduce))


def scatter_value_with(xp: Any, self: Array, dim: int, index: Array, value: Number, reduce: str) -> Array:
    """``scatter_value`` that adds or multiplies instead of replacing."""
    return _scattered(xp, self, dim, index, None, value, _fold(reduce))


_FOLDS = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}


def scatter_reduce(
    xp: Any, self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool
) -> Array:
    """The elements of ``src`` that go to one place of ``self``, taken together by ``reduce``."""
    dtype = xp.numpy_dtype(self.dtype)
    host_scatter.check_reduction(reduce, dtype, tuple(host_scatter.REDUCTIONS))
    start = self
    if not include_self:
        identity = host_scatter.identity_of(reduce, dtype).item()
        start = _scattered(xp, self, dim, index, None, identity, "set")
    result = _scattered(xp, start, dim, index, src, None, _FOLDS[reduce])
    if reduce != "mean" or not index.size:
        return result
    zeros = xp.zeros(self.shape, dtype=xp.int64)
    counts = _scattered(xp, zeros, dim, index, None, 1, "add") + (1 if include_self else 0)
    counts = xp.where(counts < 1, xp.ones_like(counts), counts)
    if is_integral(xp, self):
        return xp.floor_divide(result, cast(xp, counts, self.dtype))
    return result / cast(xp, counts, self.dtype)


def gather_backward(xp: Any, grad: Array, sizes: Shape, dim: int, index: Array) -> Array:
    """Zeros of shape ``sizes`` to which ``grad`` is added at ``index`` along ``dim``."""
    return scatter_add(xp, xp.zeros(tuple(sizes), dtype=grad.dtype), dim, index, grad)


def scatter_src_backward(xp: Any, grad_output: Array, dim: int, index: Array, sizes: Shape) -> Array:
    """``grad_output`` at ``index``, in the front corner of zeros of shape ``sizes``."""
    found = gather(xp, grad_output, dim, index)
    if tuple(found.shape) == tuple(sizes):
        return found
    corner = tuple([slice(n) for n in index.shape])
    return moved_back(xp, lambda a: a[corner] if a.ndim else a, xp.reshape(found, index.shape), sizes)


def value_selecting_reduction_backward(
    xp: Any, grad: Array, dim: int, indices: Array, sizes: Shape, keepdim: bool
) -> Array:
    """Zeros of shape ``sizes`` with ``grad`` at ``indices`` along ``dim``, where the values came from."""
    sizes = tuple(sizes)
    d = host_scatter.check_selected(_described(xp, grad), _described(xp, indices), sizes, dim, keepdim)
    if not sizes:
        return xp.reshape(grad, ())
    if not keepdim:
        shape = (*indices.shape[:d], 1, *indices.shape[d:])
        grad, indices = xp.reshape(grad, shape), xp.reshape(indices, shape)
    return scatter_add(xp, xp.zeros(sizes, dtype=grad.dtype), d, indices, grad)


# -- slices along a dimension ----------------------------------------------------------------------


def _vector(index: Array) -> None:
    if index.ndim > 1:
        raise IndexError(f"Index is supposed to be a vector, but got dim: {index.ndim}")


def index_select(xp: Any, self: Array, dim: int, index: Array) -> Array:
    """The slices of ``self`` along ``dim`` at ``index`` (1-d or 0-d, not negative)."""
    d = wrap_dim(dim, self.ndim)
    _vector(index)
    checks.check_integer_index(_described(xp, index))
    if not self.ndim:
        checks.check_single(_described(xp, index))
        return self
    index = check_bounds(xp, index, self.shape[d], d, IndexError)
    return xp.take(self, xp.reshape(index, (-1,)), axis=d)


def _rows(xp: Any, shape: Shape, dim: int, index: Array) -> Array:
    """The flat places of the slices at ``index`` along ``dim``."""
    index = _from_front(xp, xp.reshape(index, (-1,)), shape[dim] if shape else 1)
    if not shape:
        return index
    own = [1] * len(shape)
    own[dim] = index.shape[0]
    full = (*shape[:dim], index.shape[0], *shape[dim + 1 :])
    return _along(xp, shape, dim, xp.broadcast_to(xp.reshape(index, tuple(own)), full))


def _write_slices(xp: Any, self: Array, dim: int, index: Array, values: Array, how: str) -> Array:
    places = _rows(xp, tuple(self.shape), dim, index)
    values = xp.broadcast_to(cast(xp, values, self.dtype), places.shape)
    result = xp.scatter(flat(xp, self), flat(xp, places), flat(xp, values), how)
    return xp.reshape(result, self.shape)


def index_select_backward(xp: Any, grad: Array, self_sizes: Shape, dim: int, index: Array) -> Array:
    """Zeros of shape ``self_sizes`` to which the slices of ``grad`` are added at ``index`` along ``dim``."""
    zeros = xp.zeros(tuple(self_sizes), dtype=grad.dtype)
    return _write_slices(xp, zeros, wrap_dim(dim, len(self_sizes)), index, grad, "add")


def index_add(xp: Any, self: Array, dim: int, index: Array, source: Array, alpha: Number) -> Array:
    """``self`` with ``alpha`` times the slices of ``source`` added at ``index`` along ``dim``."""
    given = [_described(xp, a) for a in (self, index, source)]
    d = host_scatter.check_index_add(given[0], dim, given[1], given[2])
    index = check_bounds(xp, index, self.shape[d] if self.ndim else 1, d, IndexError)
    source = xp.reshape(source, ()) if not self.ndim and source.ndim else source
    part = source if alpha == 1 else source * number_of(alpha, self.dtype, xp)
    return _write_slices(xp, self, d, index, part, "add")


def index_copy(xp: Any, self: Array, dim: int, index: Array, source: Array) -> Array:
    """``self`` with the slices of ``source`` at ``index`` along ``dim``."""
    from ..index import check_index_copy

    d = check_index_copy(
        *[v if isinstance(v, int) else _described(xp, v) for v in (self, dim, index, source)]
    )
    index = check_bounds(xp, index, self.shape[d] if self.ndim else 1, d, IndexError)
    source = xp.reshape(source, ()) if not self.ndim else source
    return _write_slices(xp, self, d, index, source, "set")


def index_fill(xp: Any, self: Array, dim: int, index: Array, value: Any) -> Array:
    """``self`` with ``value`` (a number or 0-d array) at ``index`` along ``dim``; it may be negative.
    IndexError for an index that is not int64, has more than one dimension or is out of bounds."""
    d = wrap_dim(dim, self.ndim)
    if index.dtype != xp.int64:
        raise IndexError("Expected dtype int64 for index.")
    _vector(index)
    index = check_bounds(xp, index, self.shape[d] if self.ndim else 1, d, IndexError, negative=True)
    return _write_slices(xp, self, d, index, _filler(xp, value, self), "set")


def _filler(xp: Any, value: Any, self: Array) -> Array:
    if is_array(value) and value.ndim:
        raise RuntimeError(
            f"only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return cast(xp, value, self.dtype) if is_array(value) else as_array(xp, value, self)


def index_reduce(
    xp: Any, self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool
) -> Array:
    """The slices of ``source`` that go to one place along ``dim``, taken together by ``reduce``."""
    d = wrap_dim(dim, self.ndim)
    host_scatter.check_index_reduction(reduce, xp.numpy_dtype(self.dtype))
    own = [1] * source.ndim
    own[d] = -1
    wide = xp.broadcast_to(xp.reshape(index, tuple(own)), source.shape)
    return scatter_reduce(xp, self, d, wide, source, reduce, include_self)


# -- flat places -----------------------------------------------------------------------------------


def take(xp: Any, self: Array, index: Array) -> Array:
    """The elements at places of the flattened ``self``, in the shape of ``index``."""
    if not index.size:
        return xp.zeros(index.shape, dtype=self.dtype)
    return xp.reshape(xp.at(flat(xp, self), _flat_places(xp, self, index)), index.shape)


def _flat_places(xp: Any, self: Array, index: Array) -> Array:
    """``index``, which counts from either end of the flattened ``self``, flat and from its front."""
    index = check_bounds(xp, index, self.size, 0, IndexError, negative=True)
    return flat(xp, _from_front(xp, flat(xp, index), self.size))


def _written(xp: Any, self: Array, places: Array, values: Array, accumulate: bool) -> Array:
    """``self`` with ``values`` at flat places; added where they ``accumulate``."""
    how = "add" if accumulate else "set"
    return xp.reshape(xp.scatter(flat(xp, self), places, values, how), self.shape)


def take_backward(xp: Any, grad: Array, sizes: Shape, index: Array) -> Array:
    """Zeros of shape ``sizes`` to which ``grad`` is added at flat places."""
    return put(xp, xp.zeros(tuple(sizes), dtype=grad.dtype), index, grad, True)


def put(xp: Any, self: Array, index: Array, source: Array, accumulate: bool) -> Array:
    """``self`` with ``source`` at places of its flattened elements; added where they ``accumulate``."""
    check_put_count(_described(xp, source), _described(xp, index))
    if not index.size:
        return self
    values = flat(xp, cast(xp, source, self.dtype))
    return _written(xp, self, _flat_places(xp, self, index), values, accumulate)


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


def _advanced(xp: Any, shape: Shape, indices: Indices) -> Array:
    """The flat places that advanced indices mean, in the shape of the result."""
    if not indices:
        raise IndexError("at least one index must be provided")
    indices = _without_masks(xp, indices)
    if len(indices) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(indices)})")
    result = index_shape(tuple(shape), [None if i is None else _described(xp, i) for i in indices])
    given = [d for d, i in enumerate(indices) if i is not None]
    count = max([i.ndim for i in indices if i is not None], default=0)
    adjacent = not given or given == list(range(given[0], given[-1] + 1))
    before = given[0] if given and adjacent else 0
    rest = [d for d in range(len(shape)) if d not in given]
    places: Any = xp.zeros((), dtype=xp.int64)
    for d, size in enumerate(shape):
        step = prod(shape[d + 1 :])
        if d in given:
            index = indices[d]
            index = check_bounds(xp, index, size, d, IndexError, negative=True)
            own = _from_front(xp, index, size) * step
            behind = len(result) - before - count
            own = xp.reshape(own, (*(1,) * (before + count - own.ndim), *own.shape, *(1,) * behind))
        else:
            number = rest.index(d)
            at = number if number < before else number + count
            full = [1] * len(result)
            full[at] = size
            own = xp.from_host((np.arange(size, dtype=np.int64) * step).reshape(full))
        places = places + own
    return xp.broadcast_to(places, result)


def index(xp: Any, self: Array, indices: Indices) -> Array:
    """``self[indices]``: index arrays are broadcast and take the place of their dims."""
    places = _advanced(xp, tuple(self.shape), indices)
    if not places.size:
        return xp.zeros(places.shape, dtype=self.dtype)
    return xp.reshape(xp.at(flat(xp, self), flat(xp, places)), places.shape)


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
    places = _advanced(xp, tuple(self.shape), indices)
    while values.ndim > places.ndim and values.shape[0] == 1:
        values = xp.reshape(values, values.shape[1:])
    try:
        np.broadcast_to(np.empty(values.shape, np.bool_), places.shape)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(places.shape)}"
        ) from None
    values = flat(xp, xp.broadcast_to(values, places.shape))
    return _written(xp, self, flat(xp, places), values, accumulate)


def index_backward(xp: Any, grad: Array, sizes: Shape, indices: Indices) -> Array:
    """Zeros of shape ``sizes`` to which ``grad`` is added at ``indices``."""
    return index_put(xp, xp.zeros(tuple(sizes), dtype=grad.dtype), indices, grad, True)


# -- masks -------------------------------------------------------------------------------------------


def masked_fill(xp: Any, self: Array, mask: Array, value: Any) -> Array:
    """``value`` (a number or 0-d array) where ``mask`` is true, ``self`` elsewhere; broadcast."""
    checks.check_mask(_described(xp, mask))
    return xp.where(mask, _filler(xp, value, self), self)


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
