"""Shapes of inverses, decompositions and norms on the Meta device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..decompositions import check_lu, lu_solve_shapes
from ..linalg import check_norm, pinv_shape
from ..linalg_checks import (
    check_driver,
    check_matrices,
    check_qr_mode,
    check_square,
    check_uplo,
    solve_shape,
    triangular_shapes,
)
from ..lstsq import lstsq_shape
from .array import MetaArray
from .common import meta_reduced

Number = bool | int | float | complex
INFO = np.dtype(np.int32)


def _like(self: MetaArray) -> MetaArray:
    return MetaArray(self.shape, self.dtype)


def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def meta_square_and_info(self: MetaArray) -> tuple[MetaArray, MetaArray]:
    """A matrix of the same shape, and what LAPACK says of each."""
    return _like(self), MetaArray(check_square(self.shape), INFO)


def meta_linalg_solve_ex(A: MetaArray, B: MetaArray, left: bool) -> tuple[MetaArray, MetaArray]:
    return MetaArray(solve_shape(A.shape, B.shape, left), B.dtype), MetaArray(A.shape[:-2], INFO)


def meta_linalg_solve_triangular(A: MetaArray, B: MetaArray, left: bool) -> MetaArray:
    return MetaArray(triangular_shapes(A.shape, B.shape, left)[1], B.dtype)


def meta_linalg_det(A: MetaArray) -> MetaArray:
    return MetaArray(check_square(A.shape), A.dtype)


def meta_linalg_slogdet(A: MetaArray) -> tuple[MetaArray, MetaArray]:
    batch = check_square(A.shape)
    return MetaArray(batch, A.dtype), MetaArray(batch, _real(A.dtype))


def meta_linalg_matrix_exp(self: MetaArray) -> MetaArray:
    check_square(self.shape)
    return _like(self)


def meta_linalg_pinv(self: MetaArray, hermitian: bool) -> MetaArray:
    return MetaArray(pinv_shape(self.shape, hermitian), self.dtype)


def meta_linalg_lstsq(
    self: MetaArray, b: MetaArray, rcond: float | None, driver: str | None
) -> tuple[MetaArray, MetaArray, MetaArray, MetaArray]:
    """As if the matrices had full rank, which their data would have to tell."""
    batch, matrices, driver = lstsq_shape(self.shape, b.shape, driver)
    m, n = self.shape[-2:]
    k = matrices[-1]
    real = _real(self.dtype)
    residuals = (*batch, k) if m > n and driver != "gelsy" else (0,)
    return (
        MetaArray((*batch, n) if len(matrices) != b.ndim else (*batch, n, k), self.dtype),
        MetaArray(residuals, real),
        MetaArray((0,) if driver == "gels" else batch, np.dtype(np.int64)),
        MetaArray((*batch, min(m, n)) if driver in ("gelsd", "gelss") else (0,), real),
    )


def meta_linalg_vector_norm(
    self: MetaArray, ord: Number, dim: Sequence[int] | None, keepdim: bool, dtype: np.dtype[Any] | None
) -> MetaArray:
    result = check_norm(self.shape, self.dtype, ord, dim, dtype)[1]
    return meta_reduced(self, dim, keepdim, result)


def meta_linalg_qr(A: MetaArray, mode: str) -> tuple[MetaArray, MetaArray]:
    batch = check_matrices(A.shape)
    check_qr_mode(mode)
    m, n = A.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    q = (0,) if mode == "r" else (*batch, m, k)
    return MetaArray(q, A.dtype), MetaArray((*batch, k, n), A.dtype)


def meta_linalg_eigh(A: MetaArray, UPLO: str, compute_v: bool) -> tuple[MetaArray, MetaArray]:
    check_square(A.shape)
    check_uplo(UPLO)
    return MetaArray(A.shape[:-1], _real(A.dtype)), MetaArray(A.shape if compute_v else (0,), A.dtype)


def meta_linalg_eig(self: MetaArray) -> tuple[MetaArray, MetaArray]:
    check_square(self.shape)
    dtype = np.result_type(self.dtype, np.complex64)
    return MetaArray(self.shape[:-1], dtype), MetaArray(self.shape, dtype)


def meta_linalg_svd(
    A: MetaArray, full_matrices: bool, compute_uv: bool, driver: str | None
) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_driver(driver)
    batch = check_matrices(A.shape)
    m, n = A.shape[-2:]
    k = min(m, n)
    s = MetaArray((*batch, k), _real(A.dtype))
    if not compute_uv:
        return MetaArray((0,), A.dtype), s, MetaArray((0,), A.dtype)
    u = MetaArray((*batch, m, m if full_matrices else k), A.dtype)
    return u, s, MetaArray((*batch, n if full_matrices else k, n), A.dtype)


def meta_linalg_lu_factor_ex(A: MetaArray, pivot: bool) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_lu(A.shape, pivot)
    batch, k = A.shape[:-2], min(A.shape[-2:])
    return _like(A), MetaArray((*batch, k), INFO), MetaArray(batch, INFO)


def meta_linalg_lu(A: MetaArray, pivot: bool) -> tuple[MetaArray, MetaArray, MetaArray]:
    check_lu(A.shape, pivot)
    batch = A.shape[:-2]
    m, n = A.shape[-2:]
    k = min(m, n)
    return (
        MetaArray((*batch, m, m), A.dtype),
        MetaArray((*batch, m, k), A.dtype),
        MetaArray((*batch, k, n), A.dtype),
    )


def meta_linalg_lu_solve(LU: MetaArray, pivots: MetaArray, B: MetaArray, left: bool) -> MetaArray:
    return MetaArray(lu_solve_shapes(LU.shape, pivots.shape, B.shape, left)[1], B.dtype)
