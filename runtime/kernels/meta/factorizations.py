"""Shapes of factorizations as LAPACK packs them."""

from __future__ import annotations

import numpy as np

from ..factorizations import check_lu_unpack, ldl_shape
from ..linalg_checks import check_matrices, check_square
from .array import MetaArray

INFO = np.dtype(np.int32)


def meta_geqrf(self: MetaArray) -> tuple[MetaArray, MetaArray]:
    batch = check_matrices(self.shape, "input")
    return MetaArray(self.shape, self.dtype), MetaArray((*batch, min(self.shape[-2:])), self.dtype)


def meta_lu_unpack(
    LU_data: MetaArray, LU_pivots: MetaArray, unpack_data: bool, unpack_pivots: bool
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_lu_unpack(LU_data.shape, LU_pivots.shape, LU_pivots.dtype, unpack_pivots)
    *batch, m, n = LU_data.shape
    k = min(m, n)
    permutation = (*batch, m, m) if unpack_pivots else (0,)
    lower, upper = ((*batch, m, k), (*batch, k, n)) if unpack_data else ((0,), (0,))
    return tuple(MetaArray(shape, LU_data.dtype) for shape in (permutation, lower, upper))  # type: ignore[return-value]


def meta_linalg_ldl_factor_ex(self: MetaArray) -> tuple[MetaArray, MetaArray, MetaArray]:
    batch = check_square(self.shape)
    return MetaArray(self.shape, self.dtype), MetaArray(self.shape[:-1], INFO), MetaArray(batch, INFO)


def meta_linalg_ldl_solve(LD: MetaArray, pivots: MetaArray, B: MetaArray) -> MetaArray:
    return MetaArray(ldl_shape(LD.shape, pivots.shape, pivots.dtype, B.shape), B.dtype)
