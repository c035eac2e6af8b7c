"""Forward mode under vmap: the tangents of a BatchedTensor are those of its value.

A tensor may wrap others at several levels of vmap, the newest outermost; so does its tangent, which may
be of more levels than the tensor is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.tensor_base import TensorBase
from ...func.batched import ensure_batch_dim, move_batch_dim_to_front, wrap
from .forward_grad import tangent_of, wraps
from .tangents import moved

if TYPE_CHECKING:
    from .forward_grad import ForwardLevel


def vmap_levels_of(tensor: Any) -> list[Any]:
    """The levels of vmap that a tensor is of, the outermost, which is the oldest, first."""
    found = []
    while wraps(tensor):
        found.append(tensor._layer)
        tensor = tensor._value
    return found[::-1]


def unwrap_level(tensor: Any, layer: Any) -> Any:
    """A tensor below a level of vmap, with that level's batch dimension in front; newer levels stay."""
    if wraps(tensor) and tensor._layer.level > layer.level:
        return wrap(unwrap_level(tensor._value, layer), tensor._bdim + 1, tensor._layer)
    return ensure_batch_dim(tensor, layer)


def wrap_level(tensor: Any, bdim: int, layer: Any) -> Any:
    """A tensor with its dimension ``bdim`` hidden by a level of vmap, below the newer levels."""
    if wraps(tensor) and tensor._layer.level > layer.level:
        place = bdim + (bdim >= tensor._bdim)
        return wrap(
            wrap_level(tensor._value, place, layer), tensor._bdim - (tensor._bdim > place), tensor._layer
        )
    return wrap(tensor, bdim, layer)


def batched_tangent(tensor: Any, level: ForwardLevel) -> Any:
    """The tangent of a BatchedTensor: its value's, wrapped at the same level of vmap."""
    found = tangent_of(tensor._value, level)
    return None if found is None else wrap_level(found, tensor._bdim, tensor._layer)


def make_batched_dual(primal: Any, tangent: Any, level: ForwardLevel) -> Any:
    """The dual of a BatchedTensor: it wraps the dual of the value."""
    layer = primal._layer
    return wrap(level.make_dual(move_batch_dim_to_front(primal), unwrap_level(tangent, layer)), 0, layer)


def set_batched_tangent(tensor: Any, tangent: Any, level: ForwardLevel) -> None:
    """Set the tangent of a BatchedTensor: that of its value."""
    if tangent is not None:
        with level.disabled():
            tangent = moved(unwrap_level(tangent, tensor._layer), 0, tensor._bdim)
    level.set(tensor._value, tangent)


def unpack_batched_dual(dual: Any, level: ForwardLevel) -> tuple[Any, Any]:
    """The primal and the tangent of a BatchedTensor, as ``level.unpack`` returns them."""
    primal, tangent = level.unpack(dual._value)
    at = dual._bdim, dual._layer
    return wrap(primal, *at), None if tangent is None else wrap_level(tangent, *at)


def align_batch_dims(level: ForwardLevel, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a call, expanded for vmap where their tangents are batched.

    An operand that is not batched at a level is expanded by the batch dimension if its tangent is batched and
    another operand is: below that level its tangent has to be found.
    """
    present = {id(layer) for value in arguments for layer in _layers_in(value)}
    return tuple([_expand_like_tangent(level, value, present) for value in arguments])


def _layers_in(value: Any) -> list[Any]:
    if value.__class__ in (list, tuple):
        return [layer for v in value for layer in _layers_in(v)]
    return vmap_levels_of(value) if isinstance(value, TensorBase) else []


def _expand_like_tangent(level: ForwardLevel, value: Any, present: set[int]) -> Any:
    if value.__class__ in (list, tuple):
        raised = [_expand_like_tangent(level, v, present) for v in value]
        return raised if any([a is not b for a, b in zip(raised, value, strict=True)]) else value
    tangent = tangent_of(value, level) if isinstance(value, TensorBase) else None
    if tangent is None:
        return value
    own = vmap_levels_of(value)
    others = [layer for layer in vmap_levels_of(tangent) if layer not in own]
    if not any([id(layer) in present for layer in others]):
        return value
    all_layers = sorted([*own, *others], key=lambda layer: layer.level)
    dual, tangent = level.unpack(value)
    for layer in reversed(all_layers):
        dual, tangent = unwrap_level(dual, layer), unwrap_level(tangent, layer)
    dual = level.make_dual(dual, tangent)
    for layer in all_layers:
        dual = wrap(dual, 0, layer)
    return dual
