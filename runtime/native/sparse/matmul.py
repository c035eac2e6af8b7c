"""Matrix products with arrays in coordinate format: SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..matmul import addmm_shape, bmm_shape, mm_shape
from .array import Array, CooArray
from .conversions import coo_coalesce
from .pointwise import add_coo
from .rows import widened

Number = bool | int | float | complex


def scipy_matrix(self: Any) -> Any:
    """SciPy's matrix of a two-dimensional array; a strided one as it is."""
    if not isinstance(self, CooArray):
        return widened(self)
    from scipy.sparse import csr_array

    if self.sparse_dim != 2 or self.dense_dim:
        raise RuntimeError(
            f"expected a sparse matrix with 2 sparse dimensions and no dense ones, but got {self.sparse_dim} "
            f"sparse and {self.dense_dim} dense dimensions"
        )
    return csr_array((widened(self.values), (self.indices[0], self.indices[1])), self.shape)  # type: ignore[arg-type]


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
    product: Array = np.asarray(scipy_matrix(self) @ widened(vec))
    return product.astype(self.values.dtype, copy=False)


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
