"""Kernels that gather along a dimension, and that scatter or add along one.

``index`` is an int64 or int32 array, never negative. Inputs are not changed. Sums are those of
``additions``; other reductions go through flat positions, as ``ufunc.at`` is fast in one dimension only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .creation import as_number, cast_number
from .dims import wrap_dim
from .flat_index import positions, put_along, take_along
from .index_checks import check_bounds, check_integer_index
from .pointwise import scaled
from .scatter_add import add_at, add_in_rows, add_slices
from .tables import add_along, elements_along

Array = Any
Number = bool | int | float | complex
Shape = tuple[int, ...]

#: In the order in which errors list them.
REDUCTIONS = {"sum": np.add, "prod": np.multiply, "mean": np.add, "amax": np.maximum, "amin": np.minimum}


# -- checks, shared with the Meta backend ------------------------------------------------------------


def check_scatter(self: Array, dim: int, index: Array, src: Array | None = None) -> int:
    """``dim`` from 0. Raises RuntimeError when dtypes or shapes do not go together."""
    dim = wrap_dim(dim, self.ndim)
    if index.size:
        check_integer_index(index)
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("Expected self.dtype to be equal to src.dtype")
    if index.size == 0 or (index.shape == self.shape and (src is None or src.shape == self.shape)):
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


def _check_ndim(index: Array, other: Array, name: str) -> None:
    if max(index.ndim, 1) != max(other.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")


def check_gather(self: Array, dim: int, index: Array) -> int:
    """``dim`` from 0. Raises RuntimeError when dtypes or shapes do not go together."""
    dim = wrap_dim(dim, self.ndim)
    if index.size == 0:
        return dim
    check_integer_index(index)
    if index.shape == self.shape:
        return dim
    _check_ndim(index, self, "input")
    for d, n in enumerate(index.shape):
        if d != dim and n > self.shape[d]:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger "
                f"than self {list(self.shape)} apart from dimension {dim}"
            )
    return dim


# -- gather ----------------------------------------------------------------------------------------------


def gather(self: Array, dim: int, index: Array) -> Array:
    """``self`` at ``index`` along ``dim``, the other dims in step; the result has the shape of ``index``."""
    dim = check_gather(self, dim, index)
    if index.size == 0:
        return np.empty(index.shape, self.dtype)
    if self.ndim == 0:
        self = self.reshape(1)
    shape = index.shape
    if (
        self.ndim > 1
        and shape != self.shape
        and self.shape[:dim] + self.shape[dim + 1 :] != shape[:dim] + shape[dim + 1 :]
    ):
        self = self[tuple([slice(None) if d == dim else slice(n) for d, n in enumerate(shape)])]
    found = elements_along(self, index, dim)
    if found is not None:
        return found
    check_bounds(index, self.shape[dim], dim, RuntimeError)
    return take_along(self, index, dim) if index.ndim else self.take(index)


# -- scatter ---------------------------------------------------------------------------------------------


def _scatter_operands(self: Array, dim: int, index: Array, src: Array | None) -> tuple[Array, Array, Array]:
    """A copy of ``self``, the flat positions of ``index`` in it, and the part of ``src`` that goes there."""
    out, dim, index, src = _checked(self, dim, index, src)
    if index.size == 0:
        return out, np.zeros(0, np.int64), src
    places = positions(self.shape or (1,), dim, index).reshape(-1)
    return out, places, None if src is None else src.reshape(-1)


def _checked(self: Array, dim: int, index: Array, src: Array | None) -> tuple[Array, int, Array, Array]:
    """A copy of ``self``, ``dim`` from 0, ``index`` and the part of ``src`` that goes there, all not 0-d."""
    dim = check_scatter(self, dim, index, src)
    out = self.copy()
    if index.size == 0:
        return out, dim, index, src if src is None else src.reshape(-1)[:0]
    check_bounds(index, self.shape[dim] if self.ndim else 1, dim, RuntimeError)
    if index.ndim == 0:
        index = index.reshape(1)
    if src is not None and src.ndim and src.shape != index.shape:
        src = src[tuple([slice(n) for n in index.shape])]
    return out, dim, index, src


def scatter(self: Array, dim: int, index: Array, src: Array) -> Array:
    """``self`` with the elements of ``src`` at ``index`` along ``dim``; of several the last stays."""
    out, dim, index, src = _checked(self, dim, index, src)
    if index.size:
        put_along(out, index, dim, src)
    return out


def scatter_value(self: Array, dim: int, index: Array, value: Number) -> Array:
    """``self`` with ``value`` at ``index`` along ``dim``."""
    out, dim, index, _ = _checked(self, dim, index, None)
    if index.size:
        put_along(out, index, dim, cast_number(value, self.dtype))
    return out


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
    """``self`` with the elements of ``src`` added at ``index`` along ``dim``."""
    out, dim, index, src = _checked(self, dim, index, src)
    _scatter_add_into(out, dim, index, src)
    return out


def _scatter_add_into(out: Array, dim: int, index: Array, src: Array) -> None:
    """Add ``src`` to ``out`` (contiguous, in place) at ``index``, which has its shape, along ``dim``."""
    shape = out.shape or (1,)
    if index.size == 0:
        return
    if dim == len(shape) - 1 and index.shape[:-1] == shape[:-1]:
        rows = index.reshape(-1, index.shape[-1])
        if add_in_rows(out.reshape(len(rows), -1), rows, src):
            return
    elif add_along(out, index, src, dim):
        return
    add_at(out, positions(shape, dim, index).reshape(-1), src.reshape(-1))


def reduction_ufunc(reduce: str) -> np.ufunc:
    """The ufunc of scatter's ``reduce=`` argument. RuntimeError when there is none."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return np.add if reduce == "add" else np.multiply


def scatter_with(self: Array, dim: int, index: Array, src: Array, reduce: str) -> Array:
    """``scatter`` that adds or multiplies instead of replacing."""
    ufunc = reduction_ufunc(reduce)
    out, places, values = _scatter_operands(self, dim, index, src)
    ufunc.at(out.reshape(-1), places, values)
    return out


def scatter_value_with(self: Array, dim: int, index: Array, value: Number, reduce: str) -> Array:
    """``scatter_value`` that adds or multiplies instead of replacing."""
    ufunc = reduction_ufunc(reduce)
    out, places, _ = _scatter_operands(self, dim, index, None)
    ufunc.at(out.reshape(-1), places, cast_number(value, self.dtype))
    return out


def check_reduction(reduce: str, dtype: np.dtype[Any], names: tuple[str, ...]) -> None:
    """Raise for a reduction that is not among ``names``, or not defined for ``dtype``."""
    if reduce not in names:
        raise RuntimeError(f"reduce argument must be either {', '.join(names)}, got {reduce}")
    if (reduce == "mean" and dtype.kind == "b") or (reduce in ("amax", "amin") and dtype.kind == "c"):
        raise NotImplementedError(f"reduce={reduce!r} is not implemented for {dtype}")


def check_index_reduction(reduce: str, dtype: np.dtype[Any]) -> None:
    """Raise for a reduction that ``index_reduce`` has not, or that is not defined for ``dtype``."""
    names = tuple([name for name in REDUCTIONS if name != "sum"])
    if reduce not in names:
        raise RuntimeError(f"Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    check_reduction(reduce, dtype, names)


def scatter_reduce(self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool) -> Array:
    """The elements of ``src`` that go to one place of ``self``, taken together by ``reduce``.

    ``include_self`` counts what stands there as one of them. Places that no index names stay.
    The mean of integers is rounded down.
    """
    check_reduction(reduce, self.dtype, tuple(REDUCTIONS))
    out, places, values = _scatter_operands(self, dim, index, src)
    ufunc_at(out.reshape(-1), places, values, reduce, include_self)
    return out


def ufunc_at(out: Array, places: Array, values: Array, reduce: str, include_self: bool) -> None:
    """Fold ``values`` into ``out`` (1-d, in place) at ``places``."""
    ufunc = REDUCTIONS[reduce]
    if not include_self:
        out[places] = identity_of(reduce, out.dtype)
    ufunc.at(out, places, values)
    if reduce == "mean":
        counts = np.bincount(places, None, len(out)) + (1 if include_self else 0)
        np.maximum(counts, 1, out=counts)
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


def value_selecting_reduction_backward(
    grad: Array, dim: int, indices: Array, sizes: Shape, keepdim: bool
) -> Array:
    """Zeros of shape ``sizes`` with ``grad`` at ``indices`` along ``dim``, where the values came from."""
    dim = check_selected(grad, indices, sizes, dim, keepdim)
    if not sizes:
        return grad.reshape(())
    if not keepdim:
        shape = (*indices.shape[:dim], 1, *indices.shape[dim:])
        grad, indices = grad.reshape(shape), indices.reshape(shape)
    out = np.zeros(sizes, grad.dtype)
    check_bounds(indices, sizes[dim], dim, RuntimeError)
    _scatter_add_into(out, dim, indices, grad)
    return out


def check_selected(grad: Array, indices: Array, sizes: Shape, dim: int, keepdim: bool) -> int:
    """``dim`` from 0. RuntimeError unless that many elements were selected along ``dim`` of ``sizes``.

    That is one, where the dimension is not there; else there may be any number.
    """
    dim = wrap_dim(dim, len(sizes))
    count = indices.shape[dim : dim + 1] if keepdim else ()
    selected = (*sizes[:dim], *count, *sizes[dim + 1 :])
    if math.prod(grad.shape) != math.prod(selected) or tuple(indices.shape) != selected:
        raise RuntimeError(
            f"expected a gradient and indices of shape {list(selected)}, but got {list(grad.shape)} and "
            f"{list(indices.shape)}"
        )
    return dim


def gather_backward(grad: Array, sizes: Shape, dim: int, index: Array) -> Array:
    """Zeros of shape ``sizes`` to which ``grad`` is added at ``index`` along ``dim``. RuntimeError for a
    gradient of another shape than ``index``, and an index out of bounds."""
    out = np.zeros(sizes, grad.dtype)
    if index.size:
        dim = check_scatter(out, dim, index, grad)
        check_bounds(index, sizes[dim] if sizes else 1, dim, RuntimeError)
        if grad.shape != index.shape:
            raise RuntimeError(
                f"gather_backward: expected a gradient of the index's shape {list(index.shape)}, but got "
                f"{list(grad.shape)}"
            )
        _scatter_add_into(out, dim, index if index.ndim else index.reshape(1), grad)
    return out


def scatter_src_backward(grad_output: Array, dim: int, index: Array, sizes: Shape) -> Array:
    """``grad_output`` at ``index``, in the front corner of zeros of shape ``sizes``."""
    found = gather(grad_output, dim, index)
    if found.shape == tuple(sizes):
        return found
    out = np.zeros(sizes, grad_output.dtype)
    if index.size:
        found = found.reshape((found.shape or (1,)) if sizes else ())
        out[tuple([slice(n) for n in found.shape])] = found
    return out


def index_select_backward(grad: Array, self_sizes: Shape, dim: int, index: Array) -> Array:
    """Zeros of shape ``self_sizes`` to which the slices of ``grad`` are added at ``index`` along ``dim``."""
    out = np.zeros(self_sizes, grad.dtype)
    dim = check_index_add(out, dim, index, grad)
    _add_slices(out, dim, index, grad, 1)
    return out


# -- whole slices ----------------------------------------------------------------------------------------


def check_index_add(self: Array, dim: int, index: Array, source: Array) -> int:
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
    ours, theirs = (s[:dim] + s[dim + 1 :] for s in (self.shape, source.shape))
    if ours != theirs or self.ndim != source.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(self.shape)} source.shape = {list(source.shape)}"
        )
    return dim


def _as_rows(self: Array, dim: int) -> Array:
    """A contiguous copy as a table: the slices along ``dim`` as rows."""
    if dim and self.ndim:
        self = np.moveaxis(self, dim, 0)
    rows = len(self) if self.ndim else 1
    return self.copy().reshape(rows, self.size // rows if rows else 0)


def _from_rows(table: Array, shape: Shape, dim: int) -> Array:
    """The array of the given shape whose slices along ``dim`` are the rows of ``table``."""
    if dim == 0 or not shape:
        return table.reshape(shape)
    moved = table.reshape(shape[dim], *shape[:dim], *shape[dim + 1 :])
    return np.ascontiguousarray(np.moveaxis(moved, 0, dim))


def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Number) -> Array:
    """``self`` with ``alpha`` times the slices of ``source`` added at ``index`` along ``dim``."""
    dim = check_index_add(self, dim, index, source)
    out = self.copy()
    _add_slices(out, dim, index, source, alpha)
    return out


def _add_slices(out: Array, dim: int, index: Array, source: Array, alpha: Number) -> None:
    """Add ``alpha`` times the slices of ``source`` to those of ``out`` (contiguous, in place)."""
    shape = out.shape or (1,)
    check_bounds(index, shape[dim], dim, RuntimeError)
    if source.size == 0:
        return
    if alpha != 1:
        source = np.asarray(scaled(source, as_number(alpha, source.dtype)))
    outer = math.prod(shape[:dim]) if dim else 1
    inner = source.size // (outer * index.size)
    values = source.reshape(outer, index.size, inner)
    add_slices(out.reshape(outer, shape[dim], inner), index.reshape(-1), values)


def index_reduce(
    self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool
) -> Array:
    """The slices of ``source`` that go to one place along ``dim``, taken together by ``reduce``."""
    check_index_reduction(reduce, self.dtype)
    dim = check_index_add(self, dim, index, source)
    check_bounds(index, self.shape[dim] if self.ndim else 1, dim, IndexError)
    out, rows = _as_rows(self, dim), _as_rows(source, dim)
    places = (index.reshape(-1, 1) * out.shape[1]) + np.arange(out.shape[1])
    if rows.size:
        ufunc_at(out.reshape(-1), places.reshape(-1), rows.reshape(-1), reduce, include_self)
    return _from_rows(out, self.shape, dim)
