"""``Tensor.set_``: a tensor becomes a window of other memory."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

from ..autograd.edge import gradient_edge
from ..autograd.forward_mode import newest_tangent
from ..autograd.grad_mode import grad_mode
from ..autograd.inference_mode import check_write
from ..autograd.node import NotImplementedNode
from ..autograd.variable_type_utils import check_inplace
from ..autograd.view import differentiable, set_history
from ..core.interception import AliasKind, active, notify_alias
from ..core.storage import (
    Storage,
    UntypedStorage,
    begin_write,
    bytes_of,
    storage_of,
    untyped_storage_of,
)
from ..core.tensor_base import TensorBase
from ..dispatch.binding_support import MISSING
from ..kernels.layout import MAX_NUMEL, contiguous_strides, extent

Shape = tuple[int, ...]


def set_memory(tensor: Any, source: Any, offset: Any, size: Any, stride: Any) -> None:
    """Make ``tensor`` a window of the memory of ``source``: a tensor, a storage, or MISSING, which is empty.

    Errors are those of ``Tensor.set_``, and leave everything as it was.
    """
    window = _window(tensor, source, offset, size, stride)
    edge = _checked_edge(tensor, source, window.shape)
    array, memory = _grown(tensor._type, window), window.memory
    begin_write(tensor)  # who saved the tensor would find another one
    old = storage_of(tensor)
    _leave_views(tensor, old)
    storage = Storage()
    storage.version, storage.untyped = old.version, memory
    tensor._storage, tensor._base, tensor._array = storage, None, array
    if tensor._meta is not None:
        tensor._meta.fit_accumulator(array.shape, tensor._type)
    if active and isinstance(source, TensorBase):
        notify_alias(source, tensor, AliasKind.DETACHED)
    if edge is not None:
        set_history(tensor, edge)


class _Window(NamedTuple):
    """What the tensor is to be of a memory, or of none."""

    memory: UntypedStorage | None
    shape: Shape
    strides: Shape
    offset: int
    array: Any = None  # that there is already


def _window(tensor: Any, source: Any, offset: Any, size: Any, stride: Any) -> _Window:
    """What the tensor is to be, of the memory that there is already."""
    T = tensor._type
    source = bytes_of("set_", source, T.scalar_type)
    _check_strided(tensor, source)
    if source is MISSING:
        return _Window(None, (0,), (1,), 0)
    if not isinstance(source, (TensorBase, UntypedStorage)) or (offset is MISSING) is not (size is MISSING):
        given = ", ".join(type(v).__name__ for v in (source, offset, size) if v is not MISSING)
        raise TypeError(
            "set_() takes nothing, a tensor or a storage, or one of these with storage_offset, size and "
            f"perhaps stride, but got ({given})"
        )
    _check_kind(tensor, source)
    lib = T.backend.lib
    if isinstance(source, TensorBase):
        memory, array = untyped_storage_of(source), source._array
        start = lib.storage_offset(array)
        if offset is MISSING:
            return _Window(memory, tuple(array.shape), lib.strides(array), start, array)
        if not lib.is_contiguous(array):
            raise RuntimeError("set_: passed in tensor to be used as storage must be contiguous")
        return _part(memory, start + index(offset), size, stride)
    if offset is MISSING:
        return _Window(source, (source.nbytes() // T.dtype.itemsize,), (1,), 0)
    return _part(source, index(offset), size, stride)


def _check_strided(tensor: Any, source: Any) -> None:
    """NotImplementedError where a tensor is of a layout that is no window of a memory."""
    for name, given in (("self", tensor), ("source", source)):
        if isinstance(given, TensorBase) and not given._type.backend.is_strided:
            what = "nested" if given.is_nested else given.layout
            raise NotImplementedError(f"set_: expected {name} to be a strided tensor, but it is {what}")


def _check_kind(tensor: Any, source: Any) -> None:
    """RuntimeError where the source is of another dtype or on another device, or hides its memory."""
    T = tensor._type
    if getattr(source, "_wraps", False) or tensor._wraps:
        raise RuntimeError("set_ is not supported under vmap: the examples have no memory of their own")
    if isinstance(source, TensorBase) and source._type.scalar_type is not T.scalar_type:
        raise RuntimeError(
            f"set_: Could not set tensor of type {source._type.scalar_type} to a tensor of type "
            f"{T.scalar_type}"
        )
    place = source.device if isinstance(source, UntypedStorage) else source._type.backend.device
    if place != T.backend.device:
        raise RuntimeError(
            f'set_: Attempted to set the storage of a tensor on device "{T.backend.device}" to a storage '
            f'on different device "{place}". This is no longer allowed; the devices must match.'
        )


def _part(memory: UntypedStorage, offset: int, size: Sequence[int], stride: Sequence[int]) -> _Window:
    """A window of the memory. RuntimeError for sizes and strides that no tensor has."""
    shape = tuple(map(index, size))
    if shape and min(shape) < 0:
        raise RuntimeError(
            f"set_: Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    steps = tuple(map(index, stride)) or contiguous_strides(shape)
    if len(steps) != len(shape):
        raise RuntimeError(f"set_: unequal size length ({len(shape)}) and stride length ({len(steps)})")
    if steps and min(steps) < 0:
        raise RuntimeError(f"set_: expected no negative strides, but got {list(steps)}")
    if offset < 0:
        raise RuntimeError(f"set_: expected no negative storage offset, but got {offset}")
    return _Window(memory, shape, steps, offset)


def _grown(T: Any, window: _Window) -> Any:
    """The array of the window. Where the memory does not reach so far it grows, for all tensors over it."""
    memory, shape, strides, offset, array = window
    if array is not None:
        return array
    if memory is None:
        return T.backend.lib.empty(shape, T.dtype)
    reach = extent(shape, strides)
    needed = (offset + reach) * T.dtype.itemsize if reach else 0
    if needed > MAX_NUMEL:
        raise RuntimeError(f"set_: Storage size calculation overflowed with sizes={list(shape)}")
    if needed > memory.nbytes():
        memory.resize_(needed)
    return T.backend.lib.as_strided(memory.typed(T.dtype), shape, strides, offset)


def _checked_edge(tensor: Any, source: Any, shape: Shape) -> Any:
    """The history after the call: None where it stays, else one that fails when it is used.

    RuntimeError where autograd does not let the tensor be written.
    """
    check_write(tensor)
    sources = [source] if isinstance(source, TensorBase) else []
    if active and any([newest_tangent(t) is not None for t in (tensor, *sources)]):
        raise NotImplementedError(
            "Trying to use forward AD with set_ that does not support it because it has not been implemented "
            "yet."
        )
    if not grad_mode.enabled or not differentiable(tensor._type):
        return None
    base = tensor._base
    if tensor._requires_grad or (base is not None and base._requires_grad):
        check_inplace(tensor)
    edges = tuple([gradient_edge(t) if t._requires_grad else None for t in (tensor, *sources)])
    if not any([edge is not None for edge in edges]):
        return None
    return NotImplementedNode("set_", edges, shape, tensor._type), 0


def _leave_views(tensor: Any, storage: Storage) -> None:
    """Give the views of the tensor another base: a handle on the memory that it leaves, with its history."""
    views: Any = storage.views
    if tensor._base is not None or not views:
        return
    base = tensor._type.wrap(tensor._array)
    base._storage, base._requires_grad, base._edge = storage, tensor._requires_grad, tensor._edge
    for ref in tuple(views):
        view = ref()
        if view is not None and view._base is tensor:
            view._base = base
