"""Room for more elements in a tensor's memory, which grows for all tensors over it."""

from __future__ import annotations

from typing import Any

from ..core.held_memory import is_held
from ..core.storage import resize_memory, untyped_storage_of
from ..kernels.uninitialized import unwritten
from .ownership import is_tensors_only


def check_room(tensor: Any, count: int) -> None:
    """RuntimeError where ``with_room`` cannot make the memory grow."""
    backend = tensor._type.backend
    if backend.is_strided and backend.mutable and not _fits(tensor, count) and not _is_alone(tensor):
        untyped_storage_of(tensor).movable()


def with_room(tensor: Any, count: int) -> Any:
    """An array of the tensor's in memory that has room for so many elements behind its first one.

    The memory grows where it has to, for all tensors over it. RuntimeError where it cannot. The caller has
    no reference to the tensor's array.
    """
    if _fits(tensor, count):
        return tensor._array
    lib = tensor._type.backend.lib
    before, size = lib.root(tensor._array).size, lib.storage_offset(tensor._array) + count
    if not _is_alone(tensor):
        resize_memory(tensor, size * tensor._array.itemsize)
        unwritten(lib.as_strided(lib.root(tensor._array), (size - before,), (1,), before))
        return tensor._array
    grown = unwritten(lib.empty((size,), tensor._type.dtype))
    lib.copyto(lib.as_strided(grown, (before,), (1,), 0), lib.root(tensor._array))
    return grown


def _fits(tensor: Any, count: int) -> bool:
    lib = tensor._type.backend.lib
    return bool(lib.storage_offset(tensor._array) + count <= lib.root(tensor._array).size)


def _is_alone(tensor: Any) -> bool:
    """Whether nobody else has the memory, so that nobody has to be told that it moved."""
    return not is_held(tensor._array) and is_tensors_only(tensor)
