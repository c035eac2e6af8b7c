"""What the derivative formulas of products, systems of equations, determinants and norms call.

Gradients follow PyTorch's convention for complex numbers: the gradient of a real loss is the
conjugate of the Wirtinger derivative, so that the adjoint of ``X -> A X B`` is
``G -> A^H G B^H``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..autograd.forward_mode import is_differentiated
from ..core.scalar_type import bool_
from ..kernels.dims import wrap_dims
from ..kernels.linalg_checks import is_vector

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex
Gradients = Sequence["Tensor | None"]


def scaled_by(tensor: Tensor, factor: Number) -> Tensor:
    """``tensor * factor``, without an operator when the factor is 1."""
    return tensor if factor == 1 else tensor * factor


def trace_backward(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """``grad`` along the main diagonal of a matrix."""
    rows, columns = shape
    return grad * F.eye(rows, columns, dtype=grad.dtype, device=grad.device)


# ---------------------------------------------------------------- systems of equations


def linalg_solve_backward(
    grad: Tensor, result: Tensor, A: Tensor, B_shape: Sequence[int], left: bool, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of ``A X = B`` (``X A = B``): ``gB = A^-H gX`` and ``gA = -gB X^H``."""
    grad_B = F.linalg_solve_ex(A.adjoint(), grad, left=left)[0]
    grad_A = None
    if mask[0]:
        if is_vector(tuple(A.shape), tuple(B_shape)):
            grad_A = -(grad_B.unsqueeze(-1) * result.unsqueeze(-2).conj())
        elif left:
            grad_A = -grad_B.matmul(result.adjoint())
        else:
            grad_A = -result.adjoint().matmul(grad_B)
    return grad_A, grad_B if mask[1] else None


def linalg_solve_jvp(A: Tensor, A_t: Tensor, B: Tensor, B_t: Tensor, result: Tensor, left: bool) -> Tensor:
    """The tangent of the solution: ``A dX = dB - dA X``."""
    if is_vector(tuple(A.shape), tuple(B.shape)):
        # One vector may stand for a whole batch: write it out, so that it stays a vector.
        change = B_t - A_t.matmul(result.unsqueeze(-1)).squeeze(-1)
        return F.linalg_solve(A, change.unsqueeze(-1)).squeeze(-1)
    change = B_t - (A_t.matmul(result) if left else result.matmul(A_t))
    return F.linalg_solve(A, change, left=left)


def _triangle(matrix: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    """The part of a triangular matrix that is read."""
    skip = int(unitriangular)
    return matrix.triu(skip) if upper else matrix.tril(-skip)


def linalg_solve_triangular_backward(
    grad: Tensor,
    A: Tensor,
    result: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
    mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """As for a general system, with the gradient of what is read of ``A``."""
    grad_B = F.linalg_solve_triangular(
        A.adjoint(), grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    grad_A = None
    if mask[0]:
        product = grad_B.matmul(result.adjoint()) if left else result.adjoint().matmul(grad_B)
        grad_A = -_triangle(product, upper, unitriangular)
    return grad_A, grad_B if mask[1] else None


def linalg_solve_triangular_jvp(
    A: Tensor, A_t: Tensor, B_t: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """The tangent of the solution: ``A dX = dB - dA X``."""
    change = _triangle(A_t, upper, unitriangular)
    change = B_t - (change.matmul(result) if left else result.matmul(change))
    return F.linalg_solve_triangular(A, change, upper=upper, left=left, unitriangular=unitriangular)


def linalg_lu_solve_backward(
    grad: Tensor, LU: Tensor, pivots: Tensor, result: Tensor, left: bool, adjoint: bool
) -> Tensor:
    """The gradient for ``LU``, from the gradient for ``A = P L U``."""
    grad_B = F.linalg_lu_solve(LU, pivots, grad, left=left, adjoint=not adjoint)
    # The gradient of the matrix that was inverted, A or A^H.
    grad_A = -(grad_B.matmul(result.adjoint()) if left else result.adjoint().matmul(grad_B))
    if adjoint:
        grad_A = grad_A.adjoint()
    permutation, lower, upper = _unpack_lu(LU, pivots)
    grad_product = permutation.transpose(-2, -1).matmul(grad_A)
    return grad_product.matmul(upper.adjoint()).tril(-1) + lower.adjoint().matmul(grad_product).triu()


def linalg_lu_solve_jvp(
    LU: Tensor, LU_t: Tensor, pivots: Tensor, B_t: Tensor, result: Tensor, left: bool, adjoint: bool
) -> Tensor:
    """The tangent of the solution: ``A dX = dB - dA X``."""
    permutation, lower, upper = _unpack_lu(LU, pivots)
    change = permutation.matmul(LU_t.tril(-1).matmul(upper) + lower.matmul(LU_t.triu()))
    if adjoint:
        change = change.adjoint()
    change = B_t - (change.matmul(result) if left else result.matmul(change))
    return F.linalg_lu_solve(LU, pivots, change, left=left, adjoint=adjoint)


def _unpack_lu(LU: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``P``, ``L`` and ``U`` of square matrices."""
    n = LU.shape[-1]
    identity = F.eye(n, dtype=LU.dtype, device=LU.device)
    # Solving with L = U = 1 applies P^T to the identity.
    plain = identity.expand(LU.shape)
    permutation = F.linalg_lu_solve(plain, pivots, plain).transpose(-2, -1)
    return permutation, LU.tril(-1) + identity, LU.triu()


# ---------------------------------------------------------------------- determinants


def linalg_det_backward(grad: Tensor, result: Tensor, A: Tensor) -> Tensor:
    """``conj(det A) A^-H``: the conjugate of the matrix of cofactors, which singular matrices have too."""
    if A._type.backend.has_data and bool((result == 0).any()):
        cofactors = _minors(A) if is_differentiated(A) else _cofactors(A)
        return cofactors.conj() * grad[..., None, None]
    scale = (grad * result.conj())[..., None, None]
    return scale * F.linalg_inv(A).adjoint()


def _cofactors(A: Tensor) -> Tensor:
    """The matrix of cofactors, ``det(A) A^-T`` where there is an inverse.

    With ``A = U S V^H`` it is ``det(U) det(V^H) conj(U) C V^T``, C being that of S: on its
    diagonal the products of all singular values but one.
    """
    u, s, vh = F.linalg_svd(A)
    n = s.shape[-1]
    others = s.unsqueeze(-2).expand((*s.shape, n))
    others = F.where(F.eye(n, dtype=bool_, device=s.device), 1, others)
    phase = F.linalg_det(u) * F.linalg_det(vh)
    inner: Tensor = (u * others.prod(-1).unsqueeze(-2)).matmul(vh)
    return phase[..., None, None] * inner.conj()


def _minors(A: Tensor) -> Tensor:
    """The matrix of cofactors as determinants: ``A`` with row i replaced by row j of the identity.

    It is differentiable where ``A`` is singular, too; it takes n^5 steps.
    """
    n = A.shape[-1]
    identity = F.eye(n, dtype=A.dtype, device=A.device)
    replaced = identity[:, None, :, None].to(bool_)  # row i, of each (i, j)
    return F.linalg_det(F.where(replaced, identity[None, :, None, :], A[..., None, None, :, :]))


def linalg_det_jvp(A: Tensor, A_t: Tensor, result: Tensor) -> Tensor:
    """The tangent of the determinant: cofactors times changes."""
    gradient = linalg_det_backward(F.ones_like(result), result, A)
    return (gradient.conj() * A_t).sum((-2, -1))


def slogdet_backward(grads: Gradients, A: Tensor, sign: Tensor) -> Tensor:
    """``log det A = log |det A| + log sign``, whose differential is ``tr(A^-1 dA)``."""
    grad_sign, grad_log = grads
    scale = grad_log
    if A.is_complex() and grad_sign is not None:
        turned = F.imag(grad_sign.conj() * sign) * -1j
        scale = turned if scale is None else scale + turned
    if scale is None:
        return F.zeros_like(A)
    inverse: Tensor = F.linalg_inv_ex(A)[0]
    return scale[..., None, None] * inverse.adjoint()


def slogdet_jvp(A: Tensor, A_t: Tensor, sign: Tensor, logabsdet: bool) -> Tensor:
    """The tangent of the logarithm, or of the sign: ``tr(A^-1 dA)`` is ``d log|det| + i d phase``."""
    change = F.linalg_solve_ex(A, A_t)[0].diagonal(0, -2, -1).sum(-1)
    if not A.is_complex():
        return change if logabsdet else F.zeros_like(sign)
    return F.real(change) if logabsdet else F.imag(change) * 1j * sign


# -------------------------------------------------------------- inverses and exponentials


def pinv_backward(grad: Tensor, result: Tensor, A: Tensor) -> Tensor:
    """The adjoint of the differential of the pseudo-inverse ``P`` of a matrix of constant rank.

    ``dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P``; Golub and Pereyra, SIAM
    J. Numer. Anal. 10 (1973).
    """
    p, ph, gh = result, result.adjoint(), grad.adjoint()
    first = ph.matmul(grad).matmul(ph)
    left = gh.matmul(p).matmul(ph)
    right = ph.matmul(p).matmul(gh)
    return left - A.matmul(p.matmul(left)) + right - right.matmul(p).matmul(A) - first


def pinv_jvp(A: Tensor, result: Tensor, A_t: Tensor) -> Tensor:
    """The differential of the pseudo-inverse; see ``pinv_backward``."""
    p, ph, th = result, result.adjoint(), A_t.adjoint()
    first = p.matmul(A_t).matmul(p)
    left = p.matmul(ph).matmul(th)
    right = th.matmul(ph).matmul(p)
    return left - left.matmul(A).matmul(p) + right - p.matmul(A.matmul(right)) - first


def _as_matrices(self: Tensor, b: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """``b`` and what has its form as matrices: vectors become columns."""
    if is_vector(tuple(self.shape), tuple(b.shape)):
        return tuple([t.unsqueeze(-1) for t in (b, *others)])
    return (b, *others)


def lstsq_backward(
    grads: Gradients, self: Tensor, b: Tensor, solution: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of ``X = A^+ B`` and of ``sum |B - A X|^2``, in which ``X`` is stationary."""
    grad_X, grad_residuals = grads[0], grads[1]
    vector = is_vector(tuple(self.shape), tuple(b.shape))
    B, X = _as_matrices(self, b, solution)
    grad_self = F.zeros_like(self)
    grad_B = F.zeros_like(B)
    if grad_X is not None:
        grad_X = grad_X.unsqueeze(-1) if vector else grad_X
        pinv = F.linalg_pinv(self)
        if mask[0]:
            grad_self = grad_self + pinv_backward(grad_X.matmul(B.adjoint()), pinv, self)
        grad_B = grad_B + pinv.adjoint().matmul(grad_X)
    if grad_residuals is not None and grad_residuals.numel():
        change = (B - self.matmul(X)) * (2 * grad_residuals.unsqueeze(-2))
        grad_self = grad_self - change.matmul(X.adjoint())
        grad_B = grad_B + change
    if vector:
        grad_B = grad_B.squeeze(-1)
    return (grad_self if mask[0] else None), (grad_B if mask[1] else None)


def lstsq_solution_jvp(self: Tensor, self_t: Tensor, b: Tensor, b_t: Tensor) -> Tensor:
    """The tangent of ``A^+ B``."""
    B, B_t = _as_matrices(self, b, b_t)
    pinv = F.linalg_pinv(self)
    result = pinv_jvp(self, pinv, self_t).matmul(B) + pinv.matmul(B_t)
    return result.squeeze(-1) if is_vector(tuple(self.shape), tuple(b.shape)) else result


def lstsq_residuals_jvp(
    self: Tensor, self_t: Tensor, b: Tensor, b_t: Tensor, solution: Tensor, residuals: Tensor
) -> Tensor:
    """The tangent of ``sum |B - A X|^2``, in which ``X`` is stationary."""
    if not residuals.numel():
        return F.zeros_like(residuals)
    B, B_t, X = _as_matrices(self, b, b_t, solution)
    left = B - self.matmul(X)
    product = left.conj() * (B_t - self_t.matmul(X))
    if product.is_complex():
        product = F.real(product)
    return 2 * product.sum(-2)


def matrix_exp_differential(self: Tensor, change: Tensor, adjoint: bool) -> Tensor:
    """The differential of the exponential at ``self``, or its adjoint, in the direction ``change``.

    It is the upper right block of ``exp([[A, E], [0, A]])``; Al-Mohy and Higham, SIAM J. Matrix
    Anal. Appl. 30 (2009).
    """
    if adjoint:
        self = self.adjoint()
    n = self.shape[-1]
    above = F.cat([self, change], -1)
    below = F.cat([F.zeros_like(change), self], -1)
    return F.linalg_matrix_exp(F.cat([above, below], -2))[..., :n, n:]


# --------------------------------------------------------------------------- vector norms


def vector_norm_backward(
    grad: Tensor,
    self: Tensor,
    p: Number | None,
    result: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = True,
) -> Tensor:
    """The gradient of ``(sum |x| ** p) ** (1 / p)``; where the norm has a kink it is 0.

    For inf and -inf the elements that attain the norm share the gradient.
    """
    assert not isinstance(p, complex)
    order = 2.0 if p is None else float(p)
    ndim = self.ndim
    dims = wrap_dims(dim, ndim) if dim else tuple(range(ndim))
    if not keepdim:
        for d in sorted(dims):
            grad, result = grad.unsqueeze(d), result.unsqueeze(d)
    if order == 0:
        return F.zeros_like(self)
    if order == 1:
        return self.sgn() * grad
    if isinf(order):
        sizes = self.abs()
        attained = (sizes == result).logical_or(sizes.isnan())
        count = attained.sum(dims, True) if dims else attained
        return self.sgn() * F.where(attained, grad / count, 0)
    # Where the norm is 0 the gradient is 0, and so is its derivative.
    at_zero = result == 0
    safe = F.where(at_zero, 1, result)
    if order == 2:
        return self * F.where(at_zero, 0, grad / safe)
    # Powers of what is at most 1 for a positive order: those of the elements themselves overflow.
    sizes = self.abs() / safe
    grad = F.where(at_zero, 0, grad)
    if order > 2:
        return self * sizes.pow(order - 2) * (grad / safe)
    # Here |x| ** (p - 1) or its derivative is infinite at 0.
    powers = F.where(sizes == 0, 0, F.where(sizes == 0, 1, sizes).pow(order - 1))
    return self.sgn() * powers * grad


def vector_norm_jvp(
    self: Tensor,
    self_t: Tensor,
    p: Number | None,
    result: Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = True,
) -> Tensor:
    """The tangent of a vector norm: the gradient's inner product with the change."""
    gradient = vector_norm_backward(F.ones_like(result), self, p, result, dim, keepdim)
    product = gradient.conj() * self_t
    if product.is_complex():
        product = F.real(product)
    dims = wrap_dims(dim, self.ndim) if dim else tuple(range(self.ndim))
    return product.sum(dims, keepdim) if dims else product
