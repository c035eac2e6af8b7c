"""Factorizations as LAPACK packs them: Householder's of QR, LDL of symmetric matrices, the parts of LU."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import lapack
from .decompositions import lu_permutation
from .linalg_checks import broadcast_batches, check_info, check_matrices, check_pivots_shape, check_square

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Shape = tuple[int, ...]

ZERO_BLOCK = (
    "The factorization could not be completed because the diagonal element {info} of D is zero, so that the "
    "input matrix is singular."
)


def geqrf(self: Array) -> tuple[Array, Array]:
    """R with the vectors of Householder's reflectors below its diagonal, and the reflectors' factors."""
    check_matrices(self.shape, "input")
    return lapack.householder(self)


# ------------------------------------------------------------------------------------- LU


def lu_unpack(LU_data: Array, LU_pivots: Array, unpack_data: bool, unpack_pivots: bool) -> tuple[Array, ...]:
    """``P``, ``L`` and ``U`` of an LU factorization in one matrix; what is not asked for is empty.
    RuntimeError for pivots that name no row, or have another shape or dtype than ``lu_factor`` gives."""
    check_lu_unpack(LU_data.shape, LU_pivots.shape, LU_pivots.dtype, unpack_pivots)
    rows, k = LU_data.shape[-2], min(LU_data.shape[-2:])
    permutation = lower = upper = np.empty(0, LU_data.dtype)
    if unpack_pivots:
        if ((LU_pivots < 1) | (LU_pivots > rows)).any():
            raise RuntimeError(
                f"LU_pivots must be between 1 and {rows}, the rows of LU_data, as lu_factor returns them"
            )
        permutation = lu_permutation(LU_pivots, rows, LU_data.dtype)
    if unpack_data:
        lower = np.tril(LU_data[..., :k], -1) + np.eye(rows, k, dtype=LU_data.dtype)
        upper = np.triu(LU_data[..., :k, :])
    return permutation, lower, upper


def check_lu_unpack(shape: Shape, pivots: Shape, dtype: np.dtype[Any], unpack_pivots: bool) -> None:
    """RuntimeError for less than two dimensions, and for pivots that are not the matrices' own."""
    if len(shape) < 2:
        raise RuntimeError(f"LU_data must have 2 or more dimensions, but its shape is {list(shape)}")
    if not unpack_pivots:
        return
    if dtype != np.int32:
        raise RuntimeError(f"LU_pivots must be of dtype int32, as lu_factor returns them, but it is {dtype}")
    if pivots != (*shape[:-2], min(shape[-2:])):
        raise RuntimeError(
            f"LU_pivots must have the shape {[*shape[:-2], min(shape[-2:])]} for LU_data of the shape "
            f"{list(shape)}, but it has {list(pivots)}"
        )


# ------------------------------------------------------------------------------------ LDL


def linalg_ldl_factor_ex(self: Array, hermitian: bool, check_errors: bool) -> tuple[Array, Array, Array]:
    """``L`` and ``D`` in one matrix, the exchanges, and 0 or the position of a zero in ``D``, from 1.

    Only the lower half is read.
    """
    check_square(self.shape)
    factors, pivots, info = lapack.factor_symmetric(self, hermitian)
    if check_errors:
        check_info(info, "", ZERO_BLOCK)
    return factors, pivots, info


def linalg_ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """``A X = B`` from the LDL factorization of ``A``, with batches that broadcast."""
    shape = ldl_shape(LD.shape, pivots.shape, pivots.dtype, B.shape)
    result = np.array(np.broadcast_to(B, shape), order="C")
    if not result.size:
        return result
    adjoint = hermitian and LD.dtype.kind == "c"
    LD = np.broadcast_to(LD, shape[:-2] + LD.shape[-2:])
    pivots = np.broadcast_to(pivots, shape[:-2] + pivots.shape[-1:])
    for i in np.ndindex(*shape[:-2]):
        result[i] = _solve_ldl(LD[i], pivots[i], result[i], adjoint)
    return result


def _solve_ldl(LD: Array, pivots: Array, B: Array, adjoint: bool) -> Array:
    """One system, by ``A[order][:, order] = L D L^T`` (``L^H`` with ``adjoint``)."""
    lower, order, first = _unpacked(LD, pivots)
    result = lapack.solve_triangular(lower, B[order], upper=False, unitriangular=True)
    diagonal = LD.diagonal().real.astype(LD.dtype) if adjoint else LD.diagonal()
    single = np.ones(len(order), bool)
    single[first] = single[first + 1] = False
    result[single] /= diagonal[single, None]
    a, d, below = diagonal[first, None], diagonal[first + 1, None], LD[first + 1, first][:, None]
    above = below.conj() if adjoint else below
    # Of [[a, above], [below, d]]; a 2 by 2 block is there because its own diagonal is small beside below.
    x, y = result[first] / above, result[first + 1] / below
    p, q = d / below, a / above
    scale = p * q - 1
    result[first], result[first + 1] = (p * x - y) / scale, (q * y - x) / scale
    upper = lower.conj().T if adjoint else lower.T
    solved = np.empty_like(result)
    solved[order] = lapack.solve_triangular(upper, result, upper=True, unitriangular=True)
    return solved


def _unpacked(LD: Array, pivots: Array) -> tuple[Array, Array, Array]:
    """``L``, the order of the rows, and where the blocks of two begin.

    LAPACK leaves the columns of ``L`` as they were before later exchanges, which are made up for here.
    """
    n = len(pivots)
    lower, order, first = np.tril(LD, -1), np.arange(n), []
    k = 0
    while k < n:
        pivot = int(pivots[k])
        row, other = k + (pivot < 0), abs(pivot) - 1
        if not 0 <= other < n or row >= n:
            raise RuntimeError(f"pivots must be those that ldl_factor returns, but one is {pivot}")
        if pivot < 0:  # a block of two, whose second row was exchanged
            first.append(k)
            lower[row, k] = 0
        lower[[row, other], :k] = lower[[other, row], :k]
        order[[row, other]] = order[[other, row]]
        k = row + 1
    return lower, order, np.array(first, np.intp)


def ldl_shape(LD: Shape, pivots: Shape, dtype: np.dtype[Any], B: Shape) -> Shape:
    """The shape of the solution; RuntimeError for what does not fit."""
    check_square(LD, "LD")
    check_matrices(B, "B")
    if LD[-1] != B[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes: each LD matrix is {LD[-1]} by {LD[-1]} but each B matrix is "
            f"{B[-2]} by {B[-1]}"
        )
    check_pivots_shape("LD", LD, pivots)
    if dtype.kind not in "iu":
        raise RuntimeError(f"Expected pivots to be integers. Got {dtype}")
    return broadcast_batches(LD[:-2], B[:-2]) + B[-2:]
