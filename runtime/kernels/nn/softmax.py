"""softmax and log_softmax: few passes, large arrays by blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...fast_paths import fast_path
from .. import rows, sums
from ..dims import wrap_dim
from ..dtypes import REDUCED
from ..exponentials import MAX_EXPONENT, MAX_EXPONENT_LOG, exp_shift
from ..native_kernels import kernels, over_reduced_rows, over_rows
from ..reduced import in_float32
from ..rows import are_contiguous_rows, has_contiguous_rows
from .common import Array


@fast_path(
    "is_same half_to_float False; are_rows self dim; fetch_kernel kernels.softmax; local self; rows 1; give"
)
def softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    """``exp(x) / sum(exp(x), dim)``, shape and dtype of ``self``.

    Raises IndexError for a bad dim; RuntimeError for ``half_to_float``, which CPUs do not have.
    """
    if half_to_float:
        _refuse_half_to_float()
    if has_contiguous_rows(self, dim) and (kernel := kernels.softmax) is not None:
        return over_rows(kernel, self)
    return _computed("softmax", softmax, _softmax_of_rows, _softmax_along, self, dim)


@fast_path(
    "is_same half_to_float False; are_rows self dim; fetch_kernel kernels.log_softmax; "
    "local self; rows 1; give"
)
def log_softmax(self: Array, dim: int, half_to_float: bool) -> Array:
    """``x - log(sum(exp(x), dim))``, shape and dtype of ``self``.

    Raises IndexError for a bad dim; RuntimeError for ``half_to_float``, which CPUs do not have.
    """
    if half_to_float:
        _refuse_half_to_float()
    if has_contiguous_rows(self, dim) and (kernel := kernels.log_softmax) is not None:
        return over_rows(kernel, self)
    return _computed("log_softmax", log_softmax, _log_softmax_of_rows, _log_softmax_along, self, dim)


def _computed(name: str, function: Any, of_rows: Any, along: Any, self: Array, dim: int) -> Array:
    """By the kernel for a reduced type, else by NumPy: of contiguous rows by blocks, else along an axis."""
    if self.dtype.char in REDUCED:
        found = over_reduced_rows(name, self) if are_contiguous_rows(self, dim) else None
        return in_float32(function, self, dim, False) if found is None else found
    if has_contiguous_rows(self, dim):
        return _by_rows(of_rows, self, self.shape[-1])
    return _along(along, self, dim, self)


def _refuse_half_to_float() -> None:
    raise RuntimeError("softmax with half to float conversion is not supported on CPU")


# -- of exponentials and their sums ------------------------------------------------------------


def _shares(self: Array, out: Array, axis: int) -> Array:
    """``softmax`` of ``self`` in place of its exponentials."""
    total = sums.sum_along(out, axis)
    less = exp_shift(self, total, axis, MAX_EXPONENT)
    if less is not None:
        np.subtract(self, less, out=out)
        np.exp(out, out=out)
        total = sums.sum_along(out, axis)
    out /= total
    return out


def _logarithms(self: Array, out: Array, axis: int) -> Array:
    """``log_softmax`` of ``self`` in place of its exponentials."""
    total = sums.sum_along(out, axis)
    np.subtract(self, np.log(total), out=out)
    less = exp_shift(self, total, axis, MAX_EXPONENT_LOG, out)
    if less is not None:
        np.subtract(self, less, out=out)
        out -= np.log(sums.sum_along(np.exp(out), axis))
    return out


def _by_rows(task: Any, self: Array, columns: int) -> Array:
    """What ``task(rows, out)`` makes of the rows of a contiguous array, in a new array."""
    out = np.empty(self.shape, self.dtype)
    rows.run(task, self.reshape(-1, columns), out.reshape(-1, columns))
    return out


def _softmax_of_rows(table: Array, out: Array) -> None:
    np.exp(table, out=out)
    _shares(table, out, 1)


def _log_softmax_of_rows(table: Array, out: Array) -> None:
    np.exp(table, out=out)
    _logarithms(table, out, 1)


def _along(task: Any, like: Array, dim: int, *operands: Array) -> Array:
    """What ``task(axis, *operands)`` makes of arrays of at least one dimension that are not empty."""
    axis = wrap_dim(dim, like.ndim)
    if not like.size:
        return np.empty(like.shape, like.dtype)
    if not like.ndim:
        return task(0, *[operand.reshape(1) for operand in operands]).reshape(())
    return task(axis, *operands)


def _softmax_along(axis: int, self: Array) -> Array:
    return _shares(self, np.exp(self), axis)


def _log_softmax_along(axis: int, self: Array) -> Array:
    return _logarithms(self, np.exp(self), axis)
