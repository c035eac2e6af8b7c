"""Elementwise kernels over arrays in coordinate format, alone, with each other, and with strided ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import upcast
from ..layout import broadcast_shapes
from ..pointwise import div_rounded, scaled
from .array import Array, CooArray, flat_indices
from .conversions import coo_broadcast, coo_coalesce, values_at

Number = bool | int | float | complex


def on_values(function: Callable[[Array], Array], self: CooArray) -> CooArray:
    """The elementwise ``function``, which gives zero for zero, of what is stored, once for each index."""
    self = coo_coalesce(self)
    wide = upcast(self.values)
    computed = np.asarray(function(wide))
    if wide is not self.values and computed.dtype == wide.dtype:
        computed = computed.astype(self.values.dtype)
    return self.with_values(computed)


def coo_neg(self: CooArray) -> CooArray:
    """The values negated. RuntimeError for bools."""
    if self.values.dtype == np.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return self.with_values(-self.values)


def coo_conj(self: CooArray) -> CooArray:
    """The values conjugated."""
    return self.with_values(self.values.conj())


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
    raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")


def add_coo(self: CooArray, other: CooArray, alpha: Number) -> CooArray:
    """The sum of two arrays of a shape, coalesced where both are."""
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
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(self.shape)} while "
            f"other has size {list(other.shape)} (FYI: dense-sparse addition does not currently support "
            "broadcasting)"
        )
    total = self.copy()
    other = coo_coalesce(other if alpha == 1 else other.with_values(scaled(other.values, alpha)))
    place = tuple(other.indices)
    total[place] = total[place] + (other.values if place else other.values.sum(0))
    return total


# -- products


def coo_mul(self: Any, other: Any) -> Any:
    """The product: what is stored in both, or in the one that is in coordinate format."""
    if isinstance(other, (int, float, complex)):
        return self.with_values((upcast(self.values) * other).astype(self.values.dtype, copy=False))
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
        return self.with_values(np.multiply(self.values, other, dtype=_kept(self.values, other)))
    shape = broadcast_shapes(self.shape, other.shape)
    self = _grown(self, shape)
    factors = np.broadcast_to(other, shape)[tuple(self.indices)]
    return self.with_values(self.values * factors)


def _kept(values: Array, other: Array) -> Any:
    return values.dtype if values.dtype == other.dtype else None


def coo_div(self: CooArray, other: Any) -> CooArray:
    """Each value divided by a number or a 0-d array. RuntimeError for another divisor."""
    if isinstance(other, (int, float, complex)):
        return self.with_values((upcast(self.values) / other).astype(self.values.dtype, copy=False))
    if not isinstance(self, CooArray) or isinstance(other, CooArray):
        raise RuntimeError("Sparse division requires a dense divisor")
    if other.ndim:
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(other.shape)} for divisor)"
        )
    return self.with_values(self.values / other)


def coo_floor_divide(self: CooArray, other: Any) -> CooArray:
    """Each element divided by a number or a 0-d array, rounded down."""
    return coo_div_rounded(self, other, "floor")


def coo_div_rounded(self: CooArray, other: Any, rounding_mode: str) -> CooArray:
    """As ``coo_div``, rounded down (``"floor"``) or towards zero (``"trunc"``)."""
    if isinstance(other, CooArray) or np.ndim(other) or not isinstance(self, CooArray):
        return coo_div(self, other)  # which says what is wrong
    return on_values(lambda values: div_rounded(values, np.asarray(other, values.dtype), rounding_mode), self)


def coo_pow(self: CooArray, exponent: Number) -> CooArray:
    """The elements to a power that is not zero, of which zeros would be ones."""
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
