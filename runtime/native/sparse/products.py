"""Products that are alike for arrays of all sparse layouts: SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..dtypes import upcast
from ..matmul import linear_input_shape, linear_shape, mm_shape, mv_shape
from .array import Array, StoredArray


def scipy_matrix(self: Any) -> Any:
    """SciPy's matrix of a sparse matrix; a strided array as it is."""
    return self.scipy_matrix() if isinstance(self, StoredArray) else upcast(self)


def product(self: Any, mat2: Any, of_scipy: Callable[[Any, Any], StoredArray]) -> Any:
    """The product of matrices: strided, or what ``of_scipy`` makes of SciPy's where both are sparse."""
    mm_shape(self.shape, mat2.shape)
    dtype = self.values.dtype if isinstance(self, StoredArray) else self.dtype
    found = scipy_matrix(self) @ scipy_matrix(mat2)
    if isinstance(self, StoredArray) and isinstance(mat2, StoredArray):
        return of_scipy(found, dtype)
    return np.asarray(found).astype(dtype, copy=False)


def stored_mv(self: StoredArray, vec: Array) -> Array:
    """Matrix times vector."""
    mv_shape(self.shape, vec.shape)
    found: Array = np.asarray(scipy_matrix(self) @ upcast(vec))
    return found.astype(self.values.dtype, copy=False)


def stored_linear(input: Array, weight: StoredArray, bias: Array | None) -> Array:
    """``input @ weight.T + bias`` of a sparse matrix ``weight``."""
    shape = linear_shape(input.shape, weight.shape, None if bias is None else bias.shape)
    found = _by_rows(scipy_matrix(weight), input, weight.values.dtype).reshape(shape)
    return found if bias is None else found + bias


def stored_linear_input_backward(grad_output: Array, weight: StoredArray) -> Array:
    """``grad_output @ weight.conj()`` of a sparse matrix ``weight``."""
    shape = linear_input_shape(grad_output.shape, weight.shape)
    return _by_rows(scipy_matrix(weight).T.conj(), grad_output, weight.values.dtype).reshape(shape)


def _by_rows(matrix: Any, vectors: Array, dtype: Any) -> Array:
    """The products of a matrix and each of the vectors of the last dimension, as rows."""
    rows = vectors.reshape(prod(vectors.shape[:-1]), vectors.shape[-1])
    found: Array = np.asarray(matrix @ upcast(rows).T).T
    return found.astype(dtype, copy=False)
