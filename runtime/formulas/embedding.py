"""What the derivative formulas of bags of embeddings call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..kernels.nn.embedding_bag import AVERAGE, GREATEST

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def _of_bags(self: Tensor, bag: Tensor) -> Tensor:
    """For each index the row of its bag, or zeros if it is in none: a row behind those of the bags."""
    rows = F.cat([self, self.new_zeros((1, self.shape[1]))])
    return rows.index_select(0, F.where(bag < 0, len(self), bag))


def embedding_bag_weight_gradient(
    grad: Tensor,
    num_weights: int,
    indices: Tensor,
    bag: Tensor,
    sizes: Tensor,
    chosen: Tensor,
    per_sample_weights: Tensor | None,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    padding_idx: int,
) -> Tensor:
    """The gradient for the table: each bag's, to the rows in it, or to those that the maxima are from."""
    if mode == GREATEST:
        kept = F.where(chosen >= 0, grad, 0)
        zeros = grad.new_zeros((num_weights, grad.shape[1]))
        return zeros.scatter_add(0, chosen.clamp(min=0).long(), kept)
    if mode == AVERAGE:
        grad = grad / sizes.clamp(min=1).unsqueeze(1)
    rows = _of_bags(grad, bag)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    backward = F.embedding_sparse_backward if sparse else F.embedding_dense_backward
    return backward(rows, indices, num_weights, padding_idx, scale_grad_by_freq)


def embedding_bag_sample_gradient(
    grad: Tensor, weight: Tensor, indices: Tensor, bag: Tensor, padding_idx: int
) -> Tensor:
    """The gradient for the weights of the indices: the product of each row with its bag's."""
    product = (_of_bags(grad, bag) * weight.index_select(0, indices)).sum(1)
    return product.masked_fill(indices == padding_idx, 0)


def embedding_bag_jvp(
    weight: Tensor,
    weight_t: Tensor,
    indices: Tensor,
    offsets: Tensor,
    per_sample_weights: Tensor | None,
    per_sample_weights_t: Tensor | None,
    mode: int,
    include_last_offset: bool,
    padding_idx: int,
    chosen: Tensor,
) -> Tensor:
    """The tangent of the bags."""
    if mode == GREATEST:
        return F.where(chosen >= 0, weight_t.gather(0, chosen.clamp(min=0).long()), 0)

    def bags(table: Tensor, weights: Tensor | None) -> Tensor:
        rest = (False, mode, False, weights, include_last_offset, padding_idx)
        return F._embedding_bag(table, indices, offsets, *rest)[0]

    out = bags(weight_t, per_sample_weights)
    return out if per_sample_weights is None else out + bags(weight, per_sample_weights_t)
