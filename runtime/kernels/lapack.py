"""LAPACK and BLAS over batches, through SciPy, which is imported when first needed.

NumPy has no LU factorisation or triangular solver, and raises for a whole batch where LAPACK
tells of each matrix whether it succeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know


def _lapack(name: str, dtype: np.dtype[Any]) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(name, dtype=dtype)


def _indices(array: Array) -> Iterator[tuple[int, ...]]:
    return np.ndindex(*array.shape[:-2])


def _factors(A: Array, count: int) -> tuple[Array, Array, Array]:
    """A copy to be factorized, room for ``count`` pivots of each matrix, and info, which is 0."""
    batch = A.shape[:-2]
    return np.array(A, order="C"), np.empty((*batch, count), np.int32), np.zeros(batch, np.int32)


def factor(A: Array) -> tuple[Array, Array, Array]:
    """``getrf`` of each matrix: LU in one matrix, row exchanges (int32, from 1), info (int32)."""
    k = min(A.shape[-2:])
    lu, pivots, info = _factors(A, k)
    if not lu.size:
        pivots[...] = np.arange(1, k + 1)
        return lu, pivots, info
    unknown = with_nan(A)
    getrf = _lapack("getrf", A.dtype)
    for i in _indices(lu):
        known = unknown is None or not unknown[i]
        lu[i], exchanges, info[i] = getrf(lu[i]) if known else _eliminated(lu[i])
        pivots[i] = exchanges + 1
    return lu, pivots, info


def with_nan(A: Array) -> Array | None:
    """Which matrices of a batch have a NaN; None where none has."""
    total = A.sum()
    return None if total == total else np.isnan(A).any((-2, -1))


def _eliminated(A: Array) -> tuple[Array, Array, int]:
    """``getrf`` of a matrix with NaN, which is larger than any other pivot: all that is behind it is NaN.

    Libraries differ there: they pass by a NaN, or do not divide by it, as the sizes are.
    """
    exchanges, info = np.arange(min(A.shape)), 0
    for k in exchanges:
        row = exchanges[k] = k + (np.abs(A[k:, k].real) + np.abs(A[k:, k].imag)).argmax()
        A[[k, row]] = A[[row, k]]
        pivot = A[k, k]
        if pivot == 0:
            info = info or k + 1
        else:
            A[k + 1 :, k] /= pivot
        A[k + 1 :, k + 1 :] -= A[k + 1 :, k, None] * A[k, k + 1 :]
        if pivot != pivot:
            break
    return A, exchanges, info


def keep_nan(A: Array, result: Array, info: Array) -> None:
    """Make NaN of all that is a result of a matrix with NaN; what ``info`` says of such is ``getrf``'s."""
    unknown = with_nan(A)
    if unknown is not None and unknown.any():
        result[np.broadcast_to(unknown, result.shape[:-2])] *= np.nan
        info[unknown] = factor(A[unknown])[2]


def solve(A: Array, B: Array) -> tuple[Array, Array]:
    """``A X = B`` for each pair of matrices, and ``getrf``'s info for each ``A``.

    ``A`` expands to the batch of ``B``. A singular matrix gives what dividing by its zero pivot
    gives, infinities and NaN.
    """
    lu, pivots, info = factor(A)
    batch = B.shape[:-2]
    lu = np.broadcast_to(lu, batch + lu.shape[-2:])
    return solve_factored(lu, np.broadcast_to(pivots, batch + pivots.shape[-1:]), B, False), info


def solve_factored(lu: Array, pivots: Array, B: Array, adjoint: bool) -> Array:
    """``A X = B``, or ``A^H X = B``, from the LU factorisation of ``A``: ``getrs``."""
    result = np.array(B, order="C")
    if not result.size:
        return result
    getrs = _lapack("getrs", lu.dtype)
    for i in _indices(result):
        result[i] = getrs(lu[i], pivots[i] - 1, result[i], trans=2 if adjoint else 0)[0]
    return result


def cholesky(A: Array) -> tuple[Array, Array]:
    """``potrf`` of each matrix's lower half: the factor, as far as it goes, and info."""
    result = np.array(A, order="C")
    info = np.zeros(A.shape[:-2], np.int32)
    potrf = _lapack("potrf", A.dtype)
    for i in _indices(result):
        result[i], info[i] = potrf(result[i], lower=1, clean=1)
    return result, info


def apply_to_batch(function: Callable[..., Array], result: Array, info: Array, *operands: Array) -> None:
    """Put into ``result`` what NumPy gives for those matrices of a batch for which it does.

    So the others, for which it raises, and which LAPACK was asked about, do not change the bits of these.
    """
    batch = result.shape[:-2]
    infos = np.broadcast_to(info, batch)
    matrices = [np.broadcast_to(a, batch + a.shape[-2:]) for a in operands]
    for i in np.ndindex(*batch):
        if infos[i] == 0:
            with suppress(np.linalg.LinAlgError):
                result[i] = function(*[a[i] for a in matrices])


def solve_triangular(A: Array, B: Array, upper: bool, unitriangular: bool) -> Array:
    """``A X = B`` by substitution: ``trsm``, which divides by a zero on the diagonal if there is one."""
    result = np.array(B, order="C")
    if not result.size:
        return result
    from scipy.linalg import get_blas_funcs

    trsm = get_blas_funcs("trsm", dtype=A.dtype)
    for i in _indices(result):
        result[i] = trsm(1, A[i], result[i], lower=not upper, diag=unitriangular)
    return result


def householder(A: Array) -> tuple[Array, Array]:
    """``geqrf`` of each matrix: R with the vectors of the reflectors below it, and their factors."""
    batch, k = A.shape[:-2], min(A.shape[-2:])
    result = np.array(A, order="C")
    tau = np.empty((*batch, k), A.dtype)
    if not tau.size:
        return result, tau
    geqrf = _lapack("geqrf", A.dtype)
    size = int(_lapack("geqrf_lwork", A.dtype)(*A.shape[-2:])[0].real)
    for i in _indices(result):
        result[i], tau[i], _, _ = geqrf(result[i], lwork=size)
    return result, tau


def factor_symmetric(A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """``sytrf``, or ``hetrf``, of each matrix's lower half: LD in one matrix, pivots and info (int32)."""
    n = A.shape[-1]
    result, pivots, info = _factors(A, n)
    if not result.size:
        return result, pivots, info
    unknown = with_nan(A)
    name = "hetrf" if hermitian and A.dtype.kind == "c" else "sytrf"
    function = _lapack(name, A.dtype)
    size = int(_lapack(f"{name}_lwork", A.dtype)(n, lower=1)[0].real)
    for i in _indices(result):
        factors, pivots[i], info[i] = function(result[i], lower=1, lwork=size)
        found = np.tril(factors)
        first = np.isnan(found).any(0).argmax() if unknown is not None and unknown[i] else n
        found[first:, first:] *= np.nan  # LAPACK goes on without such a column
        result[i] = np.tril(found)
    return result, pivots, info
