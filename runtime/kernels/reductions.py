"""Kernels that fold dimensions of an array into one value: sums, extrema, moments, tests.

``dim`` is a tuple of dimensions, negative ones counting from the end; None and an empty tuple
are all of them. Unless a docstring says otherwise, results have the input's dtype.
Half-precision inputs of the kernels that take a ``dtype`` come as they are and are folded in
float32; everywhere else the caller has widened them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .dims import Dims, axes_of, other_axes, reduce_dims, reduced_shape, wrap_dims
from .dtypes import INT64, INTEGRAL, REDUCED, UINT8, DType, is_stored, real_dtype, total_dtype, with_truth
from .flat_index import take_along
from .reduced import upcast
from .sums import SUMMED, sum_floats

Array = Any  # an ndarray, or the 0-d result of a ufunc
Reducing = Any  # numpy.ufunc, whose stubs let no positions say what is kept
BOOL = np.dtype(bool)


# -- shared --------------------------------------------------------------------------------


def count(self: Array, dim: Dims) -> int:
    """How many elements a fold over (valid) ``dim`` takes together."""
    if not dim or self.ndim == 0:
        return int(self.size)
    return math.prod([self.shape[d] for d in dim])


def cast(self: Array, dtype: DType) -> Array:
    """``self`` as ``dtype``, to be reduced; a complex number loses its imaginary part when that is real.

    NotImplementedError for float8 and complex32, in which nothing is reduced.
    """
    if self.dtype == dtype:
        return self
    if is_stored(dtype):
        raise NotImplementedError(f"not computed in {dtype}")
    if self.dtype.kind == "c" and dtype.kind not in "cb":
        self = self.real
    return self.astype(dtype)


def check_nonempty(shape: tuple[int, ...], dim: int | Dims, name: str = "") -> None:
    """Raise as torch does when ``dim`` folds no element and the operation of this name has no identity."""
    if dim is None or dim == ():
        if math.prod(shape) == 0:
            without_dim = IndexError if name in ("argmax", "argmin") else RuntimeError
            hint = (
                " Specify the reduction dim with the 'dim' argument." if without_dim is RuntimeError else ""
            )
            raise without_dim(f"Expected reduction dim to be specified for input.numel() == 0.{hint}")
        return
    for d in wrap_dims((dim,) if isinstance(dim, int) else dim, len(shape)):
        if shape and shape[d] == 0:
            raise IndexError(f"Expected reduction dim {d} to have non-zero size.")


def restored_shape(shape: tuple[int, ...], dim: Dims, keepdim: bool, ndim: int) -> tuple[int, ...]:
    """The shape of a reduction's result with 1 in the places of the dims it dropped."""
    if keepdim or ndim == 0:
        return shape
    if not dim:
        return (1,) * ndim
    folded = {d + ndim if d < 0 else d for d in dim}
    sizes = iter(shape)
    return tuple([1 if d in folded else next(sizes) for d in range(ndim)])


def restore_dims(self: Array, dim: Dims, keepdim: bool, ndim: int) -> Array:
    """A reduction's result, which may be ``self`` itself, in a shape that broadcasts with its input's."""
    return self.reshape(restored_shape(self.shape, dim, keepdim, ndim))


# -- sums, products and means ----------------------------------------------------------------


def sum_dim(self: Array, dim: Dims, keepdim: bool, dtype: DType | None = None) -> Array:
    """The sum over ``dim`` as ``dtype``: by default the input's, int64 for bools and integers."""
    dtype = total_dtype(self.dtype, dtype)
    if dtype.char not in INTEGRAL or self.dtype.char not in INTEGRAL:
        self = cast(self, dtype)
        if dtype.char in SUMMED:
            return sum_floats(self, dim, keepdim)
    return reduce_dims(np.logical_or if dtype.kind == "b" else np.add, self, dim, keepdim, dtype)


def prod_dim(self: Array, dim: Dims, keepdim: bool, dtype: DType | None = None) -> Array:
    """The product over ``dim`` as ``dtype``: by default the input's, int64 for bools and integers."""
    dtype = total_dtype(self.dtype, dtype)
    if dtype.kind == "b":
        return reduce_dims(np.logical_and, self, dim, keepdim)
    self = cast(self, dtype)
    if dtype.char in REDUCED:
        return prod_dim(upcast(self), dim, keepdim, None).astype(dtype)
    return reduce_dims(np.multiply, self, dim, keepdim, dtype)


def mean_dtype(given: DType, dtype: DType | None) -> DType:
    """The dtype of a mean. Raises RuntimeError when it would be integral."""
    result = given if dtype is None else dtype
    if result.char in INTEGRAL:
        whose = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"could not infer output dtype. {whose} dtype must be either a floating point or complex dtype. "
            f"Got: {result}"
        )
    return result


def result_dtype(kind: str, given: DType, asked: DType | None = None) -> DType:
    """The dtype of a result, by what its elements are (``ir.bodies.Kind``), of rows of a dtype.

    ``asked`` is the one that the rows were to be taken in. RuntimeError for means of bools and integers.
    """
    match kind:
        case "total" | "running" | "columns":
            return total_dtype(given, asked)
        case "mean":
            return mean_dtype(given, asked)
        case "test":
            return UINT8 if given == UINT8 else BOOL
        case "own":
            return given
        case "real":
            return real_dtype(given)
        case "real total":
            return total_dtype(real_dtype(given), asked)
    return INT64 if kind == "int64" else BOOL


def mean_dim(self: Array, dim: Dims, keepdim: bool, dtype: DType | None = None) -> Array:
    """The mean over ``dim`` as ``dtype``; NaN of no elements."""
    result = mean_dtype(self.dtype, dtype)
    mean = sum_dim(upcast(cast(self, result)), dim, keepdim, None) / count(self, dim)
    return mean if mean.dtype == result else mean.astype(result)


# -- extrema -----------------------------------------------------------------------------------


def _place(method: str, self: Array, dim: int | Dims, keepdim: bool) -> Array:
    """Where an extreme stands; over several axes it is a place among their elements in order."""
    if isinstance(dim, tuple) and len(dim) == 1:
        (dim,) = dim
    if dim is None or isinstance(dim, int) or len(dim) == self.ndim:
        return getattr(self, method)(dim if isinstance(dim, int) else None, keepdims=keepdim)
    axes = axes_of(dim, self.ndim)
    others = other_axes(self.ndim, axes)
    rows = self.transpose((*others, *axes)).reshape([self.shape[d] for d in others] + [count(self, axes)])
    return getattr(rows, method)(-1).reshape(reduced_shape(self.shape, axes, keepdim))


def _at(self: Array, axes: tuple[int, ...], keepdim: bool, places: Array) -> Array:
    """What stands at ``places`` along an axis, which is kept."""
    return (take_along if self.flags.c_contiguous else np.take_along_axis)(self, places, axes[0])


def evenly_distribute(grad_output: Array, self: Array, value: Array) -> Array:
    """``grad_output`` in equal parts where ``self`` is ``value``, of which NaN is one, and 0 elsewhere."""
    places = np.flatnonzero(self == value if value == value else np.isnan(self))
    out = np.zeros(self.size, grad_output.dtype)
    out[places] = np.asarray(grad_output / max(places.size, 1), out.dtype)
    return out.reshape(self.shape)


# -- tests -------------------------------------------------------------------------------------------


def _tested(ufunc: Reducing, self: Array, dim: Dims, keepdim: bool) -> Array:
    self = with_truth(self)
    result = reduce_dims(ufunc, self, dim, keepdim)
    return result.astype(UINT8) if self.dtype == UINT8 else result


def reduced(name: str, self: Array, dim: Dims, keepdim: bool) -> Array:
    """What a reduction of bodies gives over dims. Errors for empty ones as torch's."""
    if not self.size:
        check_nonempty(self.shape, dim, name)
    return fold_rows(None, name, self, axes_of(dim, self.ndim), keepdim)


#: The reductions and scans of bodies that are as a dtype, which may be another than that of rows.
ADDED = ("sum", "prod", "mean", "column_sum", "cumsum", "cumprod")


def folded(dtype: DType | None, name: str, row: Array, axis: int | tuple[int, ...], *places: Array) -> Array:
    """What a reduction of bodies gives along axes of an array, which stay with size 1; sums, products and
    means as ``dtype``, by default the array's, int64 for bools and integers, of which there is no mean."""
    asked = (dtype,) if name in ADDED else places
    return np.asarray(FOLDS[name](row, axis if isinstance(axis, tuple) else (axis,), True, *asked))


def fold_rows(dtype: DType | None, name: str, row: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    """The same over several axes; they go unless ``keepdim``."""
    return np.asarray(FOLDS[name](row, axes, keepdim, *((dtype,) if name in ADDED else ())))


def _column_sum(row: Array, axes: tuple[int, ...], keepdim: bool, dtype: DType | None) -> Array:
    """The sum over all axes but these."""
    others = other_axes(row.ndim, axes)
    return sum_dim(row, others, keepdim, dtype) if others else cast(row, total_dtype(row.dtype, dtype))


#: The reductions of bodies, by their names.
FOLDS: dict[str, Callable[..., Array]] = dict(
    column_sum=_column_sum,
    sum=sum_dim,
    prod=prod_dim,
    mean=mean_dim,
    max=partial(reduce_dims, np.maximum),
    min=partial(reduce_dims, np.minimum),
    any=partial(_tested, np.logical_or),
    all=partial(_tested, np.logical_and),
    argmax=partial(_place, "argmax"),
    argmin=partial(_place, "argmin"),
    at=_at,
)


def check_hash(self: Array, dim: Dims, mode: int) -> None:
    """RuntimeError for an unknown mode, and where there is nothing to hash."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    check_nonempty(self.shape, dim)


def hash_tensor(self: Array, dim: Dims, keepdim: bool, mode: int) -> Array:
    """The exclusive or of the bits of the elements, as 64-bit integers or floating-point numbers."""
    check_hash(self, dim, mode)
    bits = self.astype(INT64 if self.dtype.kind in "biu" else np.float64).view(np.uint64)
    return reduce_dims(np.bitwise_xor, bits, dim, keepdim)
