"""Products and sums of which the gradients are sparse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F
from tengen.generated.functions import sparse_sampled_addmm as sampled_addmm

from ..core.memory_format import sparse_coo, sparse_csr, strided
from .named_errors import named

if TYPE_CHECKING:
    from ..core.scalar_type import dtype as DType
    from ..tensors.tensor import Tensor

__all__ = ["addmm", "mm", "sampled_addmm", "sum"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: The words of ``reduce``.
_REDUCTIONS = "sum mean amax amin"


@named
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices, of which one or both may be sparse.

    Sparse times sparse is sparse, everything else is strided. The gradient of a sparse matrix has the
    indices of that matrix. ``reduce``, of a matrix in the layout sparse_csr and a strided one, says what is
    made of the products for one element: ``"sum"``, ``"mean"``, ``"amax"`` or ``"amin"`` of those that are
    stored, and 0 where none is. RuntimeError for sizes that do not go together, for another word and for
    other layouts of such.
    """
    if reduce is not None:
        return _reduced(mat1, mat2, reduce)
    if mat1.layout is strided and mat2.layout is strided:
        return mat1.mm(mat2)
    if mat1.layout is not strided and mat2.layout is not strided:
        return F._sparse_sparse_matmul(mat1, mat2)
    if mat1.layout is strided:
        return mm(mat2.t(), mat1.t()).t()
    return F._sparse_addmm(mat2.new_zeros(()), mat1, mat2, beta=0)


def _reduced(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """``mm`` with another reduction than the sum, or with the sum by its name."""
    if reduce not in _REDUCTIONS.split():
        raise RuntimeError(f"sparse.mm: reduce must be sum, mean, amax or amin, but got {reduce!r}")
    if mat1.layout is not sparse_csr or mat2.layout is not strided:
        raise RuntimeError(
            f"sparse.mm: with reduce the first matrix must be sparse_csr and the second strided, but got "
            f"{mat1.layout} and {mat2.layout}"
        )
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"sparse.mm: mat1 and mat2 shapes cannot be multiplied ({list(mat1.shape)} and "
            f"{list(mat2.shape)})"
        )
    starts = mat1.crow_indices()
    rows = F.repeat_interleave(F.arange(mat1.shape[0]), starts[1:] - starts[:-1])
    products = mat1.values().unsqueeze(1) * mat2.index_select(0, mat1.col_indices())
    nothing = products.new_zeros((mat1.shape[0], mat2.shape[1]))
    if reduce == "sum":
        return nothing.index_add(0, rows, products)
    return nothing.index_reduce(0, rows, products, reduce, include_self=False)


@named
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """``beta * mat + alpha * mat1 @ mat2`` of a sparse ``mat1`` and strided others.

    The gradient of ``mat1`` has its indices. RuntimeError for sizes that do not go together.
    """
    return F._sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


@named
def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: DType | None = None) -> Tensor:
    """The sum of a tensor in coordinate format, of all elements or over dimensions.

    It is strided where no indexed dimension is left, else in coordinate format. The gradient of ``input``
    has its indices. RuntimeError for a tensor of another layout.
    """
    if input.layout is not sparse_coo:
        raise RuntimeError(
            f"sparse.sum: expected a tensor of the layout {sparse_coo}, but got {input.layout}"
        )
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        return input.coalesce().values().sum()
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if len({d % input.ndim for d in dims}) == input.ndim:
        return input.coalesce().values().sum()
    return F._sparse_sum(input, dims)
