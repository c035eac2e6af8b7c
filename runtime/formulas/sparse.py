"""What derivative formulas of sparse tensors call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..core.memory_format import sparse_bsr, sparse_coo, sparse_csr, strided

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def masked_as(grad: Tensor, self: Tensor) -> Tensor:
    """A gradient where a sparse tensor stores elements."""
    return grad.sparse_mask(self.coalesce() if self.layout is sparse_coo else self)


def to_dense_backward(grad: Tensor, self: Tensor, masked_grad: bool | None) -> Tensor:
    """The gradient of a sparse tensor that was made strided: where it stores elements, or everywhere."""
    if masked_grad is None or masked_grad:
        return masked_as(grad, self)
    if self.layout is sparse_coo:
        return grad.to_sparse(self.sparse_dim())
    where = grad
    if self.ndim - self.dense_dim() > 2:  # batches, which store equally many
        where = F.ones_like(grad)
    found = where.to_sparse(layout=self.layout, blocksize=self._blocksize, dense_dim=self.dense_dim())
    return found if where is grad else grad.sparse_mask(found)


def to_sparse_backward(grad: Tensor, layout: Any, blocksize: Sequence[int] | None) -> Tensor:
    """The gradient in the layout of what was made sparse."""
    return grad.to_dense() if layout is strided else grad.to_sparse(layout=layout, blocksize=blocksize)


def sparse_mask_backward(grad: Tensor, mask: Tensor, layout: Any, blocksize: Sequence[int] | None) -> Tensor:
    """The gradient of what was masked: zero where the mask stores nothing."""
    return to_sparse_backward(masked_as(grad, mask), layout, blocksize)


def values_backward(grad: Tensor, self: Tensor) -> Tensor:
    """A gradient of values as one of the sparse tensor."""
    if self.layout is sparse_coo:
        return F._sparse_coo_tensor_unsafe(self.indices(), grad, self.shape, True)
    by_rows = self.layout in (sparse_csr, sparse_bsr)
    compressed = self.crow_indices() if by_rows else self.ccol_indices()
    plain = self.col_indices() if by_rows else self.row_indices()
    return F._sparse_compressed_tensor_unsafe(compressed, plain, grad, self.shape, layout=self.layout)


def sparse_compressed_tensor_unsafe_backward(grad: Tensor, result: Tensor) -> Tensor:
    """The gradient of the values of a tensor in a compressed layout."""
    return grad.sparse_mask(result).values()


def sparse_addmm_backward(grad: Tensor, self: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """The gradient ``alpha * grad @ other`` of a sparse factor, computed where that stores elements."""
    if self.layout is not sparse_coo:
        return F.sparse_sampled_addmm(self, grad, other, beta=0, alpha=alpha.conjugate())
    self = self.coalesce()
    rows, columns = self._indices()
    products = grad.index_select(0, rows) * other.t().index_select(0, columns)
    values = products.sum(1) if alpha == 1 else products.sum(1) * alpha.conjugate()
    return F._sparse_coo_tensor_unsafe(self._indices(), values, self.shape, True)


def sparse_sampled_addmm_factor_backward(grad: Tensor, other: Tensor, alpha: Any) -> Tensor:
    """The gradient ``alpha * grad @ other`` of a factor of a product of which elements were chosen."""
    product = grad.matmul(other)
    return product if alpha == 1 else product * alpha.conjugate()


def sparse_sum_backward(grad: Tensor, self: Tensor, dim: Sequence[int]) -> Tensor:
    """The gradient of a sum over dimensions: that of each sum, at the indices of what was added."""
    self = self.coalesce()
    summed = [d % self.ndim for d in dim]
    kept = [d for d in range(self.sparse_dim()) if d not in summed]
    indices = self._indices()
    if grad.layout is sparse_coo:
        places = F.stack([indices[d] for d in kept])
        nothing = grad._values().new_zeros((self._nnz(), *grad.shape[len(kept) :]))
        values = grad.sparse_mask(F._sparse_coo_tensor_unsafe(places, nothing, grad.shape, False))._values()
    else:
        values = grad.unsqueeze(0)
    shape = (self._nnz(), *self.shape[self.sparse_dim() :])
    for d in sorted(summed):
        if d >= self.sparse_dim():
            values = values.unsqueeze(1 + d - self.sparse_dim())
    return F._sparse_coo_tensor_unsafe(indices, values.expand(shape), self.shape, True)
