"""Kernels that read and write at indices along a dim, as bodies say: elements, and whole slices.

``index`` is an int64 or int32 array, not negative but in fills. Inputs are not changed. Sums are those of
``scatter_add``; other folds go through flat positions, as ``ufunc.at`` is fast in one dimension only.
Each kernel is given what checks its arguments, and the dim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .creation import as_number, as_scalar, cast_number, check_scalar
from .dims import wrap_dim
from .dtypes import INT64, is_complex
from .flat_index import positions, put_along, take_along
from .index_checks import all_in_range, check_bounds, check_integer_index, check_single, check_vector
from .pointwise import scaled
from .scatter_add import add_at, add_in_rows, add_slices, places_of_slices
from .tables import elements_along, fold_along, fold_elements, fold_rows

Array = Any
Number = bool | int | float | complex
#: Raises errors for arguments that do not go together, and gives the dim from 0.
Check = Callable[..., int]
Shape = tuple[int, ...]

NUMBERS = (bool, int, float, complex)
#: What array libraries and ONNX call folds.
FOLDS = {"set": "set", "sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}
#: Folds that all dtypes have.
PLAIN = ("set", "sum")
REDUCTIONS = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.maximum, "amin": np.minimum}


# -- checks, shared with the Meta backend ------------------------------------------------------------


def check_scatter(self: Array, dim: int, index: Array, src: Array | None = None) -> int:
    """``dim`` from 0. Raises RuntimeError when dtypes or shapes do not go together."""
    dim = wrap_dim(dim, self.ndim)
    if index.size:
        check_integer_index(index)
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("Expected self.dtype to be equal to src.dtype")
    if index.size == 0 or (_in_step(self, dim, index) and (src is None or src.shape == index.shape)):
        return dim
    _check_ndim(index, self, "self")
    if src is not None:
        _check_ndim(index, src, "src")
    outside = [d for d, n in enumerate(index.shape) if d != dim and n > self.shape[d]]
    if src is not None and any([n > m for n, m in zip(index.shape or (1,), src.shape or (1,), strict=False)]):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from "
            f"dimension {dim} and to be no larger size than src {list(src.shape)}"
        )
    if outside and self.ndim:
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from "
            f"dimension {dim}"
        )
    return dim


def _in_step(self: Array, dim: int, other: Array) -> bool:
    """Whether both have the same dims, of the same sizes but for one of them."""
    a, b = self.shape, other.shape
    return a == b or (len(a) == len(b) and a[:dim] == b[:dim] and a[dim + 1 :] == b[dim + 1 :])


def _check_ndim(index: Array, other: Array, name: str) -> None:
    if max(index.ndim, 1) != max(other.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")


def check_gather(self: Array, dim: int, index: Array) -> int:
    """``dim`` from 0. Raises RuntimeError when dtypes or shapes do not go together."""
    dim = wrap_dim(dim, self.ndim)
    if index.size == 0:
        return dim
    check_integer_index(index)
    if _in_step(self, dim, index):
        return dim
    _check_ndim(index, self, "input")
    for d, n in enumerate(index.shape):
        if d != dim and n > self.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger "
                f"than self {list(self.shape)} apart from dimension {dim}"
            )
    return dim


# -- along a dim, the other dims in step -----------------------------------------------------------------


def gather_along(check: Check, self: Array, dim: int, index: Array) -> Array:
    """``self`` at ``index`` along ``dim``, the other dims in step; the result has the shape of ``index``.
    RuntimeError for an index out of bounds, and what ``check`` raises, which gives ``dim`` from 0."""
    dim = check(self, dim, index)
    if index.size == 0:
        return np.empty(index.shape, self.dtype)
    if self.ndim == 0:
        self = self.reshape(1)
    shape = index.shape
    if self.ndim > 1 and not _in_step(self, dim, index):
        self = self[tuple([slice(None) if d == dim else slice(n) for d, n in enumerate(shape)])]
    found = elements_along(self, index, dim)
    if found is not None:
        return found
    check_bounds(index, self.shape[dim], dim, RuntimeError)
    return take_along(self, index, dim) if index.ndim else self.take(index)


def in_corner(self: Array, sizes: Shape) -> Array:
    """``self`` in the front corner of zeros of these sizes, each at least as great as its own."""
    if self.shape == tuple(sizes):
        return self
    out = np.zeros(sizes, self.dtype)
    if self.size:
        self = self.reshape((self.shape or (1,)) if len(sizes) else ())
        out[tuple([slice(n) for n in self.shape])] = self
    return out


def zeros_of(sizes: Shape, like: Array) -> Array:
    """Zeros of these sizes, of the dtype of an array."""
    return np.zeros(sizes, like.dtype)


def scatter_along(
    check: Check,
    self: Array,
    dim: int,
    index: Array,
    src: Any,
    fold: str,
    include_self: bool = True,
    fresh: bool = False,
) -> Array:
    """``self`` changed at ``index`` along ``dim``, the other dims in step.

    What stands in the front corner of ``src``, or a number, takes the place of what is there (of several
    the last stays), or meets it. ``fold``: "set", "sum", "prod", "mean", which is rounded down for integers,
    "amax" or "amin"; of all but the first ``include_self`` says whether what is there counts. ``fresh``:
    ``self`` may be written. RuntimeError for an index out of bounds, NotImplementedError for a dtype that
    has no such fold, and what ``check`` raises.
    """
    number = src.__class__ in NUMBERS
    dim = check(self, dim, index) if number else check(self, dim, index, src)
    if fold not in PLAIN:
        check_fold(fold, self.dtype)
    out = self if fresh else self.copy()
    if index.size == 0:
        return out
    check_bounds(index, self.shape[dim] if self.ndim else 1, dim, RuntimeError)
    if index.ndim == 0:
        index = index.reshape(1)
    if number:
        src = cast_number(src, self.dtype)
    elif src.shape != index.shape:
        src = src[tuple([slice(n) for n in index.shape])] if src.ndim else src.reshape(index.shape)
    into = out if out.ndim else out.reshape(1)
    if fold == "set":
        put_along(into, index, dim, src)
        return out
    src = np.broadcast_to(src, index.shape) if number else src
    if fold == "sum" and include_self:
        _scatter_add_into(into, dim, index, src)
        return out
    if not include_self:
        put_along(into, index, dim, identity_of(fold, out.dtype))
    _fold_into(into, dim, index, src, fold)
    if fold == "mean":
        _divide(into.reshape(-1), positions(into.shape, dim, index).reshape(-1), include_self)
    return out


def _fold_into(out: Array, dim: int, index: Array, src: Array, fold: str) -> None:
    """Work ``src`` into ``out`` (contiguous, in place) at ``index``, which has its shape, along ``dim``."""
    if REDUCTIONS[fold] is np.add:
        _scatter_add_into(out, dim, index, src)
    elif not fold_along(out, index, src, dim, fold):
        places = positions(out.shape, dim, index).reshape(-1)
        REDUCTIONS[fold].at(out.reshape(-1), places, src.reshape(-1))


def _scatter_add_into(out: Array, dim: int, index: Array, src: Array) -> None:
    """Add ``src`` to ``out`` (contiguous, in place) at ``index``, which has its shape, along ``dim``."""
    shape = out.shape or (1,)
    if index.size == 0:
        return
    if dim == len(shape) - 1 and index.shape[:-1] == shape[:-1]:
        rows = index.reshape(-1, index.shape[-1])
        if add_in_rows(out.reshape(len(rows), -1), rows, src):
            return
    elif fold_along(out, index, src, dim, "sum"):
        return
    add_at(out, positions(shape, dim, index).reshape(-1), src.reshape(-1))


def check_fold(fold: str, dtype: np.dtype[Any]) -> None:
    """NotImplementedError for a fold that the dtype has not: a mean of bools, a greatest complex number."""
    if (fold == "mean" and dtype.kind == "b") or (fold in ("amax", "amin") and dtype.kind == "c"):
        raise NotImplementedError(f"reduce={fold!r} is not implemented for {dtype}")


def fold_flat(out: Array, places: Array, values: Array, fold: str, include_self: bool) -> None:
    """Fold ``values`` into ``out`` (1-d, in place) at ``places``."""
    if not include_self:
        out[places] = identity_of(fold, out.dtype)
    if REDUCTIONS[fold] is np.add:
        add_at(out, places, values)
    elif not fold_elements(out, places, values, fold):
        REDUCTIONS[fold].at(out, places, values)
    if fold == "mean":
        _divide(out, places, include_self)


def _divide(out: Array, places: Array, include_self: bool) -> None:
    """Divide what is along the first dim by how often its place is named."""
    counts = np.bincount(places, None, len(out)) + (1 if include_self else 0)
    counts = np.maximum(counts, 1).reshape(-1, *(1,) * (out.ndim - 1))
    if out.dtype.kind in "iu":
        np.floor_divide(out, counts.astype(out.dtype), out)
    else:
        np.divide(out, counts.astype(out.real.dtype), out)


def identity_of(reduce: str, dtype: np.dtype[Any]) -> Array:
    """What ``reduce`` leaves unchanged."""
    if reduce in ("sum", "mean", "prod"):
        return dtype.type(1 if reduce == "prod" else 0)
    if dtype.kind == "b":
        return np.bool_(reduce == "amin")
    if dtype.kind == "f":
        return dtype.type(-np.inf if reduce == "amax" else np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min if reduce == "amax" else limits.max)


# -- whole slices ----------------------------------------------------------------------------------------


def check_scatter_slices(self: Array, dim: int, index: Array, source: Array) -> int:
    """``dim`` from 0; raises as ``index_add`` must for arguments that do not go together."""
    dim = wrap_dim(dim, self.ndim)
    check_integer_index(index)
    if index.ndim > 1:
        raise IndexError(f"Index is supposed to be a vector, but got dim: {index.ndim}")
    if self.dtype != source.dtype:
        raise RuntimeError(f"self ({self.dtype}) and source ({source.dtype}) must have the same scalar type")
    if source.ndim <= dim and index.size != 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has {source.ndim} dimensions")
    count = source.shape[dim] if source.ndim > dim else 1
    if index.size == count and self.shape == source.shape:
        return dim
    if index.size != count:
        raise RuntimeError(
            f"Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: {dim}"
        )
    if not _in_step(self, dim, source):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        )
    return dim


def check_gather_slices(self: Array, dim: int, index: Array) -> int:
    """``dim`` from 0. IndexError for an index of two dims or more, RuntimeError for one that is none of
    integers, or for several of a number."""
    dim = wrap_dim(dim, self.ndim)
    check_vector(index)
    check_integer_index(index)
    if self.ndim == 0:
        check_single(index)
    return dim


def check_gather_whole(self: Array, dim: int, index: Array) -> int:
    """``dim`` from 0. RuntimeError for an index that is none of integers, and for a number."""
    dim = wrap_dim(dim, self.ndim)
    check_integer_index(index)
    if not self.ndim:
        raise RuntimeError("a number has no slices")
    return dim


def check_scatter_whole(self: Array, dim: int, index: Array, source: Array) -> int:
    """``dim`` from 0. What ``check_gather_whole`` raises; RuntimeError for a source of another dtype, or that
    has not a slice for each index."""
    dim = check_gather_whole(self, dim, index)
    if self.dtype != source.dtype:
        raise RuntimeError(f"self ({self.dtype}) and source ({source.dtype}) must have the same scalar type")
    behind = self.shape[dim + 1 :]
    expected = (*self.shape[:dim], *index.shape, *behind)
    if source.shape != expected and (dim or source.size != index.size * math.prod(behind)):
        raise RuntimeError(f"expected a gradient of shape {[*expected]}, but got {[*source.shape]}")
    return dim


def gather_slices(check: Check, self: Array, dim: int, index: Array, whole: bool = False) -> Array:
    """The slices of ``self`` along ``dim`` at ``index``, 1-d or 0-d; or ``whole``, of any shape, which stands
    in the place of the dim. IndexError for an index out of bounds, and what ``check`` raises."""
    dim = check(self, dim, index)
    if whole:
        if not all_in_range(index, self.shape[dim]):
            raise IndexError("index out of range in self")
        return self.take(index, dim, mode="wrap")
    if self.ndim == 0:
        check_bounds(index, 1, 0, IndexError)
        return self.copy()
    check_bounds(index, self.shape[dim], dim, IndexError)
    return self.take(index.reshape(-1), dim, mode="wrap")


def scatter_slices(
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
    """``self`` changed by the slices of ``source``, times a factor, at ``index`` along ``dim``.

    As ``scatter_along``; but an index out of bounds is an IndexError, unless slices are added. ``by_count``:
    each is divided by how often its index is there. The slice ``skipped``, if there is one, stays.
    """
    dim = check(self, dim, index, source)
    if fold not in PLAIN:
        check_fold(fold, self.dtype)
    adds = fold == "sum" and include_self
    shape = self.shape or (1,)
    check_bounds(index, shape[dim], dim, RuntimeError if adds else IndexError)
    out = self if fresh else self.copy()
    if source.size == 0:
        return out
    if factor != 1:
        source = np.asarray(scaled(source, as_number(factor, source.dtype)))
    outer = math.prod(shape[:dim]) if dim else 1
    inner = source.size // (outer * index.size)
    values, places = source.reshape(outer, index.size, inner), index.reshape(-1)
    shares = (1 / np.bincount(places).take(places)).astype(out.dtype) if by_count else None
    table = out.reshape(outer, shape[dim], inner)
    stays = None if skipped is None or not 0 <= skipped < shape[dim] else table[:, skipped].copy()
    _fold_slices(table, places, values, fold, include_self, shares)
    if stays is not None:
        table[:, skipped] = stays
    return out


def _fold_slices(
    out: Array, index: Array, values: Array, fold: str, include_self: bool, factors: Array | None
) -> None:
    """Work ``values`` (a, k, b) into ``out`` (a, n, b; contiguous, in place) at ``index`` (k); what is added
    is multiplied by any ``factors`` (k)."""
    if fold == "set" or not include_self:
        out[:, index] = values if fold == "set" else identity_of(fold, out.dtype)
    if fold == "set":
        return
    if REDUCTIONS[fold] is np.add:
        add_slices(out, index, values, factors)
    elif not fold_rows(out, index, values, fold):
        places = places_of_slices(index, out.shape)
        REDUCTIONS[fold].at(out.reshape(-1), places, values.reshape(-1))
    if fold == "mean":
        _divide(out.swapaxes(0, 1), index, include_self)


def check_fill_slices(self: Array, dim: int, index: Array, value: Array | Number) -> int:
    """``dim`` from 0. IndexError for an index that is not int64; RuntimeError for a matrix of them, a value
    with dims, or a complex one for real elements."""
    dim = wrap_dim(dim, self.ndim)
    if value.__class__ not in NUMBERS:
        check_scalar(value)
    elif isinstance(value, complex) and not is_complex(self.dtype):
        raise RuntimeError("Converting complex Scalar to non-complex type is not supported")
    if index.dtype != INT64:
        raise IndexError("Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    return dim


def fill_slices(check: Check, self: Array, dim: int, index: Array, value: Array | Number) -> Array:
    """``self`` with a number or a 0-d array in the slices at ``index`` along ``dim``; it may be negative.
    IndexError for an index out of bounds, and what ``check`` raises."""
    dim = check(self, dim, index, value)
    value = as_scalar(value, self.dtype)
    check_bounds(index, self.shape[dim] if self.ndim else 1, dim, IndexError, negative=True)
    out = self.copy()
    view = out if self.ndim else out.reshape(1)
    view[(slice(None),) * dim + (index,)] = value
    return out
