"""Kernels that fold dimensions of an array into one value; the names are those of ``kernels.reductions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dims import axes_of, other_axes, reduced_shape
from ..reductions import ADDED, check_nonempty, count, restored_shape
from .common import Array, as_array, cast, is_bool, is_integral, is_real, number_of

Dims = tuple[int, ...] | None


def _folded(
    xp: Any, self: Array, dim: Dims, keepdim: bool, dtype: Any, of_numbers: Any, of_bools: Any
) -> Array:
    """The reduction over ``dim``, computed in ``dtype``: by default the input's, int64 for integers."""
    over = axes_of(dim, self.ndim)
    if dtype is None:
        dtype = xp.int64 if is_integral(xp, self) or is_bool(xp, self) else self.dtype
    self = cast(xp, self, dtype)
    if is_bool(xp, self):
        return of_bools(self, axis=over, keepdims=keepdim)
    return of_numbers(self, axis=over, keepdims=keepdim, dtype=self.dtype)


def sum_dim(xp: Any, self: Array, dim: Dims, keepdim: bool, dtype: Any) -> Array:
    """The sum over ``dim`` as ``dtype``: by default the input's, int64 for bools and integers."""
    return _folded(xp, self, dim, keepdim, dtype, xp.sum, xp.any)


def prod_dim(xp: Any, self: Array, dim: Dims, keepdim: bool, dtype: Any) -> Array:
    """The product over ``dim`` as ``dtype``: by default the input's, int64 for bools and integers."""
    return _folded(xp, self, dim, keepdim, dtype, xp.prod, xp.all)


def mean_dim(xp: Any, self: Array, dim: Dims, keepdim: bool, dtype: Any) -> Array:
    """The mean over ``dim`` as ``dtype``; NaN of no elements. RuntimeError for integers and bools, be it by
    the ``dtype`` that was asked for."""
    self = cast(xp, self, dtype)
    if is_integral(xp, self) or is_bool(xp, self):
        whose = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"could not infer output dtype. {whose} dtype must be either a floating point or complex dtype. "
            f"Got: {self.dtype}"
        )
    total = sum_dim(xp, self, dim, keepdim, None)
    return total / number_of(count(self, dim), self.dtype, xp)


def restore_dims(xp: Any, self: Array, dim: Dims, keepdim: bool, ndim: int) -> Array:
    """A reduction's result in a shape that broadcasts with its input's."""
    return xp.reshape(self, restored_shape(tuple(self.shape), dim, keepdim, ndim))


def _tested(xp: Any, name: str, self: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    """Whether all elements are true, or any is; uint8 stays uint8."""
    found = getattr(xp, name)(self if is_bool(xp, self) else self != 0, axis=axes, keepdims=keepdim)
    return xp.astype(found, xp.uint8) if self.dtype == xp.uint8 else found


def amax(xp: Any, self: Array, dim: Dims, keepdim: bool) -> Array:
    """The greatest over ``dim``, NaN where there is one."""
    check_nonempty(tuple(self.shape), dim)
    return xp.max(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


def amin(xp: Any, self: Array, dim: Dims, keepdim: bool) -> Array:
    """The least over ``dim``, NaN where there is one."""
    check_nonempty(tuple(self.shape), dim)
    return xp.min(self, axis=axes_of(dim, self.ndim), keepdims=keepdim)


def _place(xp: Any, largest: bool, self: Array, axis: int) -> Array:
    """Where the first of the greatest (or least) is along an axis, which stays; NaN goes before all."""
    if is_bool(xp, self):
        self = xp.astype(self, xp.uint8)
    find = xp.argmax if largest else xp.argmin
    found = find(self, axis=axis, keepdims=True)
    if xp.propagates_nan or not is_real(xp, self):
        return xp.astype(found, xp.int64)
    unknown = xp.astype(self != self, xp.uint8)
    first = xp.argmax(unknown, axis=axis, keepdims=True)
    return xp.astype(xp.where(xp.any(unknown != 0, axis=axis, keepdims=True), first, found), xp.int64)


def _argument(xp: Any, largest: bool, self: Array, axes: tuple[int, ...]) -> Array:
    """The same along several axes: a place among all their elements, in order."""
    if len(axes) == 1:
        return _place(xp, largest, self, axes[0])
    others = [d for d in range(self.ndim) if d not in axes]
    rows = xp.permute_dims(self, (*others, *axes))
    found = _place(xp, largest, xp.reshape(rows, (*[self.shape[d] for d in others], count(self, axes))), -1)
    return xp.reshape(found, reduced_shape(tuple(self.shape), axes, True))


def argmax(xp: Any, self: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    """Where the greatest first stands; the axes are kept."""
    return _argument(xp, True, self, axes)


def argmin(xp: Any, self: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    """Where the least first stands; the axes are kept."""
    return _argument(xp, False, self, axes)


def at(xp: Any, self: Array, axes: tuple[int, ...], keepdim: bool, places: Array) -> Array:
    """What stands at ``places`` along an axis, which is kept."""
    return xp.take_along_axis(self, places, axis=axes[0])


def folded(xp: Any, dtype: Any, name: str, row: Array, axis: int | tuple[int, ...], *places: Array) -> Array:
    """What ``kernels.reductions.folded`` gives."""
    asked = (dtype,) if name in ADDED else places
    return _FOLDS[name](xp, row, axis if isinstance(axis, tuple) else (axis,), True, *asked)


def _column_sum(xp: Any, row: Array, axes: tuple[int, ...], keepdim: bool, dtype: Any) -> Array:
    """The sum over all axes but these."""
    others = other_axes(row.ndim, axes)
    return sum_dim(xp, row, others, keepdim, dtype) if others else cast(xp, row, dtype)


#: The reductions of bodies, by their names.
_FOLDS: dict[str, Callable[..., Array]] = dict(
    column_sum=_column_sum,
    sum=sum_dim,
    prod=prod_dim,
    mean=mean_dim,
    max=amax,
    min=amin,
    any=lambda xp, *given: _tested(xp, "any", *given),
    all=lambda xp, *given: _tested(xp, "all", *given),
    argmax=argmax,
    argmin=argmin,
    at=at,
)


def evenly_distribute(xp: Any, grad_output: Array, self: Array, value: Array) -> Array:
    """The gradient of an extremum of all elements, in equal parts to those that are it."""
    chosen = (self == value) | ((self != self) & (value != value))
    parts = xp.sum(xp.astype(chosen, xp.int64), dtype=xp.int64)
    return xp.where(chosen, grad_output / xp.astype(parts, grad_output.dtype), xp.zeros_like(self))


def linalg_vector_norm(xp: Any, self: Array, ord: Any, dim: Dims, keepdim: bool, dtype: Any) -> Array:
    """The ``ord``-norm over ``dim``. RuntimeError for integers and bools; for no elements, RuntimeError or
    IndexError where the order is infinite."""
    if is_integral(xp, self) or is_bool(xp, self):
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor, got {self.dtype}"
        )
    over = axes_of(dim, self.ndim)
    size = xp.abs(cast(xp, self, dtype) if dtype is not None else self)
    if ord in (float("inf"), float("-inf")):
        check_nonempty(tuple(self.shape), dim)
        return (xp.max if ord > 0 else xp.min)(size, axis=over, keepdims=keepdim)
    if ord and count(self, dim) == 1:  # a power may be out of range, the size is not
        return xp.max(size, axis=over, keepdims=keepdim)
    if ord == 0:
        return xp.sum(xp.astype(size != 0, size.dtype), axis=over, keepdims=keepdim)
    if ord == 1:
        return xp.sum(size, axis=over, keepdims=keepdim)
    if ord == 2:
        return xp.sqrt(xp.sum(size * size, axis=over, keepdims=keepdim))
    powers = xp.pow(size, as_array(xp, ord, size))
    return xp.pow(xp.sum(powers, axis=over, keepdims=keepdim), as_array(xp, 1 / ord, size))
