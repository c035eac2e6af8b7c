"""Matrix products with arrays in coordinate format: SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import upcast
from ..matmul import addmm_shape, bmm_shape, mm_shape
from .array import Array, CooArray
from .conversions import coo_coalesce
from .pointwise import add_coo, coo_conj
from .shape import coo_t

Number = bool | int | float | complex


def scipy_matrix(self: Any) -> Any:
    """SciPy's matrix of a two-dimensional array; a strided one as it is."""
    if not isinstance(self, CooArray):
        return upcast(self)
    from scipy.sparse import csr_array

    if self.sparse_dim != 2 or self.dense_dim:
        raise RuntimeError(
            f"expected a sparse matrix with 2 sparse dimensions and no dense ones, but got {self.sparse_dim} "
            f"sparse and {self.dense_dim} dense dimensions"
        )
    return csr_array((upcast(self.values), (self.indices[0], self.indices[1])), self.shape)  # type: ignore[arg-type]


def of_scipy(product: Any, dtype: np.dtype[Any]) -> CooArray:
    """An array of a matrix of SciPy's."""
    product.sum_duplicates()
    made = product.tocoo()
    indices = np.stack([made.row, made.col]).astype(np.int64)
    return CooArray(indices, made.data.astype(dtype, copy=False), product.shape, True)


def coo_mm(self: Any, mat2: Any) -> Any:
    """The product of matrices: in coordinate format where both are, else strided."""
    mm_shape(self.shape, mat2.shape)
    dtype = (self if not isinstance(self, CooArray) else self.values).dtype
    product = scipy_matrix(self) @ scipy_matrix(mat2)
    if isinstance(self, CooArray) and isinstance(mat2, CooArray):
        return of_scipy(product, dtype)
    return np.asarray(product).astype(dtype, copy=False)


def coo_mv(self: CooArray, vec: Array) -> Array:
    """Matrix times vector."""
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, but got {self.ndim} and {vec.ndim}")
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"mv: expected self.size(-1) == vec.size(-1), got {self.shape[1]} and {vec.shape[0]}"
        )
    product: Array = np.asarray(scipy_matrix(self) @ upcast(vec))
    return product.astype(self.values.dtype, copy=False)


def coo_linear(input: Array, weight: CooArray, bias: Array | None) -> Array:
    """``input @ weight.T + bias`` of a sparse matrix ``weight``."""
    if input.ndim < 1 or weight.ndim != 2 or input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"linear: an input of size {list(input.shape)} does not fit to a weight of size "
            f"{list(weight.shape)}"
        )
    rows = input.reshape(-1, input.shape[-1])
    product: Array = coo_mm(weight, rows.T).T.reshape(*input.shape[:-1], weight.shape[0])
    return product if bias is None else product + bias


def coo_linear_input_backward(grad_output: Array, weight: CooArray) -> Array:
    """``grad_output @ weight.conj()`` of a sparse matrix ``weight``."""
    rows = grad_output.reshape(-1, grad_output.shape[-1])
    product = coo_mm(coo_conj(coo_t(weight)), rows.T).T
    found: Array = product.reshape(*grad_output.shape[:-1], weight.shape[1])
    return found


def coo_addmm(self: Any, mat1: CooArray, mat2: Any, beta: Number, alpha: Number) -> Any:
    """``beta * self + alpha * mat1 @ mat2``: strided with a strided factor, else in coordinate format."""
    shape = addmm_shape(self.shape, mat1.shape, mat2.shape)
    product = coo_mm(mat1, mat2)
    if isinstance(product, CooArray):
        if not isinstance(self, CooArray):
            raise RuntimeError("addmm: a strided self and a product of two sparse matrices")
        scaled = product.with_values(product.values * alpha)
        return add_coo(self.with_values(self.values * beta), scaled, 1)
    if isinstance(self, CooArray):
        raise RuntimeError(
            "addmm_sparse_dense: expected strided result tensor, got tensor with layout Sparse"
        )
    product = product * alpha if alpha != 1 else product
    return product + beta * np.broadcast_to(self, shape) if beta != 0 else product


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
    product = coo_mm(mat1, mat2)
    rows = np.unique(mat1.indices[0])
    return CooArray(rows.reshape(1, -1), product[rows], product.shape)


def coo_sspaddmm(self: CooArray, mat1: CooArray, mat2: Array, beta: Number, alpha: Number) -> CooArray:
    """``beta * self + alpha * mat1 @ mat2``: what ``self`` stores and the rows of the product."""
    shape = addmm_shape(self.shape, mat1.shape, mat2.shape)
    if self.shape != shape:
        raise RuntimeError(f"sspaddmm: self has the size {list(self.shape)}, the product {list(shape)}")
    product = coo_hspmm(mat1, mat2)
    rows = np.repeat(product.indices[0], shape[1])
    columns = np.tile(np.arange(shape[1]), product.nnz)
    indices = np.concatenate([self.indices, np.stack([rows, columns])], 1)
    own, added = self.values, product.values.reshape(-1)
    own = own if beta == 1 else (own * beta).astype(own.dtype)
    added = added if alpha == 1 else (added * alpha).astype(added.dtype)
    return CooArray(indices, np.concatenate([own, added]), shape)
