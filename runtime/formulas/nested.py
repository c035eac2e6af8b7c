"""What derivative formulas of nested tensors call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from ..native.dims import wrap_dim

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def nested_mean_backward(grad: Tensor, self: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The gradient of a mean over dimensions, of which there are not as many elements in each part."""
    counts = F.ones_like(self).sum(dim, keepdim)
    return F._nested_expand_as(F._restore_dims(grad / counts, dim, keepdim, self.ndim), self)


def nested_unbind_backward(grads: Sequence[Tensor | None], self: Tensor) -> Tensor:
    """The gradients of the parts as those of the whole; zeros where there is none."""
    found = [
        F.zeros_like(part) if grad is None else grad for grad, part in zip(grads, self.unbind(), strict=True)
    ]
    return F._nested_with_parts(found, self)


def nested_split_backward(
    grads: Sequence[Tensor | None], self: Tensor, split_sizes: Sequence[int], dim: int
) -> Tensor | None:
    """The gradients of pieces along a dimension, each in its place."""
    total: Tensor | None = None
    start = 0
    for grad, size in zip(grads, split_sizes, strict=True):
        if grad is not None:
            placed = F._nested_slice_backward(grad, self, dim, start, start + size, 1)
            total = placed if total is None else total + placed
        start += size
    return total


def nested_cat_backward(grad: Tensor, tensors: Sequence[Tensor], dim: int) -> list[Tensor]:
    """The part of the gradient that each of the tensors is."""
    at, start = wrap_dim(dim, grad.ndim), 0
    found = []
    for tensor in tensors:
        size = tensor.shape[at]
        found.append(F.slice(grad, at, start, start + size, 1))
        start += size
    return found
