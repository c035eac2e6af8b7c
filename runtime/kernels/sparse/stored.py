"""Kernels that are alike for arrays of all sparse layouts: of the values that are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..cpu import cast
from ..dims import wrap_dim
from ..reduced import upcast
from ..reductions import sum_dim
from .array import Array, StoredArray

Number = bool | int | float | complex
S = TypeVar("S", bound=StoredArray)


def on_values(function: Callable[[Array], Array], self: S) -> S:
    """The elementwise ``function``, which gives zero for zero, of what is stored, once for each index."""
    self = self.distinct()
    wide = upcast(self.values)
    computed = np.asarray(function(wide))
    if wide is not self.values and computed.dtype == wide.dtype:
        computed = computed.astype(self.values.dtype)
    return self.with_values(computed)


def stored_neg(self: S) -> S:
    """The values negated. RuntimeError for bools."""
    if self.values.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead."
        )
    return self.with_values(-self.values)


def stored_conj(self: S) -> S:
    """The values conjugated."""
    return self.with_values(self.values.conj())


def stored_sum(self: StoredArray, dtype: Any) -> Array:
    """The sum of all elements, a strided array."""
    return np.asarray(sum_dim(self.values, None, False, None if dtype is None else dtype.base))


def stored_to_copy(self: S, dtype: Any) -> S:
    """A copy, as a dtype, None for its own."""
    copied = self.copy()
    return in_dtype(copied, copied.values.dtype if dtype is None else dtype)


def stored_values(self: StoredArray) -> Array:
    return self.values


# -- with numbers


def in_dtype(self: S, dtype: Any) -> S:
    """The array itself, or one with values of NumPy's ``dtype``."""
    return self if dtype == self.values.dtype else self.with_values(cast(self.values, dtype))


def times(self: S, factor: Any) -> S:
    """Each value times a number, which keeps its dtype, or a 0-d array."""
    values = self.values
    if isinstance(factor, (int, float, complex)):
        return self.with_values((upcast(values) * factor).astype(values.dtype, copy=False))
    kept = values.dtype if values.dtype == factor.dtype else None
    return self.with_values(np.multiply(values, factor, dtype=kept))


def stored_div(self: Any, divisor: Any) -> Any:
    """Each value divided by a number, which keeps its dtype, or a 0-d array. RuntimeError for another."""
    if isinstance(divisor, (int, float, complex)):
        values = self.values
        return self.with_values((upcast(values) / divisor).astype(values.dtype, copy=False))
    if not isinstance(self, StoredArray) or isinstance(divisor, StoredArray):
        raise RuntimeError("Sparse division requires a dense divisor")
    if divisor.ndim:
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(divisor.shape)} for divisor)"
        )
    return self.with_values(self.values / divisor)


# -- checks


def check_sizes_of_sum(self: Any, other: Any) -> None:
    """RuntimeError where a strided array and a sparse one, which are to be added, differ in their sizes."""
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(self.shape)} while "
            f"other has size {list(other.shape)} (FYI: dense-sparse addition does not currently support "
            "broadcasting)"
        )


def check_sizes_of_mask(self: Any, mask: Any) -> None:
    """RuntimeError where an array and its mask differ in their sizes."""
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has "
            f"size {list(mask.shape)}"
        )


def check_dense_dim(self: StoredArray, dense_dim: int | None) -> None:
    """RuntimeError for a number of dense dimensions that is given, and is another than that of an array."""
    if dense_dim is not None and dense_dim != self.dense_dim:
        raise RuntimeError(
            f"to_sparse: dense_dim argument must be {self.dense_dim}, the number of dense dimensions of "
            f"self, but got {dense_dim}"
        )


def check_empty_sizes(size: Any) -> None:
    """RuntimeError for a negative size of an array of zeros."""
    if any([n < 0 for n in size]):
        raise RuntimeError(f"empty: sizes must be non-negative, got {list(size)}")


# -- dimensions


def exchanged(ndim: int, dim0: int, dim1: int) -> list[int]:
    """The dimensions in their order but for two, which are exchanged."""
    order = list(range(ndim))
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order[a], order[b] = order[b], order[a]
    return order


def selected_slice(self: StoredArray, dim: int, index: int) -> tuple[int, int, tuple[int, ...]]:
    """Of a slice the dimension and the index, counted from the front, and the shape. IndexError for none."""
    at = wrap_dim(dim, self.ndim)
    size = self.shape[at]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {at}"
        )
    return at, index % size, self.shape[:at] + self.shape[at + 1 :]
