"""Matrix products with arrays in coordinate format: SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contractions import accumulate
from ..matmul import addmm_shape, bmm_shape
from .array import Array, CooArray
from .conversions import coo_coalesce
from .pointwise import add_coo
from .products import product, stored_linear, stored_linear_input_backward, stored_linear_weight_backward

Number = bool | int | float | complex


def of_scipy(matrix: Any, dtype: np.dtype[Any]) -> CooArray:
    """An array of a matrix of SciPy's."""
    matrix.sum_duplicates()
    made = matrix.tocoo()
    indices = np.stack([made.row, made.col]).astype(np.int64)
    return CooArray(indices, made.data.astype(dtype, copy=False), matrix.shape, True)


def coo_mm(self: Any, mat2: Any) -> Any:
    """The product of matrices: in coordinate format where both are, else strided."""
    return product(self, mat2, of_scipy)


def coo_addmm(self: Any, mat1: CooArray, mat2: Any, beta: Number, alpha: Number) -> Any:
    """``beta * self + alpha * mat1 @ mat2``: strided with a strided factor, else in coordinate format.
    RuntimeError for a ``self`` that is not as the product."""
    shape = addmm_shape(self.shape, mat1.shape, mat2.shape)
    found = coo_mm(mat1, mat2)
    if isinstance(found, CooArray):
        if not isinstance(self, CooArray):
            raise RuntimeError("addmm: a strided self and a product of two sparse matrices")
        scaled = found.with_values(found.values * alpha)
        return add_coo(self.with_values(self.values * beta), scaled, 1)
    if isinstance(self, CooArray):
        raise RuntimeError(
            "addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse"
        )
    return accumulate(self, found, shape, beta, alpha)


def coo_linear(input: Any, weight: Any, bias: Array | None) -> Any:
    """``input @ weight.T + bias``: strided, but of two sparse factors alone sparse."""
    return stored_linear(input, weight, bias, of_scipy)


def coo_linear_input_backward(grad_output: Any, weight: Any) -> Any:
    """The gradient of ``linear`` for its input, of a sparse ``weight``."""
    return stored_linear_input_backward(grad_output, weight, of_scipy)


def coo_linear_weight_backward(grad_output: Any, input: Any) -> Any:
    """The gradient of ``linear`` for its weight, of a sparse ``input``."""
    return stored_linear_weight_backward(grad_output, input, of_scipy)


def coo_bmm(self: CooArray, mat2: Array) -> Array:
    """The products of the matrices of a batch, the first ones in coordinate format."""
    shape = bmm_shape(self.shape, mat2.shape)
    result = np.empty(shape, self.values.dtype)
    self = coo_coalesce(self)
    ends = np.searchsorted(self.indices[0], np.arange(shape[0] + 1))
    for b in range(shape[0]):
        part = slice(ends[b], ends[b + 1])
        matrix = CooArray(self.indices[1:, part], self.values[part], self.shape[1:], True)
        result[b] = coo_mm(matrix, mat2[b])
    return result


def coo_hspmm(mat1: CooArray, mat2: Array) -> CooArray:
    """The product of which the rows that are not zero are stored: one indexed dimension."""
    found = coo_mm(mat1, mat2)
    rows = np.unique(mat1.indices[0])
    return CooArray(rows.reshape(1, -1), found[rows], found.shape)


def coo_sspaddmm(self: CooArray, mat1: CooArray, mat2: Array, beta: Number, alpha: Number) -> CooArray:
    """``beta * self + alpha * mat1 @ mat2``: what ``self`` stores and the rows of the product. RuntimeError
    for a ``self`` of another shape, which is not expanded."""
    shape = addmm_shape(self.shape, mat1.shape, mat2.shape)
    if self.shape != shape:
        raise RuntimeError(f"sspaddmm: self has the size {list(self.shape)}, the product {list(shape)}")
    found = coo_hspmm(mat1, mat2)
    rows = np.repeat(found.indices[0], shape[1])
    columns = np.tile(np.arange(shape[1]), found.nnz)
    indices = np.concatenate([self.indices, np.stack([rows, columns])], 1)
    own, added = self.values, found.values.reshape(-1)
    own = own if beta == 1 else (own * beta).astype(own.dtype)
    added = added if alpha == 1 else (added * alpha).astype(added.dtype)
    return CooArray(indices, np.concatenate([own, added]), shape)
