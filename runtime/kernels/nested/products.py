"""Matrix products, dropout and embedding of ragged arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contractions import linear
from ..matmul import linear_input_shape, linear_shape, linear_weight_shape
from ..nn.dropout import native_dropout
from ..nn.embedding import check_table
from ..reduced import upcast
from ..scatter import gather_slices
from .array import Array, JaggedArray, RaggedArray

# -- linear


def nested_linear(input: RaggedArray, weight: Array, bias: Array | None) -> RaggedArray:
    """``input @ weight.T + bias`` over the last dimension, which is not ragged."""
    rows = input.rows(1)
    linear_shape(rows.shape, weight.shape, None if bias is None else bias.shape)
    _check_weight(weight)
    return _of_rows(input, linear(upcast(rows), upcast(weight), None if bias is None else upcast(bias)))


def nested_linear_input_backward(grad_output: RaggedArray, weight: Array) -> RaggedArray:
    """The gradient of ``linear`` for its input. RuntimeError for a weight that is a vector."""
    _check_weight(weight)
    rows = grad_output.rows(1)
    linear_input_shape(rows.shape, weight.shape)
    return _of_rows(grad_output, upcast(rows).dot(upcast(weight).conj()))


def nested_linear_weight_backward(grad_output: RaggedArray, input: RaggedArray) -> Array:
    """The gradient of ``linear`` for its weight, a strided array."""
    grad_rows, rows = grad_output.rows(1), input.rows(1)
    linear_weight_shape(grad_rows.shape, rows.shape)
    found = upcast(grad_rows).T.dot(upcast(rows).conj())
    narrow: Array = found.astype(input.values.dtype, copy=False)
    return narrow


def _check_weight(weight: Array) -> None:
    if weight.ndim != 2:
        raise RuntimeError("a weight that is a vector is not supported beside a nested input")


def _of_rows(like: RaggedArray, rows: Array) -> RaggedArray:
    return like.of_rows(rows.astype(like.values.dtype, copy=False), 1)


# -- products of matrices


def nested_matmul(self: Any, other: Any) -> Any:
    """The product of the matrices of each component with those beside them.

    A factor that is strided has a matrix for all components, or as many dimensions as the nested one, and
    something for each component, or for all. The product is strided where all of its matrices are of one size
    and both factors are jagged. RuntimeError for sizes that do not fit.
    """
    if isinstance(self, RaggedArray) and not isinstance(other, RaggedArray) and other.ndim == 2:
        rows = self.rows(1)
        if rows.shape[1] != other.shape[0]:
            raise _cannot(self, other)
        return _of_rows(self, upcast(rows) @ upcast(other))
    like = self if isinstance(self, RaggedArray) else other
    if {one.ndim for one in (self, other) if isinstance(one, RaggedArray) or one.ndim != 2} != {like.ndim}:
        raise _cannot(self, other)  # dimension 0 of one is not that of the other
    lefts, rights = _matrices(self, like), _matrices(other, like)
    _check_as_many(lefts, rights)
    for number, (a, b) in enumerate(zip(lefts, rights, strict=True)):
        _check_fit(number, a, b)
    products = [
        np.matmul(upcast(a), upcast(b)).astype(a.dtype, copy=False)
        for a, b in zip(lefts, rights, strict=True)
    ]
    return _joined(products, self, other)


def nested_bmm(self: Any, mat2: Any) -> Any:
    """As ``nested_matmul``, of components that are matrices. RuntimeError where they are not, or not as many
    in both."""
    for name, one in (("self", self), ("mat2", mat2)):
        if one.ndim != 3:
            raise RuntimeError(f"batch1 and batch2 must be 3D tensors, but {name} has {one.ndim} dimensions")
    _check_as_many(self, mat2)
    return nested_matmul(self, mat2)


def _check_as_many(one: Any, other: Any) -> None:
    first, second = [len(x) if isinstance(x, list) else x.shape[0] for x in (one, other)]
    if first != second:
        raise RuntimeError(f"expected as many components of both, but got {first} and {second}")


def _matrices(one: Any, like: RaggedArray) -> list[Array]:
    """What a factor has for each component of ``like``."""
    if isinstance(one, RaggedArray):
        return one.components()
    if one.ndim > 2 and len(one) != 1:
        return list(one)
    return [one if one.ndim == 2 else one[0]] * like.shape[0]


def _check_fit(number: int, a: Array, b: Array) -> None:
    sizes = f"{list(a.shape)} and {list(b.shape)}"
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"the matrices of component {number} cannot be multiplied ({sizes})")
    if any([n != m and 1 not in (n, m) for n, m in zip(a.shape[:-2], b.shape[:-2], strict=True)]):
        raise RuntimeError(f"the batches of matrices of component {number} do not go together ({sizes})")


def _cannot(a: Any, b: Any) -> RuntimeError:
    return RuntimeError(f"not supported between inputs of shapes {list(a.shape)} and {list(b.shape)}")


def _joined(products: Sequence[Array], self: Any, other: Any) -> Any:
    """The products as components like those of a factor, or in one strided array."""
    factors = [one for one in (self, other) if isinstance(one, RaggedArray)]
    jagged = [one for one in factors if isinstance(one, JaggedArray)]
    if len(jagged) < len(factors):
        return next(one for one in factors if not isinstance(one, JaggedArray)).with_components(products)
    rows = isinstance(self, JaggedArray) and self.ragged_idx < self.ndim - 1
    columns = isinstance(other, JaggedArray) and (other.ragged_idx == other.ndim - 1)
    columns = columns or (isinstance(other, JaggedArray) and other.ragged_idx < other.ndim - 2 and not rows)
    if rows and columns:
        raise _cannot(self, other)
    if rows:
        return self.with_components(products)
    if columns:
        return other.with_components(products)
    return np.stack(products)


# -- dropout


def nested_dropout(input: RaggedArray, p: float, train: bool | None) -> tuple[RaggedArray, RaggedArray]:
    """Each element kept with probability ``1 - p`` and divided by it; and which were kept."""
    out, kept = native_dropout(upcast(input.values), p, train)
    return input.with_values(out.astype(input.values.dtype, copy=False)), input.with_values(kept)


# -- embedding


def nested_embedding(weight: Array, indices: RaggedArray) -> RaggedArray:
    """The rows of ``weight`` for the indices in the components, which get one more dimension."""
    return indices.of_rows(gather_slices(check_table, weight, 0, indices.rows(0), True), 0)
