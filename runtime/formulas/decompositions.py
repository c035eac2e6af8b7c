"""What the derivative formulas of matrix decompositions call.

The eigenvectors of a matrix and its singular vectors are determined up to a factor of size 1
each. A loss that depends on these factors has no derivative: for real matrices they are signs,
which do not change; for complex ones that is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Gradients = Sequence["Tensor | None"]


def _column(values: Tensor) -> Tensor:
    return values.unsqueeze(-1)


def _row(values: Tensor) -> Tensor:
    return values.unsqueeze(-2)


def _differences(values: Tensor) -> Tensor:
    """``E[i, j] = values[j] - values[i]``, and 1 on the diagonal, to divide by."""
    identity = F.eye(values.shape[-1], dtype=values.dtype, device=values.device)
    return _row(values) - _column(values) + identity


def _diagonal(matrix: Tensor) -> Tensor:
    return matrix.diagonal(0, -2, -1)


def _off_diagonal(matrix: Tensor) -> Tensor:
    """The matrix with zeros on its diagonal."""
    return matrix - _diagonal(matrix).diag_embed(0, -2, -1)


def _check_phase(diagonal: Tensor, operator: str, what: str) -> None:
    """RuntimeError when a loss depends on the phase of complex vectors."""
    while diagonal._wraps:  # batched: none of the slices may
        diagonal = diagonal._value  # type: ignore[attr-defined]  # of BatchedTensor
    if diagonal._type.backend.has_data and bool((F.imag(diagonal.detach()).abs() > 1e-2).any()):
        raise RuntimeError(
            f"{operator}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. "
            "The specified loss function depends on this quantity, so it is ill-defined."
        )


# ------------------------------------------------------------------------------ Cholesky


def _lower_half(matrix: Tensor) -> Tensor:
    """The lower triangle with half the diagonal: ``X = L + L^H`` for Hermitian ``X``."""
    return matrix.tril() - (_diagonal(matrix) / 2).diag_embed(0, -2, -1)


def cholesky_backward(grad: Tensor, L: Tensor, upper: bool) -> Tensor:
    """The gradient of ``A = L L^H``: ``L^-H phi(L^H gL) L^-1``, made Hermitian.

    ``phi`` is the lower triangle with half the diagonal; Murray, arXiv:1602.07527.
    """
    if upper:
        L, grad = L.adjoint(), grad.adjoint()
    inner = _lower_half(L.adjoint().matmul(grad))
    inner = F.linalg_solve_triangular(L.adjoint(), inner, upper=True)
    inner = F.linalg_solve_triangular(L, inner, upper=False, left=False)
    return (inner + inner.adjoint()) / 2


def cholesky_jvp(A_t: Tensor, L: Tensor, upper: bool) -> Tensor:
    """The tangent of ``L``: ``L phi(L^-1 dA L^-H)``, for the Hermitian part of ``dA``."""
    if upper:
        L = L.adjoint()
    change = (A_t + A_t.adjoint()) / 2
    inner = F.linalg_solve_triangular(L, change, upper=False)
    inner = F.linalg_solve_triangular(L.adjoint(), inner, upper=True, left=False)
    result = L.matmul(_lower_half(inner))
    return result.adjoint() if upper else result


# ------------------------------------------------------------------------------------ QR


def _hermitian_of_upper(matrix: Tensor) -> Tensor:
    """``T + T^H`` with the diagonal counted once, for the upper triangle ``T``."""
    upper = matrix.triu()
    diagonal = _diagonal(upper)
    if diagonal.is_complex():
        diagonal = F.real(diagonal)
    return upper + upper.adjoint() - diagonal.diag_embed(0, -2, -1)


def _check_qr(Q: Tensor, R: Tensor, mode: str) -> None:
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    if mode == "complete" and Q.shape[-2] > R.shape[-1]:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )


def qr_backward(grads: Gradients, Q: Tensor, R: Tensor, mode: str) -> Tensor:
    """The gradient of ``A = Q R``; of the first columns when there are more columns than rows.

    For ``A = [X Y]``, ``R = [U W]``: ``Y = Q W`` is linear, and ``X = Q U`` has
    ``gX = (gQ + Q h(gU U^H - Q^H gQ)) U^-H``, where ``h`` takes the upper triangle to the
    Hermitian matrix that it is half of; Walter and Lehmann, arXiv:1009.6112.
    """
    _check_qr(Q, R, mode)
    grad_Q, grad_R = grads
    rows = Q.shape[-2]
    wide = R.shape[-1] > rows
    square = R[..., :rows] if wide else R
    grad_square = grad_rest = None
    if grad_R is not None:
        grad_square = grad_R[..., :rows] if wide else grad_R
        grad_rest = grad_R[..., rows:] if wide else None
    if grad_rest is not None:
        # Y = Q W, and W = Q^H Y: what of gW belongs to Q goes on to X.
        columns = Q.matmul(R[..., rows:])
        through = columns.matmul(grad_rest.adjoint())
        grad_Q = through if grad_Q is None else grad_Q + through
    inner = None
    if grad_square is not None:
        inner = grad_square.matmul(square.adjoint())
    if grad_Q is not None:
        projected = Q.adjoint().matmul(grad_Q)
        inner = -projected if inner is None else inner - projected
    if inner is None:
        return F.zeros_like(Q.matmul(R))
    result = Q.matmul(_hermitian_of_upper(inner))
    if grad_Q is not None:
        result = result + grad_Q
    result = F.linalg_solve_triangular(square.adjoint(), result, upper=False, left=False)
    if wide:
        rest = F.zeros_like(R[..., rows:]) if grad_rest is None else Q.matmul(grad_rest)
        result = F.cat([result, rest], -1)
    return result


def qr_jvp(A_t: Tensor, Q: Tensor, R: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """The tangents of ``Q`` and ``R``."""
    _check_qr(Q, R, mode)
    rows = Q.shape[-2]
    wide = R.shape[-1] > rows
    square, change = (R[..., :rows], A_t[..., :rows]) if wide else (R, A_t)
    right = F.linalg_solve_triangular(square, change, upper=True, left=False)
    inner = Q.adjoint().matmul(right)
    # Q^H dA R^-1 is skew-Hermitian plus upper triangular; this is the latter part, dR R^-1.
    upper = (inner + inner.adjoint()).triu()
    upper = upper - (_diagonal(upper) / 2).diag_embed(0, -2, -1)
    Q_t = right - Q.matmul(upper)
    R_t = upper.matmul(square)
    if wide:
        rest = Q.adjoint().matmul(A_t[..., rows:] - Q_t.matmul(R[..., rows:]))
        R_t = F.cat([R_t, rest], -1)
    return Q_t, R_t


# --------------------------------------------------------------------------- eigenvalues


def eigh_backward(grads: Gradients, L: Tensor, V: Tensor) -> Tensor:
    """The gradient of ``A = V diag(L) V^H``: ``V (diag(gL) + skew(V^H gV) / E) V^H``."""
    grad_L, grad_V = grads
    if grad_V is None:
        if grad_L is None:
            return F.zeros_like(V)
        return (V * _row(grad_L)).matmul(V.adjoint())
    inner = V.adjoint().matmul(grad_V)
    if inner.is_complex():
        _check_phase(_diagonal(inner), "linalg_eigh_backward", "eigenvectors")
    inner = (inner - inner.adjoint()) / 2 / _differences(L)
    inner = _off_diagonal(inner)
    if grad_L is not None:
        inner = inner + grad_L.diag_embed(0, -2, -1)
    return V.matmul(inner).matmul(V.adjoint())


def eigh_jvp(A_t: Tensor, L: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """The tangents of eigenvalues and eigenvectors, for the Hermitian part of ``dA``."""
    inner = V.adjoint().matmul((A_t + A_t.adjoint()) / 2).matmul(V)
    diagonal = _diagonal(inner)
    off = (inner - diagonal.diag_embed(0, -2, -1)) / _differences(L)
    return F.real(diagonal) if diagonal.is_complex() else diagonal, V.matmul(off)


def eig_backward(grads: Gradients, L: Tensor, V: Tensor) -> Tensor:
    """The gradient of ``A = V diag(L) V^-1`` with eigenvectors of norm 1.

    ``V^-H (diag(gL) + (V^H gV - V^H V diag(Re(V^H gV))) / conj(E)) V^H``.
    """
    grad_L, grad_V = grads
    if grad_L is None and grad_V is None:
        return F.zeros_like(V)
    if grad_V is None:
        assert grad_L is not None
        return F.linalg_solve(V.adjoint(), _column(grad_L) * V.adjoint())
    inner = V.adjoint().matmul(grad_V)
    along = _diagonal(inner)
    _check_phase(along, "linalg_eig_backward", "eigenvectors")
    inner = inner - V.adjoint().matmul(V * _row(F.real(along)))
    inner = inner / _differences(L).conj()
    inner = _off_diagonal(inner)
    if grad_L is not None:
        inner = inner + grad_L.diag_embed(0, -2, -1)
    return F.linalg_solve(V.adjoint(), inner.matmul(V.adjoint()))


def eig_jvp(A_t: Tensor, L: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """The tangents of eigenvalues and eigenvectors, whose norms stay 1."""
    inner = F.linalg_solve(V, A_t.to(V.dtype).matmul(V))
    diagonal = _diagonal(inner)
    V_t = V.matmul((inner - diagonal.diag_embed(0, -2, -1)) / _differences(L))
    along = F.real((V.conj() * V_t).sum(-2))
    return diagonal, V_t - V * _row(along)


# ----------------------------------------------------------------------- singular values


def svd_backward(
    grads: Gradients, U: Tensor, S: Tensor, Vh: Tensor, full_matrices: bool, compute_uv: bool
) -> Tensor:
    """The gradient of ``A = U diag(S) V^H``, for distinct singular values.

    With ``E[i, j] = S[j]^2 - S[i]^2`` it is ``U M V^H`` for
    ``M = (skew(U^H gU) / E) S + S (skew(V^H gV) / E) + diag(gS)``, and what lies outside the
    spans of U and V; Townsend, Differentiating the Singular Value Decomposition (2016), and
    for complex matrices Wan and Zhang, arXiv:1909.02659.
    """
    if not compute_uv:
        raise RuntimeError(
            "svd_backward: without compute_uv the singular vectors are not computed, "
            "and so there is no gradient"
        )
    grad_U, grad_S, grad_Vh = grads
    k = S.shape[-1]
    if full_matrices:  # the vectors beyond the first k are arbitrary, and have no gradient
        U, Vh = U[..., :k], Vh[..., :k, :]
        grad_U = None if grad_U is None else grad_U[..., :k]
        grad_Vh = None if grad_Vh is None else grad_Vh[..., :k, :]
    if grad_U is None and grad_Vh is None:
        if grad_S is None:
            return F.zeros_like(U.matmul(Vh))
        return (U * _row(grad_S)).matmul(Vh)
    inner = _svd_core(grad_U, grad_Vh, U, S, Vh)
    if grad_S is not None:
        inner = inner + grad_S.diag_embed(0, -2, -1)
    result = U.matmul(inner).matmul(Vh)
    if grad_U is not None and U.shape[-2] > k:
        outside = grad_U / _row(S)
        result = result + (outside - U.matmul(U.adjoint().matmul(outside))).matmul(Vh)
    if grad_Vh is not None and Vh.shape[-1] > k:
        outside = grad_Vh / _column(S)
        result = result + U.matmul(outside - outside.matmul(Vh.adjoint()).matmul(Vh))
    return result


def _svd_core(grad_U: Tensor | None, grad_Vh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor:
    """``M`` of ``svd_backward`` without the gradient of ``S``."""
    differences = _differences(S * S)
    parts: list[Tensor] = []
    phase: Tensor | None = None
    if grad_U is not None:
        product = U.adjoint().matmul(grad_U)
        skew = product - product.adjoint()
        parts.append(skew / differences * _row(S))
        phase = _diagonal(skew)
    if grad_Vh is not None:
        product = Vh.matmul(grad_Vh.adjoint())
        skew = product - product.adjoint()
        parts.append(_column(S) * (skew / differences))
        phase = _diagonal(skew) if phase is None else phase + _diagonal(skew)
    inner = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    if not inner.is_complex():
        return inner
    assert phase is not None
    _check_phase(phase / 2, "svd_backward", "singular vectors")
    inner = _off_diagonal(inner)
    if grad_U is None or grad_Vh is None:
        return inner
    # The phases of U and V are one freedom: what is left of the diagonal falls to one of them.
    product = U.adjoint().matmul(grad_U)
    return inner + (_diagonal(product - product.adjoint()) / (2 * S)).diag_embed(0, -2, -1)


def svd_jvp(
    A_t: Tensor, U: Tensor, S: Tensor, Vh: Tensor, full_matrices: bool, compute_uv: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The tangents of ``U``, ``S`` and ``Vh``; those of the arbitrary vectors are 0."""
    if not compute_uv:
        raise RuntimeError("svd_jvp: without compute_uv the singular vectors are not computed")
    k = S.shape[-1]
    u, vh = (U[..., :k], Vh[..., :k, :]) if full_matrices else (U, Vh)
    inner = u.adjoint().matmul(A_t).matmul(vh.adjoint())
    diagonal = _diagonal(inner)
    S_t = F.real(diagonal) if diagonal.is_complex() else diagonal
    differences = _differences(S * S)
    scaled = inner * _row(S)
    left = _off_diagonal((scaled + scaled.adjoint()) / differences)
    scaled = _column(S) * inner
    right = _off_diagonal((scaled + scaled.adjoint()) / differences)
    if diagonal.is_complex():
        left = left + (F.imag(diagonal) * 1j / S).diag_embed(0, -2, -1)
    U_t = u.matmul(left)
    if u.shape[-2] > k:
        outside = A_t.matmul(vh.adjoint()) / _row(S)
        U_t = U_t + outside - u.matmul(u.adjoint().matmul(outside))
    Vh_t = right.adjoint().matmul(vh)
    if vh.shape[-1] > k:
        outside = u.adjoint().matmul(A_t) / _column(S)
        Vh_t = Vh_t + outside - outside.matmul(vh.adjoint()).matmul(vh)
    if full_matrices:
        U_t = F.cat([U_t, F.zeros_like(U[..., k:])], -1)
        Vh_t = F.cat([Vh_t, F.zeros_like(Vh[..., k:, :])], -2)
    return U_t, S_t, Vh_t


# ------------------------------------------------------------------------------------- LU


def lu_backward(grad_L: Tensor | None, grad_U: Tensor | None, P: Tensor, L: Tensor, U: Tensor) -> Tensor:
    """The gradient of ``A = P L U``, for matrices of any shape of full rank.

    For square ones ``P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H``. With more columns
    ``A = P L [U1 U2]``: ``U2 = L^-1 P^T A2`` is a system with its own gradient; with more rows
    the same holds of ``L2``.
    """
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    l1, u1 = L[..., :k, :], U[..., :k]
    lower = F.zeros_like(l1) if grad_L is None else l1.adjoint().matmul(grad_L[..., :k, :])
    upper = F.zeros_like(u1) if grad_U is None else grad_U[..., :k].matmul(u1.adjoint())
    rest: Tensor | None = None
    if n > k and grad_U is not None:
        lower = lower - grad_U[..., k:].matmul(U[..., k:].adjoint())
        rest = F.linalg_solve_triangular(l1.adjoint(), grad_U[..., k:], upper=True, unitriangular=True)
    if m > k and grad_L is not None:
        upper = upper - L[..., k:, :].adjoint().matmul(grad_L[..., k:, :])
        rest = F.linalg_solve_triangular(u1.adjoint(), grad_L[..., k:, :], upper=False, left=False)
    inner = lower.tril(-1) + upper.triu()
    inner = F.linalg_solve_triangular(l1.adjoint(), inner, upper=True, unitriangular=True)
    inner = F.linalg_solve_triangular(u1.adjoint(), inner, upper=False, left=False)
    if n > k:
        inner = F.cat([inner, F.zeros_like(U[..., k:]) if rest is None else rest], -1)
    elif m > k:
        inner = F.cat([inner, F.zeros_like(L[..., k:, :]) if rest is None else rest], -2)
    return P.matmul(inner)


def lu_jvp(A_t: Tensor, P: Tensor, L: Tensor, U: Tensor) -> tuple[Tensor, Tensor]:
    """The tangents of ``L`` and ``U``."""
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    change = P.transpose(-2, -1).matmul(A_t)
    l1, u1 = L[..., :k, :], U[..., :k]
    inner = F.linalg_solve_triangular(l1, change[..., :k, :k], upper=False, unitriangular=True)
    inner = F.linalg_solve_triangular(u1, inner, upper=True, left=False)
    L_t, U_t = l1.matmul(inner.tril(-1)), inner.triu().matmul(u1)
    if n > k:
        right = change[..., k:] - L_t.matmul(U[..., k:])
        right = F.linalg_solve_triangular(l1, right, upper=False, unitriangular=True)
        U_t = F.cat([U_t, right], -1)
    elif m > k:
        below = change[..., k:, :] - L[..., k:, :].matmul(U_t)
        below = F.linalg_solve_triangular(u1, below, upper=True, left=False)
        L_t = F.cat([L_t, below], -2)
    return L_t, U_t


def lu_factor_backward(grad: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """The gradient of ``A`` from that of ``L`` and ``U`` in one matrix."""
    P, L, U, k = _unpacked(LU, pivots)
    return lu_backward(grad[..., :k].tril(-1), grad[..., :k, :].triu(), P, L, U)


def lu_factor_jvp(A_t: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """The tangent of ``L`` and ``U`` in one matrix."""
    P, L, U, k = _unpacked(LU, pivots)
    L_t, U_t = lu_jvp(A_t, P, L, U)
    m, n = L.shape[-2], U.shape[-1]
    if n > k:
        L_t = F.cat([L_t, F.zeros_like(U_t[..., k:])], -1)
    elif m > k:
        U_t = F.cat([U_t, F.zeros_like(L_t[..., k:, :])], -2)
    return L_t.tril(-1) + U_t.triu()


def _unpacked(LU: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
    """``P``, ``L``, ``U`` and the smaller size, of matrices of any shape."""
    m, n = LU.shape[-2:]
    k = min(m, n)
    lower = LU[..., :k].tril(-1) + F.eye(m, k, dtype=LU.dtype, device=LU.device)
    identity = F.eye(m, dtype=LU.dtype, device=LU.device)
    batch = (*LU.shape[:-2], m, m)
    exchanges = pivots
    if k < m:  # the last rows stay where they are
        last = F.arange(k + 1, m + 1, dtype=pivots.dtype, device=pivots.device)
        exchanges = F.cat([pivots, last.expand((*pivots.shape[:-1], m - k))], -1)
    # Solving with L = U = 1 applies P^T to the identity.
    plain = identity.expand(batch)
    P = F.linalg_lu_solve(plain, exchanges, plain).transpose(-2, -1)
    return P, lower, LU[..., :k, :].triu(), k


def lu_unpack_backward(grads: Gradients, shape: Sequence[int]) -> Tensor | None:
    """The gradient of ``L`` and ``U`` in one matrix, from those of its triangles."""
    m, n = shape[-2:]
    k = min(m, n)
    _, grad_L, grad_U = grads
    parts: list[Tensor] = []
    if grad_L is not None and grad_L.ndim > 1:
        lower = grad_L.tril(-1)
        parts.append(lower if n == k else F.constant_pad_nd(lower, [0, n - k]))
    if grad_U is not None and grad_U.ndim > 1:
        upper = grad_U.triu()
        parts.append(upper if m == k else F.constant_pad_nd(upper, [0, 0, 0, m - k]))
    return sum(parts[1:], parts[0]) if parts else None
