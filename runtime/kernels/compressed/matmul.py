"""Matrix products with arrays in compressed formats: SciPy's."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...core.memory_format import CONSTANTS, sparse_csr
from ..contractions import accumulate
from ..matmul import addmm_shape, bmm_shape
from ..reduced import upcast
from ..sparse.array import Array
from ..sparse.products import (
    product,
    stored_linear,
    stored_linear_input_backward,
    stored_linear_weight_backward,
)
from .array import CompressedArray, layout_of
from .conversions import elements, gathered, to_layout
from .pointwise import compressed_add

Number = bool | int | float | complex


def _of_scipy(matrix: Any, dtype: np.dtype[Any], layout: str) -> CompressedArray:
    found = matrix.tocoo()
    row, column = found.row.astype(np.int64), found.col.astype(np.int64)
    values = found.data.astype(dtype, copy=False)
    return gathered((np.zeros_like(row), row, column), values, matrix.shape, 0, layout, (1, 1))


def compressed_sparse_matmul(self: CompressedArray, mat2: CompressedArray) -> Any:
    """The product, of which columns are compressed where they are in both, else rows."""
    return _product(self, mat2, layout_of(self.by_rows or mat2.by_rows, False))


def compressed_mm(self: Any, mat2: Any) -> Any:
    """The product of matrices: in compressed rows where both are in a compressed format, else strided."""
    return product(self, mat2, _rows_of_scipy)


def _rows_of_scipy(matrix: Any, dtype: np.dtype[Any]) -> CompressedArray:
    return _of_scipy(matrix, dtype, sparse_csr.name)


def _product(self: Any, mat2: Any, layout: str) -> Any:
    return product(self, mat2, lambda matrix, dtype: _of_scipy(matrix, dtype, layout))


def compressed_addmm(self: Any, mat1: Any, mat2: Any, beta: Number, alpha: Number) -> Any:
    """``beta * self + alpha * mat1 @ mat2``: in the layout of ``self``. RuntimeError where the product is
    strided and ``self`` is not."""
    shape = addmm_shape(self.shape, mat1.shape, mat2.shape)
    found = compressed_mm(mat1, mat2)
    if isinstance(found, CompressedArray):
        found = found.with_values(found.values * alpha)
        if isinstance(self, CompressedArray):
            same = to_layout(found, CONSTANTS[self.layout], self.blocksize, None)
            return compressed_add(self.with_values(self.values * beta), same, 1)
        return compressed_add(np.broadcast_to(beta * self, shape), found, 1)
    if isinstance(self, CompressedArray):
        raise RuntimeError(
            f"addmm: expected strided self for a strided product, got a tensor with layout {self.layout}"
        )
    return accumulate(self, found, shape, beta, alpha)


def compressed_linear(input: Any, weight: Any, bias: Array | None) -> Any:
    """``input @ weight.T + bias``: strided, but of two sparse factors alone sparse."""
    return stored_linear(input, weight, bias, _rows_of_scipy)


def compressed_linear_input_backward(grad_output: Any, weight: Any) -> Any:
    """The gradient of ``linear`` for its input, of a sparse ``weight``."""
    return stored_linear_input_backward(grad_output, weight, _rows_of_scipy)


def compressed_linear_weight_backward(grad_output: Any, input: Any) -> Any:
    """The gradient of ``linear`` for its weight, of a sparse ``input``."""
    return stored_linear_weight_backward(grad_output, input, _rows_of_scipy)


def compressed_bmm(self: CompressedArray, mat2: Array) -> Array:
    """The products of the matrices of a batch, the first ones in a compressed format."""
    shape = bmm_shape(self.shape, mat2.shape)
    result = np.empty(shape, self.values.dtype)
    for b in range(shape[0]):
        one = CompressedArray(self.compressed[b], self.plain[b], self.values[b], self.shape[1:], self.layout)
        result[b] = compressed_mm(one, mat2[b])
    return result


def compressed_sampled_addmm(
    self: CompressedArray, mat1: Array, mat2: Array, beta: Number, alpha: Number
) -> CompressedArray:
    """``alpha * mat1 @ mat2`` where ``self`` stores elements, plus ``beta * self``; of batches, too.
    RuntimeError for a hybrid ``self``, for matrices that cannot be multiplied, and for a product of another
    shape than ``self``."""
    expected = (*mat1.shape[:-1], mat2.shape[-1]) if min(mat1.ndim, mat2.ndim) > 1 else ()
    if self.dense_dim:
        raise RuntimeError("sampled_addmm: Expected non-hybrid self tensor")
    if mat1.ndim < 2 or mat1.shape[-1] != mat2.shape[-2] or mat1.shape[:-2] != mat2.shape[:-2]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({list(mat1.shape)} and "
            f"{list(mat2.shape)})"
        )
    if expected != self.shape:
        raise RuntimeError(
            f"sampled_addmm: self has the size {list(self.shape)}, the product {list(expected)}"
        )
    products = _sampled(self, upcast(mat1), upcast(mat2))
    total = products if alpha == 1 else products * alpha
    if beta != 0:
        total = total + (upcast(self.values) if beta == 1 else upcast(self.values) * beta)
    return self.with_values(total.astype(self.values.dtype, copy=False))


def _sampled(self: CompressedArray, mat1: Array, mat2: Array) -> Array:
    """The products of rows and columns at the places that are stored, laid out as the values."""
    (batch, row, column), stored = elements(self)
    batches, inner = prod(self.batch_shape), mat1.shape[-1]
    rows = mat1.reshape(batches, mat1.shape[-2], inner)
    columns = mat2.reshape(batches, inner, mat2.shape[-1]).swapaxes(1, 2)
    found = np.empty(len(stored), np.result_type(mat1, mat2))
    step = max(1, 2**16 // max(inner, 1))
    for start in range(0, len(stored), step):
        part = slice(start, start + step)
        b = batch[part]
        found[part] = np.einsum("ij,ij->i", rows[b, row[part]], columns[b, column[part]])
    return found.reshape(self.values.shape)
