"""Elementwise kernels over arrays in compressed formats, alone, with each other, and with strided ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..layout import broadcast_shapes
from ..pointwise import scaled
from ..random import normal_like
from ..sparse.stored import check_sizes_of_sum, times
from .array import CompressedArray
from .conversions import compressed_to_dense, elements, flat_places, gathered, values_in

Number = bool | int | float | complex


def compressed_fill(self: CompressedArray, value: Any) -> CompressedArray:
    """The same elements stored, all of them ``value``."""
    return self.with_values(np.full_like(self.values, value))


def compressed_normal(self: CompressedArray, mean: float, std: float, generator: Any) -> CompressedArray:
    """The same elements stored, of a normal distribution."""
    return self.with_values(normal_like(self.values, mean, std, generator))


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
    check_sizes_of_sum(self, other)
    total = compressed_to_dense(sparse)
    if sparse is self:
        return total + (dense if alpha == 1 else scaled(dense, alpha))
    return dense + (total if alpha == 1 else scaled(total, alpha))


def compressed_sub(self: Any, other: Any, alpha: Number) -> Any:
    """``self - alpha * other``, as ``compressed_add``."""
    return compressed_add(self, other, -alpha)


def compressed_add_number(self: CompressedArray, other: Number, alpha: Number) -> Any:
    """Raises RuntimeError: zeros plus a number are to be stored."""
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
    """The product: of what is stored in both, or in the one that is in a compressed format. RuntimeError for
    a strided factor that does not broadcast to the stored one."""
    if isinstance(other, (int, float, complex)):
        return times(self, other)
    if not isinstance(self, CompressedArray):
        self, other = other, self
    if isinstance(other, CompressedArray):
        return _mul_stored(self, other)
    if not other.ndim:
        return times(self, other)
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


def compressed_threshold_backward(
    grad_output: Any, self: CompressedArray, threshold: Number
) -> CompressedArray:
    """The gradient where ``self`` is above the threshold."""
    same = isinstance(grad_output, CompressedArray) and grad_output.same_places(self)
    grads = grad_output.values if same else values_in(grad_output, self)
    return self.with_values(np.where(self.values > threshold, grads, grads.dtype.type(0)))
