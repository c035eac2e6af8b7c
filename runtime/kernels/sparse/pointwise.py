"""Elementwise kernels over arrays in coordinate format, alone, with each other, and with strided ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layout import broadcast_shapes
from ..pointwise import div_rounded, scaled
from .array import Array, CooArray, flat_indices
from .conversions import coo_broadcast, coo_coalesce, values_at
from .stored import check_sizes_of_sum, on_values, stored_div, times

Number = bool | int | float | complex


# -- sums


def coo_add(self: Any, other: Any, alpha: Number) -> Any:
    """``self + alpha * other``: both in coordinate format, or only the second; else RuntimeError."""
    if not isinstance(other, CooArray):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(self, CooArray):
        return _add_to_dense(self, other, alpha)
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != "
            f"{list(other.shape)}"
        )
    return add_coo(self, other, alpha)


def coo_sub(self: Any, other: Any, alpha: Number) -> Any:
    """``self - alpha * other``, as ``coo_add``."""
    if isinstance(other, CooArray) and other.values.dtype.kind == "u":
        return coo_add(self, other.with_values(np.negative(other.values)), alpha)
    return coo_add(self, other, -alpha)


def coo_add_number(self: CooArray, other: Number, alpha: Number) -> Any:
    """Raises RuntimeError: zeros plus a number are to be stored."""
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


def add_coo(self: CooArray, other: CooArray, alpha: Number) -> CooArray:
    """The sum of two arrays of a shape, coalesced where both are. RuntimeError where not as many dimensions
    of both are indexed, unless one stores nothing."""
    values = other.values if alpha == 1 else scaled(other.values, alpha)
    if self.sparse_dim != other.sparse_dim:
        if self.nnz and other.nnz:
            raise RuntimeError(
                "add: expected 'self' and 'other' to have same number of sparse dimensions, but "
                f"{self.sparse_dim} != {other.sparse_dim}"
            )
        return other.with_values(values) if other.nnz else self
    both = self.coalesced and other.coalesced
    if self.indices is other.indices or np.array_equal(self.indices, other.indices):
        return CooArray(self.indices, self.values + values, self.shape, both)
    indices = np.concatenate([self.indices, other.indices], 1)
    summed = CooArray(indices, np.concatenate([self.values, values]), self.shape)
    return coo_coalesce(summed) if both else summed


def _add_to_dense(self: Array, other: CooArray, alpha: Number) -> Array:
    check_sizes_of_sum(self, other)
    total = self.copy()
    other = coo_coalesce(other if alpha == 1 else other.with_values(scaled(other.values, alpha)))
    place = tuple(other.indices)
    total[place] = total[place] + (other.values if place else other.values.sum(0))
    return total


# -- products


def coo_mul(self: Any, other: Any) -> Any:
    """The product: what is stored in both, or in the one that is in coordinate format. RuntimeError for two
    in that format of other shapes or numbers of indexed dimensions: these do not broadcast."""
    if isinstance(other, (int, float, complex)):
        return times(self, other)
    if not isinstance(self, CooArray):
        self, other = other, self
    if not isinstance(other, CooArray):
        return _mul_dense(self, other)
    if self.sparse_dim != other.sparse_dim or self.shape != other.shape:
        raise RuntimeError(
            "mul: expects sparse inputs with equal dimensionality, number of sparse dimensions, and "
            "shape; self has "
            f"size {list(self.shape)} and {self.sparse_dim} sparse dimensions, other size "
            f"{list(other.shape)} and "
            f"{other.sparse_dim}"
        )
    if self.indices is other.indices and self.coalesced:
        return self.with_values(self.values * other.values)
    if self.coalesced and not other.coalesced:
        self, other = other, self
    found = np.isin(
        flat_indices(self.indices, self.sparse_shape), flat_indices(other.indices, self.sparse_shape)
    )
    indices = self.indices[:, found]
    values = self.values[found] * values_at(other, indices, self.sparse_dim)
    return CooArray(indices, values, self.shape, self.coalesced)


def _grown(self: CooArray, shape: tuple[int, ...]) -> CooArray:
    return self if self.shape == shape else coo_broadcast(self, shape)


def _mul_dense(self: CooArray, other: Array) -> CooArray:
    if not other.ndim:
        return times(self, other)
    shape = broadcast_shapes(self.shape, other.shape)
    self = _grown(self, shape)
    factors = np.broadcast_to(other, shape)[tuple(self.indices)]
    return self.with_values(self.values * factors)


def coo_floor_divide(self: CooArray, other: Any) -> Any:
    """Each element divided by a number or a 0-d array, rounded down."""
    return coo_div_rounded(self, other, "floor")


def coo_div_rounded(self: CooArray, other: Any, rounding_mode: str) -> Any:
    """Each element divided by a number or a 0-d array, rounded: ``"floor"``, or ``"trunc"``, towards zero."""
    if isinstance(other, CooArray) or np.ndim(other) or not isinstance(self, CooArray):
        return stored_div(self, other)  # which says what is wrong
    return on_values(lambda values: div_rounded(values, np.asarray(other, values.dtype), rounding_mode), self)


def coo_pow(self: CooArray, exponent: Number) -> CooArray:
    """The elements to a power that is not zero, of which zeros would be ones. RuntimeError for 0."""
    if exponent == 0:
        raise RuntimeError(
            "cannot raise to zeroth power on sparse tensor; it would make the result tensor dense"
        )
    self = coo_coalesce(self)
    return self.with_values(self.values**exponent)


def coo_threshold_backward(grad_output: Any, self: CooArray, threshold: Number) -> Any:
    """The gradient where ``self`` is above the threshold; both in coordinate format."""
    self = coo_coalesce(self)
    above = self.values > threshold
    masked = CooArray(self.indices, values_at(grad_output, self.indices, self.sparse_dim), self.shape, True)
    return masked.with_values(np.where(above, masked.values, masked.values.dtype.type(0)))
