"""Products that are alike for arrays of all sparse layouts: SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..contractions import accumulate
from ..matmul import addmv_shape, linear_input_shape, linear_shape, mm_shape, mv_shape
from ..reduced import upcast
from .array import Array, StoredArray

Number = bool | int | float | complex


def scipy_matrix(self: Any) -> Any:
    """SciPy's matrix of a sparse matrix; a strided array as it is."""
    return self.scipy_matrix() if isinstance(self, StoredArray) else upcast(self)


OfScipy = Callable[[Any, Any], StoredArray]


def product(self: Any, mat2: Any, of_scipy: OfScipy) -> Any:
    """The product of matrices: strided, or what ``of_scipy`` makes of SciPy's where both are sparse."""
    mm_shape(self.shape, mat2.shape)
    return _of_product(scipy_matrix(self) @ scipy_matrix(mat2), self, mat2, of_scipy)


def _of_product(found: Any, a: Any, b: Any, of_scipy: OfScipy) -> Any:
    """The product of ``a`` and ``b`` that SciPy found, in the dtype of the first."""
    dtype = a.values.dtype if isinstance(a, StoredArray) else a.dtype
    if isinstance(a, StoredArray) and isinstance(b, StoredArray):
        return of_scipy(found, dtype)
    return np.asarray(found).astype(dtype, copy=False)


def stored_mv(self: StoredArray, vec: Array) -> Array:
    """Matrix times vector."""
    mv_shape(self.shape, vec.shape)
    found: Array = np.asarray(scipy_matrix(self) @ upcast(vec))
    return found.astype(self.values.dtype, copy=False)


def stored_addmv(self: Array, mat: StoredArray, vec: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * mat @ vec`` of a sparse matrix ``mat``."""
    shape = addmv_shape(self.shape, mat.shape, vec.shape)
    found: Array = accumulate(self, stored_mv(mat, vec), shape, beta, alpha)
    return found


def stored_linear(input: Any, weight: Any, bias: Array | None, of_scipy: OfScipy) -> Any:
    """``input @ weight.T + bias``, of which one or both factors are sparse matrices.

    The result is strided, but of two sparse factors without ``bias`` what ``of_scipy`` makes of SciPy's.
    """
    shape = linear_shape(input.shape, weight.shape, None if bias is None else bias.shape)
    if not isinstance(input, StoredArray):
        found = _by_rows(scipy_matrix(weight), input, weight.values.dtype).reshape(shape)
        return found if bias is None else found + bias
    product = scipy_matrix(input) @ scipy_matrix(weight).T
    if bias is None:
        return _of_product(product, input, weight, of_scipy)
    strided: Array = product.toarray() if isinstance(weight, StoredArray) else np.asarray(product)
    return (strided + upcast(bias)).astype(input.values.dtype, copy=False)


def stored_linear_input_backward(grad_output: Any, weight: StoredArray, of_scipy: OfScipy) -> Any:
    """``grad_output @ weight.conj()`` of a sparse matrix ``weight``."""
    shape = linear_input_shape(grad_output.shape, weight.shape)
    if isinstance(grad_output, StoredArray):
        found = scipy_matrix(grad_output) @ scipy_matrix(weight).conj()
        return _of_product(found, grad_output, weight, of_scipy)
    return _by_rows(scipy_matrix(weight).T.conj(), grad_output, weight.values.dtype).reshape(shape)


def stored_linear_weight_backward(grad_output: Any, input: StoredArray, of_scipy: OfScipy) -> Any:
    """``grad_output.T @ input.conj()`` of a sparse matrix ``input``."""
    if isinstance(grad_output, StoredArray):
        found = scipy_matrix(grad_output).T @ scipy_matrix(input).conj()
        return _of_product(found, grad_output, input, of_scipy)
    turned: Array = np.asarray(scipy_matrix(input).conj().T @ upcast(grad_output)).T
    return turned.astype(grad_output.dtype, copy=False)


def _by_rows(matrix: Any, vectors: Array, dtype: Any) -> Array:
    """The products of a matrix and each of the vectors of the last dimension, as rows."""
    rows = vectors.reshape(prod(vectors.shape[:-1]), vectors.shape[-1])
    found: Array = np.asarray(matrix @ upcast(rows).T).T
    return found.astype(dtype, copy=False)
