"""Matrix products with arrays in compressed formats: SciPy's."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...core.memory_format import CONSTANTS, sparse_csr
from ..dtypes import upcast
from ..matmul import addmm_shape, bmm_shape, mm_shape
from ..sparse.array import Array, StoredArray
from ..sparse.matmul import scipy_matrix as scipy_coo
from .array import CompressedArray, layout_of
from .conversions import compressed_to_coo, elements, gathered, to_layout
from .pointwise import compressed_add, compressed_conj
from .shape import compressed_t

Number = bool | int | float | complex


def scipy_matrix(self: Any) -> Any:
    """SciPy's matrix of a matrix; a strided one as it is."""
    if not isinstance(self, CompressedArray):
        return upcast(self)
    from scipy.sparse import bsr_array, csc_array, csr_array

    if self.ndim != 2:
        raise RuntimeError(f"expected a sparse matrix, but got a tensor of size {list(self.shape)}")
    if self.blocked and not self.by_rows:
        return scipy_coo(compressed_to_coo(self))
    made = bsr_array if self.blocked else csr_array if self.by_rows else csc_array
    return made((upcast(self.values), self.plain, self.compressed), self.shape)  # type: ignore[arg-type]


def _of_scipy(product: Any, dtype: np.dtype[Any], layout: str) -> CompressedArray:
    found = product.tocoo()
    row, column = found.row.astype(np.int64), found.col.astype(np.int64)
    values = found.data.astype(dtype, copy=False)
    return gathered((np.zeros_like(row), row, column), values, product.shape, 0, layout, (1, 1))


def _stored_dtype(self: Any) -> Any:
    return self.values.dtype if isinstance(self, StoredArray) else self.dtype


def compressed_sparse_matmul(self: CompressedArray, mat2: CompressedArray) -> Any:
    """The product, of which columns are compressed where they are in both, else rows."""
    return _product(self, mat2, layout_of(self.by_rows or mat2.by_rows, False))


def compressed_mm(self: Any, mat2: Any) -> Any:
    """The product of matrices: in compressed rows where both are in a compressed format, else strided."""
    return _product(self, mat2, sparse_csr.name)


def _product(self: Any, mat2: Any, layout: str) -> Any:
    mm_shape(self.shape, mat2.shape)
    dtype = _stored_dtype(self)
    product = scipy_matrix(self) @ scipy_matrix(mat2)
    if isinstance(self, CompressedArray) and isinstance(mat2, CompressedArray):
        return _of_scipy(product, dtype, layout)
    return np.asarray(product).astype(dtype, copy=False)


def compressed_mv(self: CompressedArray, vec: Array) -> Array:
    """Matrix times vector."""
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, but got {self.ndim} and {vec.ndim}")
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"mv: expected self.size(-1) == vec.size(-1), got {self.shape[1]} and {vec.shape[0]}"
        )
    product: Array = np.asarray(scipy_matrix(self) @ upcast(vec))
    return product.astype(self.values.dtype, copy=False)


def compressed_linear(input: Array, weight: CompressedArray, bias: Array | None) -> Array:
    """``input @ weight.T + bias`` of a sparse matrix ``weight``."""
    if input.ndim < 1 or weight.ndim != 2 or input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"linear: an input of size {list(input.shape)} does not fit to a weight of size "
            f"{list(weight.shape)}"
        )
    rows = input.reshape(-1, input.shape[-1])
    product: Array = compressed_mm(weight, rows.T).T.reshape(*input.shape[:-1], weight.shape[0])
    return product if bias is None else product + bias


def compressed_linear_input_backward(grad_output: Array, weight: CompressedArray) -> Array:
    """``grad_output @ weight.conj()`` of a sparse matrix ``weight``."""
    rows = grad_output.reshape(-1, grad_output.shape[-1])
    product = compressed_mm(compressed_conj(compressed_t(weight)), rows.T).T
    found: Array = product.reshape(*grad_output.shape[:-1], weight.shape[1])
    return found


def compressed_addmm(self: Any, mat1: Any, mat2: Any, beta: Number, alpha: Number) -> Any:
    """``beta * self + alpha * mat1 @ mat2``: in the layout of ``self``."""
    shape = addmm_shape(self.shape, mat1.shape, mat2.shape)
    product = compressed_mm(mat1, mat2)
    if isinstance(product, CompressedArray):
        product = product.with_values(product.values * alpha)
        if isinstance(self, CompressedArray):
            same = _in_layout_of(self, product)
            return compressed_add(self.with_values(self.values * beta), same, 1)
        return compressed_add(np.broadcast_to(beta * self, shape), product, 1)
    if isinstance(self, CompressedArray):
        raise RuntimeError(
            f"addmm: expected strided self for a strided product, got a tensor with layout {self.layout}"
        )
    product = product * alpha if alpha != 1 else product
    return product + beta * np.broadcast_to(self, shape) if beta != 0 else product


def _in_layout_of(self: CompressedArray, product: CompressedArray) -> Any:
    return to_layout(product, CONSTANTS[self.layout], self.blocksize, None)


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
    """``alpha * mat1 @ mat2`` where ``self`` stores elements, plus ``beta * self``; of batches, too."""
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
    rows = mat1.reshape(batches, -1, inner)
    columns = mat2.reshape(batches, inner, -1).swapaxes(1, 2)
    found = np.empty(len(stored), np.result_type(mat1, mat2))
    step = max(1, 2**16 // max(inner, 1))
    for start in range(0, len(stored), step):
        part = slice(start, start + step)
        b = batch[part]
        found[part] = np.einsum("ij,ij->i", rows[b, row[part]], columns[b, column[part]])
    return found.reshape(self.values.shape)
