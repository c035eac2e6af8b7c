"""The operators of tengen.linalg that are made of others: what users call around the decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..autograd.forward_mode import is_differentiated
from ..core.scalar_type import bfloat16, bool_, dtype, float16, int64
from ..core.user_stack import warn_old
from ..kernels.dims import wrap_dim
from ..kernels.linalg_checks import (
    NOT_POSITIVE,
    SINGULAR_INVERSE,
    SINGULAR_SOLVE,
    ZERO_PIVOT,
    LinAlgError,
    check_info,
)

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


def raise_failure(info: Tensor, operator: str, text: str) -> None:
    """LinAlgError when ``info`` tells of a failure; arrays without data tell nothing."""
    if info._type.backend.has_data:
        check_info(info.numpy(), f"{operator}: ", text)


def _check_matrix(self: Tensor, operator: str, name: str = "A") -> None:
    if self.ndim < 2:
        raise RuntimeError(f"{operator}: The input tensor {name} must have at least 2 dimensions.")


def _check_square(self: Tensor, operator: str, name: str = "A") -> None:
    _check_matrix(self, operator, name)
    rows, columns = self.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{operator}: {name} must be batches of square matrices, "
            f"but they are {rows} by {columns} matrices"
        )


def _eigh(self: Tensor, UPLO: str, compute_v: bool) -> tuple[Tensor, Tensor]:
    from tengen.generated.functions import _linalg_eigh

    values, vectors = _linalg_eigh(self, UPLO, compute_v)
    return values, vectors


def _svd(
    self: Tensor, full_matrices: bool, compute_uv: bool, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    from tengen.generated.functions import _linalg_svd

    u, s, vh = _linalg_svd(self, full_matrices, compute_uv, driver=driver)
    return u, s, vh


# ------------------------------------------------------- inverses, systems, determinants


def linalg_inv(A: Tensor) -> Tensor:
    """The inverse of each matrix; LinAlgError for a singular one."""
    inverse: Tensor
    inverse, info = F.linalg_inv_ex(A)
    raise_failure(info, "linalg.inv", SINGULAR_INVERSE)
    return inverse


def linalg_solve(A: Tensor, B: Tensor, left: bool = True) -> Tensor:
    """``X`` with ``A X = B``, or ``X A = B``; LinAlgError for a singular matrix."""
    result: Tensor
    result, info = F.linalg_solve_ex(A, B, left=left)
    raise_failure(info, "linalg.solve", SINGULAR_SOLVE)
    return result


def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN where that is negative, -inf where it is 0."""
    _check_square(self, "logdet")
    sign: Tensor
    logabsdet: Tensor
    sign, logabsdet = F.linalg_slogdet(self)
    if self.is_complex():
        return sign.log() + logabsdet
    return F.where(sign == -1, float("nan"), logabsdet)


def linalg_tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    """The inverse for ``tensordot(_, _, ind)``: the first ``ind`` dimensions are the rows. RuntimeError for
    an ``ind`` below 1, and for rows that are not as many as the columns."""
    if ind <= 0:
        raise RuntimeError(f"linalg.tensorinv: Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = self.shape[:ind], self.shape[ind:]
    if prod(rows) != prod(columns):
        raise RuntimeError(
            "linalg.tensorinv: Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {prod(columns)} != {prod(rows)}"
        )
    inverse: Tensor = F.linalg_inv(self.reshape((prod(rows), prod(columns))))
    return inverse.reshape((*columns, *rows))


def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """``X`` with ``tensordot(self, X, X.ndim) = other``; ``dims`` of ``self`` go last first. RuntimeError
    unless ``self`` has as many rows and as many columns as ``other`` has elements."""
    if dims is not None:
        last = [wrap_dim(d, self.ndim) for d in dims]
        self = self.permute([d for d in range(self.ndim) if d not in last] + last)
    rows, columns = self.shape[: other.ndim], self.shape[other.ndim :]
    if prod(columns) != prod(other.shape) or prod(rows) != prod(columns):
        raise RuntimeError(
            "linalg.tensorsolve: Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {prod(columns)} != {prod(other.shape)}"
        )
    solution: Tensor = F.linalg_solve(self.reshape((prod(rows), prod(columns))), other.reshape(-1))
    return solution.reshape(columns)


# ------------------------------------------------------------------------- decompositions


def linalg_cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """The Cholesky factor; LinAlgError unless the matrix is positive-definite."""
    factor: Tensor
    factor, info = F.linalg_cholesky_ex(self, upper=upper)
    raise_failure(info, "linalg.cholesky", NOT_POSITIVE)
    return factor


def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """The older form of ``linalg.cholesky``."""
    warn_old("cholesky", "tengen.linalg.cholesky")
    return linalg_cholesky(self, upper=upper)


def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """``A^-1 B`` for ``B = self`` from the Cholesky factor ``input2`` of ``A``. RuntimeError for less than
    two dimensions of either, and for sizes that differ."""
    for name, t in (("b", self), ("u", input2)):
        if t.ndim < 2:
            raise RuntimeError(
                f"cholesky_solve: {name} should have at least 2 dimensions, but has {t.ndim} instead"
            )
    _check_square(input2, "cholesky_solve")
    if input2.shape[-1] != self.shape[-2]:
        n, (m, k) = input2.shape[-1], self.shape[-2:]
        raise RuntimeError(
            f"cholesky_solve: Incompatible matrix sizes for cholesky_solve: each A matrix is {n} by {n} "
            f"but each b matrix is {m} by {k}"
        )
    other = input2.adjoint()
    first, second = (other, input2) if upper else (input2, other)
    half = F.linalg_solve_triangular(first, self, upper=False)
    return F.linalg_solve_triangular(second, half, upper=True)


def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is ``self``; LinAlgError for a 0 on its diagonal."""
    _check_square(self, "cholesky_inverse")
    zeros = self.detach().diagonal(0, -2, -1) == 0
    if self.numel():
        first = F.where(zeros.any(-1), zeros.to(int64).argmax(-1) + 1, 0)
        raise_failure(first, "cholesky_inverse", SINGULAR_INVERSE)
    identity = F.eye(self.shape[-1], dtype=self.dtype, device=self.device)
    return cholesky_solve(identity, self, upper)


def qr(self: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """The older form of ``linalg.qr``: ``some`` is the reduced mode."""
    warn_old("qr", "tengen.linalg.qr")
    return F.linalg_qr(self, "reduced" if some else "complete")


def linalg_eigh(self: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    """The eigenvalues, ascending, and the eigenvectors of Hermitian matrices, of which one half is read."""
    return _eigh(self, UPLO, True)


def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, ascending."""
    # The gradient needs the eigenvectors.
    return _eigh(self, UPLO, is_differentiated(self))[0]


def linalg_eigvals(self: Tensor) -> Tensor:
    """The eigenvalues, complex, in no particular order."""
    values: Tensor = F.linalg_eig(self)[0]
    return values


def linalg_svd(
    A: Tensor, full_matrices: bool = True, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition ``U diag(S) Vh``."""
    return _svd(A, full_matrices, True, driver)


def linalg_svdvals(A: Tensor, driver: str | None = None) -> Tensor:
    """The singular values, descending."""
    # The gradient needs the singular vectors.
    return _svd(A, False, is_differentiated(A), driver)[1]


def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """The older form of ``linalg.svd``: returns ``V``, and zeros for what is not computed."""
    u, s, vh = _svd(self, not some, compute_uv)
    if compute_uv:
        return u, s, vh.adjoint()
    *batch, m, n = self.shape
    return self.new_zeros((*batch, m, m)), s, self.new_zeros((*batch, n, n))


def linalg_lu_factor(A: Tensor, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """The LU factorisation in one matrix, and its row exchanges; RuntimeError for a zero pivot."""
    lu, pivots, info = F.linalg_lu_factor_ex(A, pivot=pivot)
    if info._type.backend.has_data:
        try:
            check_info(info.numpy(), "linalg.lu_factor: ", ZERO_PIVOT)
        except LinAlgError as error:  # PyTorch raises the plain class here
            raise RuntimeError(str(error)) from None
    return lu, pivots


def linalg_vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers ``0 .. N - 1`` of each element, in a new last dimension; a number counts as 1-d.
    RuntimeError for less than two powers, and for bool, float16 and bfloat16."""
    if x.dtype in (bool_, float16, bfloat16):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype}"
        )
    if x.ndim == 0:
        x = x.unsqueeze(0)
    size = x.shape[-1] if N is None else N
    if size <= 1:
        raise RuntimeError("linalg.vander: N must be greater than 1.")
    wide = x.unsqueeze(-1).expand((*x.shape, size - 1))
    powers = wide.cumprod(-1)
    return F.cat([F.ones_like(powers[..., :1]), powers], -1)


# ---------------------------------------------------------------------------------- norms


def _norm_dtype(self: Tensor, dtype: dtype | None, operator: str) -> Tensor:
    """``self`` in the dtype that the norm is to be computed in; RuntimeError for integers."""
    chosen = self.dtype if dtype is None else dtype
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            f"{operator}: Expected a floating point or complex tensor as input. Got {self.dtype}"
        )
    if not chosen.is_inexact:
        raise RuntimeError(f"{operator}: dtype should be floating point or complex, but got {chosen}")
    return self if dtype is None else self.to(dtype)


def _matrix_dims(self: Tensor, dim: Sequence[int]) -> tuple[int, int]:
    """The two dimensions of a matrix norm, counted from the front."""
    _check_matrix(self, "linalg.matrix_norm")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    rows, columns = wrap_dim(dim[0], self.ndim), wrap_dim(dim[1], self.ndim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return rows, columns


def linalg_matrix_norm(
    self: Tensor,
    ord: Number,
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Tensor:
    """The norm of matrices for ``ord`` 2, -2 (singular values), 1, -1 (columns), inf or -inf (rows).
    RuntimeError for another, for integers, and for a ``dim`` that is not two."""
    rows, columns = _matrix_dims(self, dim)
    if ord not in (1, -1, 2, -2, inf, -inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    self = _norm_dtype(self, dtype, "linalg.matrix_norm")
    largest = ord in (1, 2, inf)
    if abs(ord) == 2:
        values = _singular_values(self, rows, columns)
        if not values.shape[-1] and largest:
            values = F.cat([values, values.new_zeros((*values.shape[:-1], 1))], -1)
        result = values.amax(-1) if largest else values.amin(-1)
        return _restored(result, rows, columns) if keepdim else result
    along, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = F.linalg_vector_norm(self, 1, along, True)
    if largest and not sums.shape[over]:
        sums = sums.sum(over, True)
    result = sums.amax((over,), True) if largest else sums.amin((over,), True)
    return result if keepdim else _without(result, rows, columns)


def linalg_matrix_norm_str_ord(
    self: Tensor,
    ord: str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Tensor:
    """The Frobenius norm (``"fro"``) or the sum of the singular values (``"nuc"``). RuntimeError for another,
    for integers, and for a ``dim`` that is not two."""
    rows, columns = _matrix_dims(self, dim)
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    self = _norm_dtype(self, dtype, "linalg.matrix_norm")
    if ord == "fro":
        return F.linalg_vector_norm(self, 2, (rows, columns), keepdim)
    result = _singular_values(self, rows, columns).sum(-1)
    return _restored(result, rows, columns) if keepdim else result


def _singular_values(self: Tensor, rows: int, columns: int) -> Tensor:
    others = [d for d in range(self.ndim) if d not in (rows, columns)]
    return linalg_svdvals(self.permute([*others, rows, columns]))


def _restored(self: Tensor, *dims: int) -> Tensor:
    """With dimensions of size 1 at the places ``dims``."""
    for d in sorted(dims):
        self = self.unsqueeze(d)
    return self


def _without(self: Tensor, *dims: int) -> Tensor:
    """Without the dimensions ``dims``, which have size 1."""
    for d in sorted(dims, reverse=True):
        self = self.squeeze(d)
    return self


def linalg_norm(
    self: Tensor,
    ord: Number | None = None,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Tensor:
    """A vector norm over one dimension, a matrix norm over two; without ``ord``, of all elements.
    RuntimeError for other numbers of dimensions, of ``dim`` or, with an ``ord`` alone, of ``self``."""
    if dim is not None:
        if len(dim) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}"
            )
    elif ord is not None and self.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.ndim}D."
        )
    if ord is not None and (len(dim) if dim is not None else self.ndim) == 2:
        return linalg_matrix_norm(self, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    return F.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def linalg_norm_ord_str(
    self: Tensor,
    ord: str,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Tensor:
    """A matrix norm by its name, ``"fro"`` or ``"nuc"``. RuntimeError for another, and without ``dim`` for
    more than two dimensions."""
    if dim is None:
        if self.ndim not in (1, 2):
            raise RuntimeError(
                "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
                f"Got {self.ndim}D."
            )
        dim = (0, 1)
    return linalg_matrix_norm_str_ord(self, ord, dim, keepdim, dtype=dtype)


def frobenius_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over ``dim``. RuntimeError for more than two."""
    if len(dim) > 2:
        raise RuntimeError(
            f"frobenius_norm: Expected at most 2 dimensions, but got {len(dim)} dimensions instead."
        )
    return F.linalg_vector_norm(self, 2, dim, keepdim)


def nuclear_norm(self: Tensor, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix."""
    return linalg_matrix_norm_str_ord(self, "nuc", (0, 1), keepdim)


def nuclear_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """The sum of the singular values over two dimensions."""
    return linalg_matrix_norm_str_ord(self, "nuc", dim, keepdim)


def linalg_cond(self: Tensor, p: Number | None = None) -> Tensor:
    """The condition number: the norm of a matrix times that of its inverse; inf for a singular one.
    RuntimeError for a ``p`` other than 1, 2, infinity and their negatives."""
    _check_matrix(self, "linalg.cond")
    if p is None or p in (2, -2):
        values = linalg_svdvals(self)
        if not values.shape[-1]:
            return values.sum(-1)
        most, least = values[..., 0], values[..., -1]
        return least / most if p == -2 else most / least
    if p not in (1, -1, inf, -inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    return _cond_by_inverse(self, p)


def linalg_cond_p_str(self: Tensor, p: str) -> Tensor:
    """The condition number for the Frobenius or the nuclear norm. RuntimeError for another norm."""
    _check_matrix(self, "linalg.cond")
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p == "nuc":
        _check_square(self, "linalg.cond(ord=nuc)")
        values = linalg_svdvals(self)
        return values.sum(-1) * values.reciprocal().sum(-1)
    return _cond_by_inverse(self, p)


def _cond_by_inverse(self: Tensor, p: Number | str) -> Tensor:
    _check_square(self, f"linalg.cond(ord={p})")
    inverse, info = F.linalg_inv_ex(self)
    if isinstance(p, str):
        result = linalg_matrix_norm_str_ord(self, p) * linalg_matrix_norm_str_ord(inverse, p)
    elif not self.numel():
        return F.zeros(self.shape[:-2], dtype=self.dtype, device=self.device).abs()
    else:
        result = linalg_matrix_norm(self, p) * linalg_matrix_norm(inverse, p)
    return F.where(info == 0, result, inf)
