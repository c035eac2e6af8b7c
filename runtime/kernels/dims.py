"""Dimensions: negative ones, ranges, repetition; and ufuncs over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any  # an ndarray, or the 0-d result of a ufunc
Dims = tuple[int, ...] | None
#: How bodies say that an empty list of dims names none of them (``ir.bodies.Along``).
LISTED = "[]"


def wrap_dim(dim: int, ndim: int) -> int:
    """``dim`` counted from the front, in ``range(ndim)``; a 0-d array accepts 0 and -1.

    IndexError when ``dim`` is out of range.
    """
    span = ndim or 1
    if -span <= dim < span:
        return dim + span if dim < 0 else dim
    raise IndexError(
        f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})"
    )


def wrap_dims(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Each of ``dims`` counted from the front, in the order given.

    A 0-d array accepts 0 and -1, and has the result ``()``: it has no axis to give to NumPy.
    IndexError when one is out of range, RuntimeError when one occurs twice.
    """
    wrapped = tuple([wrap_dim(dim, ndim) for dim in dims])
    if len(set(wrapped)) != len(wrapped):
        twice = next(dim for index, dim in enumerate(wrapped) if dim in wrapped[:index])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped if ndim else ()


def axes_of(dim: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """The dims that ``dim`` names, from the front and in order: all of them where it names none.

    IndexError for one out of range, RuntimeError for one that is named twice.
    """
    if isinstance(dim, int):
        return (wrap_dim(dim, ndim),) if ndim else wrap_dims((dim,), 0)
    return tuple(sorted(wrap_dims(dim, ndim))) if dim else tuple(range(ndim))


def axes_of_rows(shape: tuple[int, ...], dim: int | Dims, sizes: str) -> tuple[int, ...]:
    """The dims that rows are over: those that ``dim`` names, or the last ones, whose sizes ``dim`` has.

    ``sizes`` is what the argument with sizes is called; LISTED where () names no dim, else "".
    IndexError for a bad dim; RuntimeError for sizes that the last dims do not have, and for none.
    """
    if not sizes or sizes == LISTED:
        return () if sizes and dim == () else axes_of(dim, len(shape))
    assert isinstance(dim, Sequence)
    first = len(shape) - len(dim)
    if not dim:
        raise RuntimeError(
            f"Expected {sizes} to be at least 1-dimensional, i.e., containing at least one element, "
            f"but got {sizes} = []"
        )
    if first < 0 or shape[first:] != tuple(dim):
        expected = ", ".join(["*", *[str(n) for n in dim]])
        raise RuntimeError(
            f"Given {sizes}={[*dim]}, expected input with shape [{expected}], "
            f"but got input of size {[*shape]}"
        )
    return tuple(range(first, len(shape)))


def other_axes(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that are not among some."""
    return tuple([d for d in range(ndim) if d not in axes])


def length_of(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many elements rows have."""
    return math.prod([shape[d] for d in axes])


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """A shape without the axes, or with 1 in their places."""
    if keepdim:
        return tuple([1 if d in axes else n for d, n in enumerate(shape)])
    return tuple([n for d, n in enumerate(shape) if d not in axes])


def permutation(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    """All dimensions, each counted from the front, in the order given.

    IndexError when one is out of range, RuntimeError when one is absent or occurs twice.
    """
    if len(dims) != ndim:
        raise RuntimeError(
            "number of dimensions in the tensor input does not match the length of the desired ordering "
            f"of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = tuple([d if 0 <= d < ndim else wrap_dim(d, ndim) for d in dims])
    if len(set(order)) != ndim:
        raise RuntimeError("duplicate dims are not allowed.")
    return order


def reduce_dims(
    ufunc: np.ufunc, self: Array, dim: Dims, keepdim: bool = False, dtype: np.dtype[Any] | None = None
) -> Array:
    """``ufunc.reduce`` over ``dim``, accumulating in ``dtype``.

    Raises IndexError for a dim out of range and RuntimeError for one that is named twice.
    """
    try:
        return ufunc.reduce(self, None if dim == () else dim, dtype, keepdims=keepdim)
    except ValueError:
        if self.ndim:
            wrap_dims(dim or (), self.ndim)  # says what is wrong
            raise
    wrap_dims(dim or (), 0)
    return ufunc.reduce(self, None, dtype)
