"""Operators made of others that work with factors of matrices: of LU, of LDL, and Householder's of QR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.memory_format import contiguous_format, strided
from ..core.user_stack import warn_old
from ..kernels.factorizations import ZERO_BLOCK
from .linalg import raise_failure

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


# ------------------------------------------------------------------------------------- LU


def lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """The LU factorization in one matrix, its row exchanges, and with ``get_infos`` what LAPACK says."""
    factors, pivots, info = lu_with_info(self, pivot, not get_infos)
    return (factors, pivots, info) if get_infos else (factors, pivots)


def lu_with_info(
    self: Tensor, pivot: bool = True, check_errors: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """The older form of ``linalg.lu_factor_ex``, which never raises for singular matrices."""
    warn_old("lu", "tengen.linalg.lu_factor or lu_factor_ex")
    factors, pivots, info = F.linalg_lu_factor_ex(self, pivot=pivot, check_errors=False)
    return factors, pivots, info


def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The older form of ``linalg.lu_solve``, with the right side first."""
    warn_old("lu_solve", "tengen.linalg.lu_solve")
    solution: Tensor = F.linalg_lu_solve(LU_data, LU_pivots, self)
    return solution


def triangular_solve(
    self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """``X`` with ``A X = self`` for triangular ``A`` (or ``A^T X = self``), and a copy of ``A``. RuntimeError
    for less than two dimensions of either."""
    for name, t in (("self", self), ("A", A)):
        if t.ndim < 2:
            raise RuntimeError(
                f"triangular_solve: Expected {name} to have at least 2 dimensions, but it has {t.ndim} "
                "dimensions instead"
            )
    warn_old("triangular_solve", "tengen.linalg.solve_triangular")
    matrix = A.transpose(-2, -1) if transpose else A
    solution: Tensor = F.linalg_solve_triangular(
        matrix, self, upper=upper != transpose, unitriangular=unitriangular
    )
    if A.layout is not strided:
        return solution, solution.new_empty(0)
    copy = A.expand((*solution.shape[:-2], *A.shape[-2:])).transpose(-2, -1)
    return solution, copy.clone(memory_format=contiguous_format).transpose(-2, -1)


# ------------------------------------------------------------------------------------ LDL


def linalg_ldl_factor(self: Tensor, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """``L`` and ``D`` in one matrix, and the exchanges; LinAlgError for a zero in ``D``."""
    factors, pivots, info = F.linalg_ldl_factor_ex(self, hermitian=hermitian)
    raise_failure(info, "linalg.ldl_factor", ZERO_BLOCK)
    return factors, pivots


# ------------------------------------------------------------------------- Householder's reflectors


def _check_reflectors(input: Tensor, tau: Tensor, operator: str) -> None:
    if input.ndim < 2:
        raise RuntimeError(f"{operator}: input must have at least 2 dimensions.")
    if tau.dtype != input.dtype:
        raise RuntimeError(f"{operator}: tau dtype {tau.dtype} does not match input dtype {input.dtype}")
    if not (input.is_floating_point() or input.is_complex()):
        raise NotImplementedError(f'"{operator}" not implemented for {input.dtype}')
    if tau.ndim != input.ndim - 1 or tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            f"{operator}: Expected the batch dimensions of tau and input to be the same, and tau to have one "
            f"dimension less, but got {list(tau.shape)} and {list(input.shape)}"
        )


def _compact(input: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """``V`` and ``M``, a unit upper triangle, with ``H1 H2 ... = 1 - V M^-1 diag(tau) V^H``.

    ``Hi = 1 - tau_i v_i v_i^H``; ``v_i`` is column i of ``V``, and ``M = 1 + diag(tau) striu(V^H V)``,
    without its diagonal here, whatever
    ``tau`` is. Schreiber and Van Loan, SIAM J. Sci. Stat. Comput. 10 (1989).
    """
    rows, k = input.shape[-2], tau.shape[-1]
    identity = F.eye(rows, k, dtype=input.dtype, device=input.device)
    vectors = input[..., :k].tril(-1) + identity
    return vectors, tau.unsqueeze(-1) * vectors.adjoint().matmul(vectors).triu(1)


def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflectors that ``geqrf`` packs. RuntimeError for more columns
    than rows, or more reflectors than columns."""
    _check_reflectors(input, tau, "linalg.householder_product")
    rows, columns = input.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if columns < tau.shape[-1]:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    vectors, inner = _compact(input, tau)
    top = tau.unsqueeze(-1) * vectors[..., :columns, :].adjoint()
    inner = F.linalg_solve_triangular(inner, top, upper=True, unitriangular=True)
    identity = F.eye(columns, rows, dtype=input.dtype, device=input.device)
    # Transposed, so that the result lies by columns, as LAPACK's do.
    result = identity - inner.transpose(-2, -1).matmul(vectors.transpose(-2, -1))
    return result.transpose(-2, -1)


def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """``Q input3``, ``Q^H input3``, ``input3 Q`` or ``input3 Q^H``; ``Q`` is not made. RuntimeError for
    another dtype or batch than that of ``self``, and for sizes that do not fit its reflectors."""
    input, tau, other = self, input2, input3
    if other.ndim < 2:
        raise RuntimeError("ormqr: input3 must have at least 2 dimensions.")
    _check_reflectors(input, tau, "ormqr")
    if other.dtype != input.dtype:
        raise RuntimeError(
            f"ormqr: Expected self and input3 to have the same dtype, but got {input.dtype} and {other.dtype}"
        )
    size = other.shape[-2 if left else -1]
    if size != input.shape[-2]:
        raise RuntimeError(
            f"ormqr: input3.shape[{-2 if left else -1}] must be equal to self.shape[-2], but got {size} and "
            f"{input.shape[-2]}"
        )
    if tau.shape[-1] != min(size, input.shape[-1]):
        raise RuntimeError(
            f"ormqr: input2.shape[-1] must be equal to {min(size, input.shape[-1])}, the number of "
            f"reflectors in self, but got {tau.shape[-1]}"
        )
    if other.shape[:-2] != input.shape[:-2]:
        raise RuntimeError(
            "ormqr: Expected the batch dimensions of input3 to be the same as those of self, but got "
            f"{list(other.shape)} and {list(input.shape)}"
        )
    # C Q is (Q^H C^H)^H; C Q^H is (Q C^H)^H.
    given = other if left else other.adjoint()
    result = _reflected(input, tau, given, transpose == left)
    # LAPACK's results lie by columns.
    return (result.transpose(-2, -1) if left else result.conj()).contiguous().transpose(-2, -1)


def _reflected(input: Tensor, tau: Tensor, other: Tensor, adjoint: bool) -> Tensor:
    """``Q other``, or ``Q^H other``."""
    vectors, inner = _compact(input, tau)
    product = vectors.adjoint().matmul(other)
    if adjoint:
        product = F.linalg_solve_triangular(inner.adjoint(), product, upper=False, unitriangular=True)
        product = tau.unsqueeze(-1).conj() * product
    else:
        product = F.linalg_solve_triangular(
            inner, tau.unsqueeze(-1) * product, upper=True, unitriangular=True
        )
    return other - vectors.matmul(product)
