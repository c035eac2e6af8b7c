"""Elementwise kernels over arrays in compressed formats, alone, with each other, and with strided ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import upcast
from ..layout import broadcast_shapes
from ..pointwise import scaled
from ..sparse.array import Array
from .array import CompressedArray
from .conversions import compressed_to_dense, elements, flat_places, gathered, values_in

Number = bool | int | float | complex


def on_values(function: Callable[[Array], Array], self: CompressedArray) -> CompressedArray:
    """The elementwise ``function``, which gives zero for zero, of what is stored."""
    wide = upcast(self.values)
    computed = np.asarray(function(wide))
    if wide is not self.values and computed.dtype == wide.dtype:
        computed = computed.astype(self.values.dtype)
    return self.with_values(computed)


def compressed_neg(self: CompressedArray) -> CompressedArray:
    """The values negated. RuntimeError for bools."""
    if self.values.dtype == np.bool_:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported.")
    return self.with_values(-self.values)


def compressed_conj(self: CompressedArray) -> CompressedArray:
    """The values conjugated."""
    return self.with_values(self.values.conj())


def compressed_fill(self: CompressedArray, value: Any) -> CompressedArray:
    """The same elements stored, all of them ``value``."""
    return self.with_values(np.full_like(self.values, value))


def check_alike(name: str, self: CompressedArray, other: CompressedArray) -> None:
    """RuntimeError for arrays of two layouts, shapes or sizes of blocks."""
    for what, a, b in (
        ("layout", self.layout, other.layout),
        ("size", list(self.shape), list(other.shape)),
        ("blocksize", self.blocksize, other.blocksize),
        ("number of dense dimensions", self.dense_dim, other.dense_dim),
    ):
        if a != b:
            raise RuntimeError(
                f"{name}: expected 'self' and 'other' to have the same {what}, but got {a} and {b}"
            )


# -- sums


def compressed_add(self: Any, other: Any, alpha: Number) -> Any:
    """``self + alpha * other``: in their layout where both are in one, strided where one is."""
    if isinstance(self, CompressedArray) and isinstance(other, CompressedArray):
        return _add_stored(self, other, alpha)
    sparse, dense = (self, other) if isinstance(self, CompressedArray) else (other, self)
    if sparse.shape != dense.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(self.shape)} while "
            f"other has size {list(other.shape)} (FYI: dense-sparse addition does not currently support "
            "broadcasting)"
        )
    total = compressed_to_dense(sparse)
    if sparse is self:
        return total + (dense if alpha == 1 else scaled(dense, alpha))
    return dense + (total if alpha == 1 else scaled(total, alpha))


def compressed_sub(self: Any, other: Any, alpha: Number) -> Any:
    """``self - alpha * other``, as ``compressed_add``."""
    return compressed_add(self, other, -alpha)


def compressed_add_number(self: CompressedArray, other: Number, alpha: Number) -> Any:
    raise RuntimeError(
        "add(sparse, number) is not supported: the result would be strided. Use to_dense() first."
    )


def _add_stored(self: CompressedArray, other: CompressedArray, alpha: Number) -> CompressedArray:
    check_alike("add", self, other)
    if self.same_places(other):
        return self.with_values(self.values + (other.values if alpha == 1 else scaled(other.values, alpha)))
    (own, values), (others, added) = elements(self), elements(other)
    added = added if alpha == 1 else scaled(added, alpha)
    places = [np.concatenate(pair) for pair in zip(own, others, strict=True)]
    joined = np.concatenate([values, added])
    block = self.blocksize or (1, 1)
    batch, row, column = places
    return gathered((batch, row, column), joined, self.shape, self.batch_dim, self.layout, block)


# -- products


def compressed_mul(self: Any, other: Any) -> Any:
    """The product: of what is stored in both, or in the one that is in a compressed format."""
    if isinstance(other, (int, float, complex)):
        return self.with_values((upcast(self.values) * other).astype(self.values.dtype, copy=False))
    if not isinstance(self, CompressedArray):
        self, other = other, self
    if isinstance(other, CompressedArray):
        return _mul_stored(self, other)
    if not other.ndim:
        dtype = self.values.dtype if self.values.dtype == other.dtype else None
        return self.with_values(np.multiply(self.values, other, dtype=dtype))
    if broadcast_shapes(self.shape, other.shape) != self.shape:
        raise RuntimeError(
            f"mul: a strided factor of size {list(other.shape)} does not broadcast to the size "
            f"{list(self.shape)} of the sparse one"
        )
    return self.with_values(self.values * values_in(np.broadcast_to(other, self.shape), self))


def _mul_stored(self: CompressedArray, other: CompressedArray) -> CompressedArray:
    check_alike("mul", self, other)
    if self.same_places(other):
        return self.with_values(self.values * other.values)
    places, values = elements(self)
    others, _ = elements(other)
    common = np.isin(flat_places(self, places), flat_places(other, others))
    products = values * values_in(other, self).reshape(values.shape)
    batch, row, column = [a[common] for a in places]
    block = self.blocksize or (1, 1)
    return gathered((batch, row, column), products[common], self.shape, self.batch_dim, self.layout, block)


def compressed_div(self: Any, other: Any) -> Any:
    """Each value divided by a number or a 0-d array. RuntimeError for another divisor."""
    if isinstance(other, (int, float, complex)):
        return self.with_values((upcast(self.values) / other).astype(self.values.dtype, copy=False))
    if not isinstance(self, CompressedArray) or isinstance(other, CompressedArray) or other.ndim:
        raise RuntimeError("Sparse division requires a scalar or zero-dim dense tensor divisor")
    return self.with_values(self.values / other)


def compressed_threshold_backward(
    grad_output: Any, self: CompressedArray, threshold: Number
) -> CompressedArray:
    """The gradient where ``self`` is above the threshold."""
    same = isinstance(grad_output, CompressedArray) and grad_output.same_places(self)
    grads = grad_output.values if same else values_in(grad_output, self)
    return self.with_values(np.where(self.values > threshold, grads, grads.dtype.type(0)))
