"""In-place operators that give a tensor another shape, or another array, and not only other elements."""

from __future__ import annotations

from typing import Any, TypeVar

from ..core.interception import active
from ..core.storage import begin_write
from .edge import gradient_edge
from .forward_mode import newest_tangent
from .grad_mode import grad_mode
from .inference_mode import check_write
from .node import NotImplementedNode
from .room import with_room
from .variable_type_utils import check_inplace
from .view import lose_history, set_history
from .writes import become_view

T = TypeVar("T", bound=Any)


def become(tensor: T, method: str, *args: Any) -> T:
    """Give a tensor the shape and the history of one of its views: what a method of its Type gives.

    Raises RuntimeError, with nothing changed, where an in-place operator would not be allowed.
    """
    check_write(tensor)
    base = tensor._base
    if grad_mode.enabled and (tensor._requires_grad or (base is not None and base._requires_grad)):
        check_inplace(tensor)
    view = getattr(tensor._type, method)(tensor, *args)
    try:
        begin_write(tensor)  # who saved the tensor would find another shape
        if tensor._type.backend.mutable:
            tensor._array = view._array
        else:
            become_view(tensor, view)
        _fit_accumulator(tensor)
        if view._edge is not None:
            set_history(tensor, view._edge)
    except BaseException:  # an interrupt
        if view._edge is not None:
            lose_history(tensor, method, view._edge)
        raise
    return tensor


def check_resizable(tensor: Any) -> None:
    """Raises RuntimeError where gradients or tangents of a tensor would be of its old size."""
    check_write(tensor)
    if tensor._requires_grad and not grad_mode.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if active and newest_tangent(tensor) is not None:
        raise RuntimeError("cannot resize variables that has a forward grad")


def resize(tensor: Any, shape: tuple[int, ...], strides: tuple[int, ...], count: int) -> None:
    """Give a tensor another size, of ``count`` elements, in its own memory as far as that goes."""
    lib = tensor._type.backend.lib
    offset = lib.storage_offset(tensor._array)
    array = with_room(tensor, count)
    begin_write(tensor)  # who saved the tensor would find another shape
    tensor._array = lib.as_strided(array, shape, strides, offset)
    _fit_accumulator(tensor)  # it may have required gradients once


def replace_array(op_name: str, tensor: T, array: Any) -> T:
    """Give a tensor another array; its history cannot be differentiated from here on.

    Raises RuntimeError, with nothing changed, where it has a tangent, or an in-place operator would not be
    allowed.
    """
    edge = None
    check_write(tensor)
    if active and newest_tangent(tensor) is not None:
        raise RuntimeError(f"{op_name}: cannot resize variables that has a forward grad")
    if tensor._requires_grad and grad_mode.enabled:
        check_inplace(tensor)
        edge = NotImplementedNode(op_name, (gradient_edge(tensor),), array.shape, tensor._type), 0
    begin_write(tensor)  # who saved the tensor would find another size
    tensor._array = array
    _fit_accumulator(tensor)
    if edge is not None:
        set_history(tensor, edge)
    return tensor


def _fit_accumulator(tensor: Any) -> None:
    """What accumulates gradients of a tensor takes those of its new shape."""
    if tensor._meta is not None:
        tensor._meta.fit_accumulator(tensor._array.shape, tensor._type)
