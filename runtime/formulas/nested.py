"""What derivative formulas of nested tensors call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from ..kernels.dims import wrap_dim
from .reduction import prod_backward

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def stack_backward(grad: Tensor, dim: int) -> list[Tensor]:
    """The gradients of tensors that were stacked along a dimension of the parts."""
    return [one.squeeze(dim) for one in grad.split(1, dim)]


def nested_mean_backward(grad: Tensor, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The gradient of a mean over dimensions, of which there are not as many elements in each component."""
    counts = F.ones_like(self).sum(dim, keepdim)
    return F._nested_expand_as(F._restore_dims(grad / counts, dim, keepdim, self.ndim), self)


def nested_extreme_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient of the greatest or the least element, in equal shares to all elements that are it."""
    chosen = self.isnan() if result.isnan() else self == result
    return F._nested_expand_as(grad / chosen.sum(), self) * chosen


def nested_selected_backward(grad: Tensor, self: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """The gradient of elements that were selected along a dimension of each component."""
    at = wrap_dim(dim, self.ndim) - 1
    found = [
        F._value_selecting_reduction_backward(one, at, places, component.shape, keepdim)
        for one, places, component in zip(grad.unbind(), indices.unbind(), self.unbind(), strict=True)
    ]
    return F._nested_with_components(found, self)


def prod_of_nested_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient of the product of all elements."""
    components = self.unbind()
    weights = prod_backward(
        grad, F.cat([component.reshape(-1) for component in components]), result, None, False
    )
    split = weights.split([component.numel() for component in components])
    found = [each.reshape(one.shape) for each, one in zip(split, components, strict=True)]
    return F._nested_with_components(found, self)


def nested_prod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """The gradient of products along a dimension of each component."""
    at = wrap_dim(dim, self.ndim) - 1
    given = zip(grad.unbind(), self.unbind(), result.unbind(), strict=True)
    found = [prod_backward(one, component, product, at, keepdim) for one, component, product in given]
    return F._nested_with_components(found, self)


def nested_embedding_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """The gradient of the table of which rows were taken for the indices in all components."""
    backward = F.embedding_sparse_backward if sparse else F.embedding_dense_backward
    rows = F.cat([component.flatten(0, -2) for component in grad.unbind()])
    places = F.cat([component.reshape(-1) for component in indices.unbind()])
    return backward(rows, places, num_weights, padding_idx, scale_grad_by_freq)


def nested_unbind_backward(grads: Sequence[Tensor | None], self: Tensor) -> Tensor:
    """The gradients of the components as those of the whole; zeros where there is none."""
    found = [
        F.zeros_like(component) if grad is None else grad
        for grad, component in zip(grads, self.unbind(), strict=True)
    ]
    return F._nested_with_components(found, self)


def nested_split_backward(
    grads: Sequence[Tensor | None], self: Tensor, split_sizes: Sequence[int], dim: int
) -> Tensor | None:
    """The gradients of slices along a dimension, each in its place."""
    total: Tensor | None = None
    start = 0
    for grad, size in zip(grads, split_sizes, strict=True):
        if grad is not None:
            placed = F._nested_slice_backward(grad, self, dim, start, start + size, 1)
            total = placed if total is None else total + placed
        start += size
    return total
