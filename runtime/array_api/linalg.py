"""Linear algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tengen.generated import functions as _f, linalg_functions as _linalg

from .. import functional
from ..core.scalar_type import dtype as DType
from ..tensors.tensor import Tensor
from .manipulation_functions import matrix_transpose as matrix_transpose
from .operands import one_axis, operands
from .statistical_functions import sum as _sum


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors of matrices."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of symmetric matrices."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """The factors of QR."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The signs of determinants, and the logarithms of their absolute values."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """The factors of the singular value decomposition."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The lower factors of Cholesky, or the upper ones."""
    return _linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of three elements."""
    return _linalg.cross(*_aligned("cross", x1, x2, axis), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants."""
    return _linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices, a view."""
    return _f.diagonal(x, offset, -2, -1)


def eig(x: Tensor, /) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices, complex."""
    return EigResult(*_linalg.eig(x))


def eigh(x: Tensor, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    return EighResult(*_linalg.eigh(x))


def eigvals(x: Tensor, /) -> Tensor:
    """Eigenvalues of square matrices, complex."""
    return _linalg.eigvals(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices."""
    return _linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses."""
    return _linalg.inv(x)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Products of matrices, of matrices and vectors, or of vectors."""
    return _f.matmul(*operands("matmul", x1, x2))


def matrix_norm(
    x: Tensor, /, *, keepdims: bool = False, ord: int | float | Literal["fro", "nuc"] | None = "fro"
) -> Tensor:
    """The norms of matrices; ``ord`` as in ``tengen.linalg.matrix_norm``, None as ``"fro"``."""
    return _linalg.matrix_norm(x, "fro" if ord is None else ord, (-2, -1), keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """The ``n``-th powers of square matrices."""
    return _linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are greater than ``rtol`` times the greatest."""
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of each element of a vector with each of another."""
    return _f.outer(*operands("outer", x1, x2))


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverses; singular values below ``rtol`` times the greatest count as zero."""
    return _linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """The factors of QR."""
    return QRResult(*_linalg.qr(x, mode=mode))


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values."""
    return SlogdetResult(*_linalg.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solutions of ``x1 @ x == x2``; ``x2`` is a vector only where it has one dimension."""
    x1, x2 = operands("solve", x1, x2)
    if x2.dim() == 1:
        return _linalg.solve(x1, x2.unsqueeze(-1)).squeeze(-1)
    batch = functional.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _linalg.solve(x1, x2.expand(*batch, *x2.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult:
    """The factors of the singular value decomposition."""
    return SVDResult(*_linalg.svd(x, full_matrices=full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values, the greatest first."""
    return _linalg.svdvals(x)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sums of products over the last axes of ``x1`` and the first of ``x2``, or over named ones."""
    x1, x2 = operands("tensordot", x1, x2)
    return functional.tensordot(x1, x2, axes)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sums of diagonals, of integers in int64."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The sums of ``conj(x1) * x2`` along an axis, counted from the last."""
    x1, x2 = _aligned("vecdot", x1, x2, axis)
    if x1.dtype.is_inexact:
        return _linalg.vecdot(x1, x2, dim=axis)
    return _f.sum(_f.mul(x1, x2), axis, dtype=x1.dtype)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | float = 2,
) -> Tensor:
    """The norms of vectors; without an axis that of all elements."""
    if axis == ():
        return _f.ne(x, 0).to(_f.abs(x).dtype) if ord == 0 else _f.abs(x)
    return _linalg.vector_norm(x, ord, axis, keepdims)


def _aligned(function: str, x1: Tensor, x2: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Both of one shape and dtype. ValueError unless they have equally many elements along the axis."""
    sizes = [x.shape[one_axis(x, axis)] for x in (x1, x2)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"{function}(): axis {axis} has {sizes[0]} and {sizes[1]} elements")
    first, second = functional.broadcast_tensors(*operands(function, x1, x2))
    return first, second
