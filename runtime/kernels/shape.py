"""Kernels that copy or rearrange elements without computing with them: new memory, any dtype."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.memory_format import contiguous_format, preserve_format
from ..core.user_stack import program_stacklevel
from ..fast_paths import operation
from . import cpu
from .copies import copy_in_rows, in_rows
from .dims import wrap_dim
from .dtypes import REDUCED, is_complex
from .layout import (
    MAX_NUMEL,
    channels_last_strides,
    check_bytes,
    check_fits,
    contiguous_strides,
    extent,
    may_overlap,
    stands_channels_last,
    strides_in,
)
from .moves import check_moved
from .reduced import converted, upcast
from .strided import Array, Shape, element_strides, storage_offset
from .view_plans import Form, viewed
from .views import as_strided, at_index, slice_tensor

DType = np.dtype[Any]

#: Without NumPy's search for other libraries' arrays, which takes a quarter of the time of small ones.
_concatenate = getattr(np.concatenate, "__wrapped__", np.concatenate)
_overlaps = lru_cache(1024)(may_overlap)


# --------------------------------------------------------------------------------- copying


def to_copy(self: Array, dtype: DType | None = None, memory_format: Any = None) -> Array:
    """A copy of ``self`` in fresh memory, of another dtype if one is given.

    The order of the dimensions in memory is kept unless ``memory_format`` says otherwise.
    """
    to = self.dtype if dtype is None else dtype
    if is_complex(self.dtype) and not (is_complex(to) or to.kind == "b"):
        _warn_of_lost_part(self)
    if memory_format is contiguous_format and (to == self.dtype or (1 not in self.shape and self.size)):
        return in_rows(cpu.cast(self, to)) if to != self.dtype else copy_in_rows(self)
    if memory_format is not None and memory_format is not preserve_format:
        result = cpu.empty_strided(self.shape, strides_in(memory_format, self.shape), to)
        np.copyto(result, cpu.cast(self, to) if to != self.dtype else self)
        return result
    if to != self.dtype:
        return cpu.cast(self, to)
    return cpu.copy(self)


def copy_value(self: Array, src: Array) -> Array:
    """``src`` in the dtype of ``self``: what ``self.copy_(src)`` writes.

    RuntimeError when its shape does not broadcast to that of ``self``.
    """
    if self.shape != src.shape:
        check_fits(self.shape, src.shape)
    if is_complex(src.dtype) and not (is_complex(self.dtype) or self.dtype.kind == "b"):
        _warn_of_lost_part(src)
    return cpu.cast(src, self.dtype)


def _warn_of_lost_part(array: Array) -> None:
    """Warn that complex numbers, if there are any, become real."""
    if array.size:
        warnings.warn(
            "Casting complex values to real discards the imaginary part",
            UserWarning,
            stacklevel=program_stacklevel(),
        )


# --------------------------------------------------------------------------------- joining


def cat_shape(shapes: Sequence[Shape], dim: int) -> tuple[list[int], int, Shape]:
    """Which of the arrays to be joined count, along which dim, and the shape of the result.

    1-d arrays without elements do not count, as ever. RuntimeError when the others do not fit.
    """
    if not shapes:
        raise ValueError("expected a non-empty list of Tensors")
    for i, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    kept = [i for i, shape in enumerate(shapes) if shape != (0,)]
    if not kept:
        return [], wrap_dim(dim, 1), (0,)
    first = shapes[kept[0]]
    d = wrap_dim(dim, len(first))
    total = 0
    for i in kept:
        shape = shapes[i]
        if len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        for at, (n, m) in enumerate(zip(first, shape, strict=True)):
            if n != m and at != d:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {n} but got size "
                    f"{m} for tensor number {i} in the list."
                )
        total += shape[d]
    return kept, d, (*first[:d], total, *first[d + 1 :])


@operation("join")
def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """The arrays one behind the other along ``dim``; channels-last where all of them are."""
    try:
        return cat_layout(tensors, _concatenate(tensors, dim))
    except ValueError:
        pass  # there is a 1-d array without elements among matrices, or an error
    kept, d, _ = cat_shape([a.shape for a in tensors], dim)
    if not kept:
        return tensors[0].copy()
    if len(kept) != len(tensors):
        tensors = [tensors[i] for i in kept]
    return cat_layout(tensors, _concatenate(tensors, axis=d))


def cat_layout(tensors: Sequence[Array], joined: Array) -> Array:
    """What NumPy joined, laid out as torch does."""
    # What is contiguous may be channels-last as well, where there is one channel, or one pixel.
    one_order = joined.ndim < 4 or 1 not in tensors[0].shape[1:]
    if joined.flags.c_contiguous and one_order:
        return joined
    strides = cat_strides(joined.shape, [(a.shape, element_strides(a)) for a in tensors])
    if element_strides(joined) == strides:
        return joined
    result = cpu.empty_strided(joined.shape, strides, joined.dtype)
    np.copyto(result, joined)
    return result


def cat_strides(shape: Shape, operands: Sequence[tuple[Shape, Shape]]) -> Shape:
    """The strides of joined arrays, of each its shape and strides."""
    if operands and all([stands_channels_last(*operand) for operand in operands]):
        return channels_last_strides(shape)
    return contiguous_strides(shape)


def row_major(array: Array) -> Array:
    """A result of NumPy's in row-major order, where NumPy kept the order of its operands."""
    return in_rows(array)


def stack_shape(shapes: Sequence[Shape], dim: int) -> tuple[int, Shape]:
    """The dim at which arrays of one shape are stacked, and the shape of the result. RuntimeError for none,
    and for shapes that differ."""
    if not shapes:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = shapes[0]
    d = wrap_dim(dim, len(first) + 1)
    for i, shape in enumerate(shapes):
        if shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(shape)} at entry {i}"
            )
    return d, (*first[:d], len(shapes), *first[d:])


@operation("stack")
def stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    """The arrays, which have one shape, side by side along a new dimension."""
    d, shape = stack_shape([a.shape for a in tensors], dim)
    one = (*shape[:d], 1, *shape[d + 1 :])
    return row_major(_concatenate([a.reshape(one) for a in tensors], axis=d))


# ------------------------------------------------------------------------------- repeating


def repeated_dims(shape: Shape, repeats: Shape) -> Shape:
    """The dims of ``repeat``, from the last ones back, which may be more than there are.

    RuntimeError for fewer repeats than dims, or a negative one.
    """
    missing = len(repeats) - len(shape)
    if missing < 0:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    for n in repeats:
        if n < 0:
            result = [n * r for n, r in zip((1,) * missing + shape, repeats, strict=True)]
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {result}")
    return tuple(range(-len(repeats), 0))


def repeat_interleave_indices(repeats: Array, output_size: int | None = None) -> Array:
    """``i`` ``repeats[i]`` times, for each ``i`` in turn: int64, or int32 for int32 repeats. RuntimeError
    unless they are 1-d, of these dtypes, and none is negative."""
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (np.int64, np.int32):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if repeats.size and int(repeats.max()) > MAX_NUMEL // repeats.nbytes:  # else no sum of them is too large
        check_bytes((sum(repeats.tolist()),), repeats.itemsize)
    return np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)


# ----------------------------------------------------------------------------- rearranging


def roll_dims(shape: Shape, shifts: Shape, dims: Shape) -> Shape:
    """The dims of ``roll`` from 0 on, none for an array without elements, which is not rolled.

    RuntimeError when they do not pair with the shifts, IndexError when there is no such dim.
    """
    if not shifts:
        raise RuntimeError("`shifts` required")
    if (dims or len(shifts) > 1) and len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if 0 in shape:
        return ()
    if dims and not shape:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return tuple([wrap_dim(d, len(shape)) for d in dims])


# ------------------------------------------------------------------- the adjoints of views


def select_backward(grad: Array, sizes: Shape, dim: int, index: int) -> Array:
    """Zeros of shape ``sizes`` with ``grad`` at ``index`` along ``dim``."""
    result = np.zeros(sizes, grad.dtype)
    at_index(result, dim, index)[...] = grad
    return result


def slice_backward(
    grad: Array, sizes: Shape, dim: int, start: int | None, end: int | None, step: int
) -> Array:
    """Zeros of shape ``sizes`` with ``grad`` at ``start:end:step`` along ``dim``."""
    result = np.zeros(sizes, grad.dtype)
    slice_tensor(result, dim, start, end, step)[...] = grad
    return result


def viewed_back(form: Form, grad: Array, sizes: Shape, *arguments: Any) -> Array:
    """Zeros of shape ``sizes`` to which each element is added where the view of a form has it from.

    RuntimeError for an array of another shape than that view has, and what ``viewed`` raises.
    """
    wide = upcast(grad)
    result = np.zeros(sizes, wide.dtype)
    view = viewed(form, result, *arguments)
    check_moved(view.shape, grad.shape)
    if _overlaps(view.shape, view.strides):
        _add(view, wide)
    else:
        view[...] = wide
    return converted(result, grad.dtype) if grad.dtype.char in REDUCED else result


def _add(view: Array, grad: Array) -> None:
    """Add to a view; where it shows an element several times, a part after the other along a dim."""
    if not _overlaps(view.shape, view.strides):
        view += grad
        return
    _, _, d = min([(s, n, d) for d, (n, s) in enumerate(zip(view.shape, view.strides, strict=True)) if n > 1])
    for i in range(view.shape[d]):
        key = (*(slice(None),) * d, i, ...)
        _add(view[key], grad[key])


def as_strided_backward(
    grad: Array, sizes: Shape, strides: Shape, offset: int, size: Shape, stride: Shape, start: int | None
) -> Array:
    """The gradient of ``as_strided(size, stride, start)`` of an array of the given geometry.

    An element of the memory that the view shows several times collects all its gradients; one
    that the input itself shows several times shares them out equally.
    """
    memory, own, view = _in_common_memory(grad.dtype, sizes, strides, offset, size, stride, start)
    if may_overlap(size, stride):
        np.add.at(memory, _memory_positions(memory, view), grad)
    else:
        view[...] = grad
    result = own.copy()
    if may_overlap(sizes, strides):
        places = _memory_positions(memory, own)
        result = result / np.bincount(places.reshape(-1), minlength=memory.size)[places].astype(grad.dtype)
    return result


def as_strided_gather(
    self: Array, sizes: Shape, strides: Shape, offset: int, size: Shape, stride: Shape, start: int | None
) -> Array:
    """``as_strided(size, stride, start)`` of an array whose elements are those of ``self`` and whose
    geometry is ``sizes``, ``strides`` and ``offset``; what it does not own of the memory reads as 0."""
    memory, own, view = _in_common_memory(self.dtype, sizes, strides, offset, size, stride, start)
    memory[_memory_positions(memory, own)] = self  # in order, where it overlaps
    return view.copy()


def _in_common_memory(
    dtype: DType, sizes: Shape, strides: Shape, offset: int, size: Shape, stride: Shape, start: int | None
) -> tuple[Array, Array, Array]:
    """Zeros, as much memory as an array and a view of its memory need, and the two in it."""
    begin = offset if start is None else start
    base = min(offset, begin)
    length = max(offset + extent(sizes, strides), begin + extent(size, stride)) - base
    memory = np.zeros(max(length, 1), dtype)
    own = as_strided(memory, sizes, strides, offset - base)
    return memory, own, as_strided(memory, size, stride, begin - base)


def _memory_positions(memory: Array, view: Array) -> Array:
    """The index in memory of every element of a view of it."""
    places = np.full((1,) * view.ndim, storage_offset(view), np.int64)
    for d, (n, s) in enumerate(zip(view.shape, element_strides(view), strict=True)):
        places = places + (np.arange(n) * s).reshape((-1,) + (1,) * (view.ndim - d - 1))
    return places


# ------------------------------------------------------------------------ writes into views


def select_scatter(self: Array, src: Array, dim: int, index: int) -> Array:
    """A copy of ``self`` with ``src`` at ``index`` along ``dim``."""
    result = to_copy(self)
    _write(at_index(result, dim, index), src)
    return result


def slice_scatter(self: Array, src: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    """A copy of ``self`` with ``src`` at ``start:end:step`` along ``dim``."""
    result = to_copy(self)
    _write(slice_tensor(result, dim, start, end, step), src)
    return result


def viewed_scatter(form: Form, self: Array, src: Array, *arguments: Any) -> Array:
    """A copy of ``self`` with ``src`` where the view of a form is."""
    result = to_copy(self)
    _write(viewed(form, result, *arguments), src)
    return result


def as_strided_scatter(self: Array, src: Array, size: Shape, stride: Shape, offset: int | None) -> Array:
    """A copy of ``self``, strides and all, with ``src`` in the elements that ``as_strided`` shows."""
    as_strided(self, size, stride, offset)  # an error where that leaves the memory
    start, strides = storage_offset(self), element_strides(self)
    begin = start if offset is None else offset
    memory = np.zeros(max(start + extent(self.shape, strides), begin + extent(size, stride)), self.dtype)
    result = as_strided(memory, self.shape, strides, start)
    result[...] = self
    _write(as_strided(memory, size, stride, begin), src)
    return result


def _write(view: Array, src: Array) -> None:
    if view.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(view.shape)}"
        )
    view[...] = src
