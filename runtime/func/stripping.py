"""What a tensor is below some levels of vmap, and back again.

Newer levels than these stay: a cotangent may be batched by a ``vmap`` that began after the function was
run. So may tangents of tensors that are not batched themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.forward.forward_grad import levels as forward_levels, tangent_of, wraps
from .batched import is_batched_at, move_batch_dim_to_front, wrap

if TYPE_CHECKING:
    from .level import VmapLevel


def unwrap_levels(tensor: Any, levels: Sequence[VmapLevel]) -> Any:
    """The tensor below the levels, their dimensions in front, the outermost's first.

    It is expanded, as a view, over the levels at which it is not batched. ``levels`` are all that there
    were at some time, the outermost first.
    """
    if not levels:
        return tensor
    if wraps(tensor) and tensor._layer not in levels:
        below = unwrap_levels(move_batch_dim_to_front(tensor), [*levels])
        # The dimension of the newer level is now behind those of the older ones.
        return wrap(below, len(levels), tensor._layer)
    layer = levels[-1]
    below = move_batch_dim_to_front(tensor) if is_batched_at(tensor, layer) else _expanded(tensor, layer)
    # Its first dimension comes last of those of the levels, in front of the function's own.
    return unwrap_levels(below, levels[:-1])


def _expanded(tensor: Any, layer: VmapLevel) -> Any:
    """The tensor, which is not batched at the level, expanded by its batch dimension."""
    shape = (layer.size, *tensor._array.shape)
    tangents = [(level, tangent_of(tensor, level)) for level in forward_levels()]
    if all([t is None for _, t in tangents]):
        return tensor.expand(shape)
    # Its tangent may be batched nevertheless.
    return _with_tangents(tensor, shape, layer, tangents)


def _with_tangents(tensor: Any, shape: Any, layer: VmapLevel, tangents: list[tuple[Any, Any]]) -> Any:
    if not tangents:
        return tensor.expand(shape)
    level, tangent = tangents[0]
    with level.disabled():
        out = _with_tangents(tensor, shape, layer, tangents[1:])
        if tangent is not None:
            tangent = (
                move_batch_dim_to_front(tangent)
                if is_batched_at(tangent, layer)
                else _expanded(tangent, layer)
            )
    level.set(out, tangent)
    return out


def wrap_levels(tensor: Any, levels: Sequence[VmapLevel]) -> Any:
    """The inverse of ``unwrap_levels``: the first dimensions of the tensor are those of the levels."""
    if not levels:
        return tensor
    if wraps(tensor) and tensor._layer not in levels:
        # The levels' own come first in the value, too, in front of the newer one's.
        value = (
            tensor._value
            if tensor._bdim == len(levels)
            else move_batch_dim_to_front(tensor).movedim(0, len(levels))
        )
        return wrap(wrap_levels(value, levels), 0, tensor._layer)
    for layer in levels:
        tensor = wrap(tensor, 0, layer)
    return tensor
