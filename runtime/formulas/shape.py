"""What the derivative formulas of shape operators call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..kernels.dims import wrap_dim
from ..kernels.layout import extent
from ..kernels.views import split_sizes

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Shape = tuple[int, ...]
Gradients = Sequence["Tensor | None"]


def permute_inverse(dims: Sequence[int]) -> Shape:
    """The permutation that undoes ``dims``."""
    inverse = [0] * len(dims)
    for i, d in enumerate(dims):
        inverse[d] = i
    return tuple(inverse)


def cat_backward(grad: Tensor, shapes: Sequence[Shape], dim: int) -> tuple[Tensor, ...]:
    """The part of ``grad`` that belongs to each of the tensors; empty 1-d ones have none."""
    d = wrap_dim(dim, grad.ndim)
    sizes = [0 if shape == (0,) else shape[d] for shape in shapes]
    parts = grad.split_with_sizes(sizes, d)
    return tuple(
        [grad.new_zeros((0,)) if shape == (0,) else part for shape, part in zip(shapes, parts, strict=True)]
    )


def sliced_cat_backward(grad: Tensor, tensors: Sequence[Tensor], dim: int) -> list[Tensor]:
    """The part of ``grad`` that belongs to each of the tensors, in layouts that have slices but no views."""
    at, start = wrap_dim(dim, grad.ndim), 0
    found = []
    for tensor in tensors:
        size = tensor.shape[at]
        found.append(F.slice(grad, at, start, start + size, 1))
        start += size
    return found


def repeat_backward(grad: Tensor, repeats: Sequence[int], shape: Sequence[int]) -> Tensor:
    """The sum over the repetitions."""
    if 0 in repeats:
        return grad.new_zeros(tuple(shape))
    missing = len(repeats) - len(shape)
    split: list[int] = []
    over: list[int] = []
    for d, r in enumerate(repeats):
        if r != 1 or d < missing:
            over.append(len(split))
            split.append(r)
        if d >= missing:
            split.append(shape[d - missing])
    if not over:
        return grad
    return grad.reshape(tuple(split)).sum(tuple(over))


def split_with_sizes_backward(
    grads: Gradients, sizes: Sequence[int], dim: int, shape: Sequence[int]
) -> Tensor:
    """The gradients of the pieces one behind the other, zeros for those that have none."""
    d = wrap_dim(dim, len(shape))
    some = next(g for g in grads if g is not None)
    parts = []
    for g, n in zip(grads, sizes, strict=True):
        parts.append(some.new_zeros((*shape[:d], n, *shape[d + 1 :])) if g is None else g)
    return F.cat(parts, d)


def split_backward(grads: Gradients, split_size: int, dim: int, shape: Sequence[int]) -> Tensor:
    """As split_with_sizes_backward, for pieces of one size."""
    return split_with_sizes_backward(grads, split_sizes(shape[dim], split_size), dim, shape)


def unbind_backward(grads: Gradients, dim: int, shape: Sequence[int]) -> Tensor:
    """The gradients of the slices side by side, zeros for those that have none."""
    d = wrap_dim(dim, len(shape))
    some = next((g for g in grads if g is not None), None)
    if some is None:
        return F.zeros(tuple(shape))
    slice_shape = (*shape[:d], *shape[d + 1 :])
    return F.stack([some.new_zeros(slice_shape) if g is None else g for g in grads], d)


# -- strided ------------------------------------------------------------------------------------------


def strided_extent(
    self_size: Sequence[int],
    self_stride: Sequence[int],
    self_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> int:
    """How many elements of memory a tensor and a view of it need."""
    begin = self_offset if storage_offset is None else storage_offset
    return max(self_offset + extent(self_size, self_stride), begin + extent(size, stride), 1)


def as_strided_scatter_jvp(
    self_t: Tensor,
    src_t: Tensor,
    self_size: Sequence[int],
    self_stride: Sequence[int],
    self_offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """The tangents, written as the values are: that of self is laid out in memory as self is."""
    length = strided_extent(self_size, self_stride, self_offset, size, stride, storage_offset)
    memory = F._as_strided_gather(self_t, self_size, self_stride, self_offset, (length,), (1,), 0)
    laid_out = memory.as_strided(self_size, self_stride, self_offset)
    return laid_out.as_strided_scatter(src_t, size, stride, storage_offset)
