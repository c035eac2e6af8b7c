"""Systems of equations of matrices in compressed formats: SciPy's."""

from __future__ import annotations

from math import prod

import numpy as np

from ..linalg import linalg_solve_triangular
from ..linalg_checks import triangular_shapes
from ..reduced import upcast
from ..sparse.array import Array
from .array import CompressedArray


def compressed_solve_triangular(
    self: CompressedArray, B: Array, upper: bool, left: bool, unitriangular: bool
) -> Array:
    """``X`` with ``self X = B`` or ``X self = B`` for a triangle of a sparse matrix, or of one of each batch.

    A matrix that is singular gives what the strided one does: numbers that are infinite, or none.
    """
    a_shape, b_shape = triangular_shapes(self.shape, B.shape, left)
    matrices = _matrices(self)
    count = prod(b_shape[:-2])
    places = np.broadcast_to(np.arange(len(matrices)).reshape(self.batch_shape), a_shape[:-2]).reshape(-1)
    right = np.broadcast_to(B, b_shape).reshape(count, *b_shape[-2:])
    solved = np.empty((count, *b_shape[-2:]), B.dtype)
    for i, place in enumerate(places):
        solved[i] = _solved(matrices[place], right[i], upper, left, unitriangular)
    return solved.reshape(b_shape)


def _solved(self: CompressedArray, B: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    from scipy.sparse import eye_array, tril, triu
    from scipy.sparse.linalg import spsolve_triangular

    matrix = self.scipy_matrix()
    if not left:
        matrix, B, upper = matrix.T, B.T, not upper
    diagonal = matrix.diagonal()
    found: Array
    if not unitriangular and not diagonal.all():
        dense = matrix.toarray().astype(B.dtype, copy=False)
        found = linalg_solve_triangular(dense, B, upper, True, False)
    else:
        start = 1 if unitriangular else 0
        part = triu(matrix, start, format="csr") if upper else tril(matrix, -start, format="csr")
        if unitriangular:
            part = (part + eye_array(part.shape[0], dtype=part.dtype)).tocsr()
        found = spsolve_triangular(part, upcast(B), lower=not upper, unit_diagonal=unitriangular)
    return found if left else found.T


def _matrices(self: CompressedArray) -> list[CompressedArray]:
    """The matrices of all batches."""
    count, lead = prod(self.batch_shape), self.batch_dim
    rows = [a.reshape(count, *a.shape[lead:]) for a in (self.compressed, self.plain, self.values)]
    each = zip(*rows, strict=True)
    return [CompressedArray(c, p, v, self.shape[lead:], self.layout) for c, p, v in each]
