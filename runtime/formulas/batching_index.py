"""Batching rules of advanced indices. Every tensor is a value: its dimension 0 is the batch dimension.

NumPy's rule, which is PyTorch's: the dimensions of the indices stand where the first index did when the
indices are next to each other, and in front of all others when they are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.scalar_type import bool_, int64, uint8
from ..kernels.layout import broadcast_shapes, contiguous_strides
from ..kernels.positions import check_static_size

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Indices = Sequence["Tensor | None"]
_MASKS = (bool_, uint8)


class _Plan:
    """How a logical advanced index becomes a physical one.

    ``order`` puts the indexed logical dimensions first; ``front`` is how many of the others precede
    the indices' dimensions in the result.
    """

    def __init__(self, ndim: int, indices: Sequence[Tensor | None]) -> None:
        indexed = [d for d, index in enumerate(indices) if index is not None]
        rest = [d for d in range(ndim) if d not in indexed]
        adjacent = indexed[-1] - indexed[0] == len(indexed) - 1
        self.order = (0, *[d + 1 for d in indexed], *[d + 1 for d in rest])
        self.front = indexed[0] if adjacent else 0
        self.indexed = len(indexed)

    def restored(self) -> tuple[int, ...]:
        """The inverse of ``order``."""
        return tuple(sorted(range(len(self.order)), key=self.order.__getitem__))

    def to_result(self, count: int, ndim: int) -> tuple[int, ...]:
        """From (B, indices, others) to the dimensions of the result; ``count`` are the indices'."""
        others = range(1 + count, ndim)
        return (0, *others[: self.front], *range(1, 1 + count), *others[self.front :])


def _integers(indices: Indices, own: Sequence[bool]) -> list[Tensor | None]:
    """The indices with each unbatched mask as the positions where it is true.

    Raises RuntimeError for a batched mask.
    """
    made: list[Tensor | None] = []
    for index, is_own in zip(indices, own, strict=True):
        if index is None or index.dtype not in _MASKS:
            made.append(index)
        elif is_own:
            raise RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
                "batch over indexing with a boolean mask."
            )
        else:
            made += list(index.nonzero().unbind(1)) if index.ndim else [index.nonzero().reshape(-1)]
    return made


def index_batched_self(self: Tensor, indices: Indices) -> Tensor:
    """``index`` with unbatched indices."""
    chosen = _integers(indices, [False] * len(indices))
    plan = _Plan(self.ndim - 1, chosen)
    count = max([i.ndim for i in chosen if i is not None])
    found = F.index(self.permute(plan.order), [None, *[i for i in chosen if i is not None]])
    return found.permute(plan.to_result(count, found.ndim))


def index_batched(self: Tensor, indices: Indices) -> Tensor:
    """``index`` with batched indices."""
    chosen, plan, count = _own(self.ndim - 1, indices)
    found = F.index(self.permute(plan.order), chosen)
    return found.permute(plan.to_result(count, found.ndim))


def index_put_batched(self: Tensor, indices: Indices, values: Tensor, accumulate: bool) -> Tensor:
    """``index_put`` with batched indices and values."""
    chosen, plan, count = _own(self.ndim - 1, indices)
    ordered = self.permute(plan.order)
    size = len(self)
    places = broadcast_shapes(*[i.shape for i in chosen])[1:]
    shape = (*places, *ordered.shape[1 + plan.indexed :])
    # The values are laid out as the result of the index is; here the indices' dimensions come first.
    layout = plan.to_result(count, 1 + len(shape))
    sizes = [(size, *shape)[d] for d in layout]
    missing = len(sizes) - values.ndim
    given = values.view((size, *[1] * missing, *values.shape[1:])) if missing > 0 else values
    back = tuple(sorted(range(len(layout)), key=layout.__getitem__))
    made = ordered.index_put(chosen, given.expand(sizes).permute(back), accumulate)
    return made.permute(plan.restored())


def index_backward_batched(grad_output: Tensor, sizes: Sequence[int], indices: Indices) -> Tensor:
    """The gradient of ``index_batched``: zeros to which ``grad_output`` is added at the indices."""
    zeros = grad_output.new_zeros((len(grad_output), *sizes))
    return index_put_batched(zeros, indices, grad_output, True)


def _own(ndim: int, indices: Indices) -> tuple[list[Tensor], _Plan, int]:
    """The indices of the ordered values, the batch dimension's first; the plan; the rank of the indices."""
    # An unbatched index was expanded, or the batch size is 1: then its mask is the same for each slice.
    own = [i is not None and len(i) > 1 and i.stride(0) != 0 for i in indices]
    size = next(len(i) for i in indices if i is not None)
    given: list[Tensor | None] = []
    for index, is_own in zip(indices, own, strict=True):
        if index is None or index.dtype not in _MASKS:
            given.append(index)
        else:
            shared = index if is_own else index[0] if size else index.new_zeros(index.shape[1:])
            for part in _integers([shared], [is_own]):
                assert part is not None
                given.append(part.expand((size, *part.shape)))
    plan = _Plan(ndim, given)
    chosen = [i for i in given if i is not None]
    count = max([i.ndim for i in chosen]) - 1
    padded = [i.view((size, *[1] * (count + 1 - i.ndim), *i.shape[1:])) for i in chosen]
    numbers = F.arange(size, device=padded[0].device).view((size, *[1] * count))
    return [numbers, *padded], plan, count


def nonzero_static_by_scattering(self: Tensor, size: int, fill_value: int) -> Tensor:
    """The positions of what is not 0, each sent to its row; the row behind the last takes the others."""
    check_static_size(size)
    mask = (self != 0).reshape(-1)
    ranks = mask.cumsum(0)
    rows = F.where(mask & (ranks <= size), ranks - 1, size)
    numbers = F.arange(mask.shape[0], device=self.device)
    flat = F.full((size + 1,), -1, dtype=int64, device=self.device).scatter(0, rows, numbers)[:size]
    if not self.ndim:
        return F.zeros((size, 0), dtype=int64, device=self.device)
    steps = contiguous_strides(tuple(self.shape))
    places = [F.floor_divide(flat, step) % max(n, 1) for n, step in zip(self.shape, steps, strict=True)]
    return F.stack(places, -1).masked_fill(flat.unsqueeze(-1) < 0, fill_value)
