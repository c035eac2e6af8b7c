"""What a tensor is below some levels of vmap, and back again.

Newer levels than these stay: a cotangent may be batched by a ``vmap`` that began after the function was
run. So may tangents of tensors that are not batched themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.forward.forward_grad import levels as forward_levels
from ..autograd.forward.forward_grad import tangent_of, wraps
from .batched import front, is_of, wrap

if TYPE_CHECKING:
    from .level import VmapLevel


def lower(tensor: Any, levels: Sequence[VmapLevel]) -> Any:
    """The tensor below the levels, their dimensions in front, the outermost's first.

    It is expanded, as a view, over the levels of which it has no examples. ``levels`` are all that there
    were at some time, the outermost first.
    """
    if not levels:
        return tensor
    if wraps(tensor) and tensor._layer not in levels:
        below = lower(front(tensor), [*levels])
        # The dimension of the newer level is now behind those of the older ones.
        return wrap(below, len(levels), tensor._layer)
    layer = levels[-1]
    below = front(tensor) if is_of(tensor, layer) else _expanded(tensor, layer)
    # Its first dimension comes last of those of the levels, in front of the function's own.
    return lower(below, levels[:-1])


def _expanded(tensor: Any, layer: VmapLevel) -> Any:
    """The tensor, of which the level has no examples, for each of its examples."""
    shape = (layer.size, *tensor._array.shape)
    tangents = [(level, tangent_of(tensor, level)) for level in forward_levels()]
    if all([t is None for _, t in tangents]):
        return tensor.expand(shape)
    # A tangent may have examples all the same.
    return _with_tangents(tensor, shape, layer, tangents)


def _with_tangents(tensor: Any, shape: Any, layer: VmapLevel, tangents: list[tuple[Any, Any]]) -> Any:
    if not tangents:
        return tensor.expand(shape)
    level, tangent = tangents[0]
    with level.masked():
        out = _with_tangents(tensor, shape, layer, tangents[1:])
        if tangent is not None:
            tangent = front(tangent) if is_of(tangent, layer) else _expanded(tangent, layer)
    level.set(out, tangent)
    return out


def lift(tensor: Any, levels: Sequence[VmapLevel]) -> Any:
    """The inverse of ``lower``: the first dimensions of the tensor are those of the levels."""
    if not levels:
        return tensor
    if wraps(tensor) and tensor._layer not in levels:
        # The levels' own come first in the value, too, in front of the newer one's.
        value = tensor._value if tensor._bdim == len(levels) else front(tensor).movedim(0, len(levels))
        return wrap(lift(value, levels), 0, tensor._layer)
    for layer in levels:
        tensor = wrap(tensor, 0, layer)
    return tensor
