"""Decompositions of batches of matrices: Cholesky, QR, LU, eigenvalues, singular values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from . import lapack
from .linalg_checks import (
    NOT_POSITIVE,
    ZERO_PIVOT,
    LinAlgError,
    check_driver,
    check_info,
    check_matrices,
    check_pivots_shape,
    check_qr_mode,
    check_square,
    check_uplo,
    triangular_shapes,
)

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Shape = tuple[int, ...]


def _transposed(A: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return A.conj().swapaxes(-1, -2)


def linalg_cholesky_ex(self: Array, upper: bool, check_errors: bool) -> tuple[Array, Array]:
    """``L`` with ``L L^H = A`` (``U`` with ``U^H U = A``), and 0 or the order of the first bad minor.

    Only the named half of ``A`` is read.
    """
    info = np.zeros(check_square(self.shape), np.int32)
    lower = _transposed(self) if upper else self
    factor = None
    with suppress(np.linalg.LinAlgError):
        factor = np.linalg.cholesky(lower)
    if factor is None:
        factor, info = lapack.cholesky(lower)
        lapack.apply_to_batch(np.linalg.cholesky, factor, info, lower)
    elif np.isnan(factor.sum()):  # LAPACK lets a NaN pass
        bad = np.isnan(factor.diagonal(0, -2, -1))
        info = np.where(bad.any(-1), bad.argmax(-1) + 1, 0).astype(np.int32)
    if check_errors:
        check_info(info, "", NOT_POSITIVE)
    return _transposed(factor) if upper else factor, info


def linalg_qr(A: Array, mode: Any) -> tuple[Array, Array]:
    """``Q`` with orthonormal columns and the upper triangle ``R`` with ``Q R = A``; no ``Q`` in mode r."""
    check_matrices(A.shape)
    if check_qr_mode(mode) == "r":
        return np.empty(0, A.dtype), np.linalg.qr(A, "r")
    q, r = np.linalg.qr(A, mode)
    return q, r


def linalg_eigh(A: Array, UPLO: str, compute_v: bool) -> tuple[Array, Array]:
    """The eigenvalues, ascending, and the eigenvectors, as columns, of Hermitian matrices. RuntimeError for
    matrices that are not square; LinAlgError where LAPACK does not converge."""
    check_square(A.shape)
    half: Any = check_uplo(UPLO)
    try:
        if compute_v:
            values, vectors = np.linalg.eigh(A, half)
            return values, vectors
        return np.linalg.eigvalsh(A, half), np.empty(0, A.dtype)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
            "repeated eigenvalues."
        ) from None


def linalg_eig(self: Array) -> tuple[Array, Array]:
    """The eigenvalues and the eigenvectors, as columns, complex, in no particular order. RuntimeError for
    infinities, NaN and matrices that are not square; LinAlgError where LAPACK does not converge."""
    check_square(self.shape)
    if not np.isfinite(self).all():
        raise RuntimeError("input tensor should not contain infs or NaNs.")
    kind = np.result_type(self.dtype, np.complex64)
    try:
        values, vectors = np.linalg.eig(self)
    except np.linalg.LinAlgError:
        raise LinAlgError("The algorithm failed to converge: too many repeated eigenvalues.") from None
    return values.astype(kind, copy=False), vectors.astype(kind, copy=False)


def linalg_svd(
    A: Array, full_matrices: bool, compute_uv: bool, driver: str | None
) -> tuple[Array, Array, Array]:
    """``U``, ``S`` (descending) and ``Vh`` with ``U diag(S) Vh = A``; without ``compute_uv`` only ``S``.
    LinAlgError where LAPACK does not converge, which tells NaN and infinities from other reasons."""
    check_driver(driver)
    check_matrices(A.shape)
    try:
        if compute_uv:
            u, s, vh = np.linalg.svd(A, full_matrices)
            return u, s, vh
        return np.empty(0, A.dtype), np.linalg.svd(A, compute_uv=False), np.empty(0, A.dtype)
    except np.linalg.LinAlgError:
        why = (
            "is ill-conditioned or has too many repeated singular values."
            if np.isfinite(A).all()
            else "contained non-finite values."
        )
        raise LinAlgError(f"The algorithm failed to converge because the input matrix {why}") from None


# ------------------------------------------------------------------------------------- LU


def linalg_lu_factor_ex(A: Array, pivot: bool, check_errors: bool) -> tuple[Array, Array, Array]:
    """``L`` (without its diagonal of ones) and ``U`` in one matrix, row exchanges from 1, and info."""
    check_lu(A.shape, pivot)
    lu, pivots, info = lapack.factor(A)
    if check_errors:
        check_info(info, "", ZERO_PIVOT)
    return lu, pivots, info


def linalg_lu(A: Array, pivot: bool) -> tuple[Array, Array, Array]:
    """The permutation ``P``, the unit lower ``L`` and the upper ``U`` with ``P L U = A``."""
    check_lu(A.shape, pivot)
    lu, pivots, _ = lapack.factor(A)
    m, n = A.shape[-2:]
    k = min(m, n)
    lower = np.tril(lu[..., :, :k], -1) + np.eye(m, k, dtype=A.dtype)
    return lu_permutation(pivots, m, A.dtype), lower, np.triu(lu[..., :k, :])


def lu_permutation(pivots: Array, rows: int, dtype: np.dtype[Any]) -> Array:
    """The matrix ``P`` that the row exchanges make, with ``P L U = A``."""
    order = np.empty((*pivots.shape[:-1], rows), np.int64)
    order[...] = np.arange(rows)
    for i in np.ndindex(*pivots.shape[:-1]):
        for row, other in enumerate(pivots[i] - 1):
            order[i][[row, other]] = order[i][[other, row]]
    # Row j of L U is row order[j] of A: column j of P has its one there.
    return (order[..., None, :] == np.arange(rows)[:, None]).astype(dtype)


def linalg_lu_solve(LU: Array, pivots: Array, B: Array, left: bool, adjoint: bool) -> Array:
    """``A X = B`` (``X A = B``, ``A^H X = B``) from the LU factorisation of ``A``."""
    a_shape, b_shape = lu_solve_shapes(LU.shape, pivots.shape, B.shape, left)
    LU = np.broadcast_to(LU, a_shape)
    pivots = np.broadcast_to(pivots, a_shape[:-1])
    B = np.broadcast_to(B, b_shape)
    check_pivots(pivots, LU.shape[-1])
    if left:
        return lapack.solve_factored(LU, pivots, B, adjoint)
    # X A = B is A^H X^H = B^H
    return _transposed(lapack.solve_factored(LU, pivots, _transposed(B), not adjoint))


def lu_solve_shapes(LU: Shape, pivots: Shape, B: Shape, left: bool) -> tuple[Shape, Shape]:
    """``LU`` and ``B`` broadcast to one batch; RuntimeError for what does not fit."""
    shapes = triangular_shapes(LU, B, left)
    check_pivots_shape("LU", LU, pivots)
    return shapes


def check_pivots(pivots: Array, rows: int) -> None:
    """RuntimeError for a row that there is not: LAPACK would exchange what is not the matrix's."""
    wrong = (pivots < 1) | (pivots > rows)
    if wrong.any():
        raise RuntimeError(
            f"pivots must be between 1 and {rows}, the size of LU, as lu_factor returns them, but one is "
            f"{pivots[wrong][0]}"
        )


def check_lu(shape: tuple[int, ...], pivot: bool) -> None:
    """RuntimeError for less than two dimensions, and without pivoting, which LAPACK does not offer."""
    if len(shape) < 2:
        raise RuntimeError(f"Expected tensor with 2 or more dimensions. Got size: {list(shape)} instead")
    if not pivot:
        raise RuntimeError("LU without pivoting is not implemented on the CPU")
