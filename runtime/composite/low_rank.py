"""Decompositions of matrices of low rank from their products with a few random vectors.

Halko, Martinsson and Tropp, Finding structure with randomness, SIAM Review 53 (2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``U``, ``S`` and ``V`` with ``U diag(S) V^H`` near ``A``, or ``A - M``, and ``q`` singular values.
    RuntimeError for less than two dimensions."""
    count, steps = 6 if q is None else q, 2 if niter is None else niter
    if A.ndim < 2:
        raise RuntimeError(f"svd_lowrank: A must have at least 2 dimensions, but it has {A.ndim}")
    wide = A.shape[-2] < A.shape[-1]
    if M is not None:
        A = A - M.broadcast_to(A.shape)
    if wide:
        A = A.adjoint()
    basis = _range(A, count, steps)
    u, s, vh = F.linalg_svd(basis.adjoint().matmul(A), False)
    left, right = basis.matmul(u), vh.adjoint()
    return (right, s, left) if wide else (left, s, right)


def _range(A: Tensor, q: int, niter: int) -> Tensor:
    """An orthonormal basis of ``q`` columns for about what the products by ``A`` span (algorithm 4.4)."""
    basis: Tensor = F.linalg_qr(A.matmul(F.randn((A.shape[-1], q), dtype=A.dtype, device=A.device)))[0]
    for _ in range(niter):
        for matrix in (A.adjoint(), A):
            basis = F.linalg_qr(matrix.matmul(basis))[0]
    return basis


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition of ``A`` less the mean of its rows, as ``svd_lowrank`` makes it.
    RuntimeError for less than two dimensions, ValueError for integers, a negative ``niter`` and a ``q`` above
    the smaller size."""
    if A.ndim < 2:
        raise RuntimeError(f"pca_lowrank: A must have at least 2 dimensions, but it has {A.ndim}")
    smaller = min(A.shape[-2:])
    count = min(6, smaller) if q is None else q
    if not 0 <= count <= smaller:
        raise ValueError(
            f"pca_lowrank: q(={count}) must be non-negative integer and not greater than min(m, n)={smaller}"
        )
    if niter < 0:
        raise ValueError(f"pca_lowrank: niter(={niter}) must be non-negative integer")
    if not (A.is_floating_point() or A.is_complex()):
        raise ValueError(
            f"pca_lowrank: A must be of floating point or complex numbers, but it is of {A.dtype}"
        )
    return svd_lowrank(A, count, niter, A.mean((-2,), True) if center else None)
