"""Writing to tensors whose arrays cannot change: a tensor that is written gets another array.

Views of such arrays are copies. So a write reaches those handles that have the same array (``detach()``,
``data``), and where a live view shows other elements of the memory it is an error before anything changes.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from ..core.storage import storage_of


def write(tensor: Any, array: Any) -> None:
    """Give ``tensor`` the elements of ``array``, broadcast and converted as ``copyto`` does."""
    backend = tensor._type.backend
    if backend.mutable:
        backend.lib.copyto(tensor._array, array)
    else:
        replace(tensor, backend.lib.fitted(array, tensor._array.shape, tensor._type.dtype))


def add_into(tensor: Any, array: Any) -> None:
    """Add an array of the same shape and dtype to the elements of ``tensor``."""
    backend = tensor._type.backend
    if backend.mutable:
        backend.lib.add_(tensor._array, array)
    else:
        replace(tensor, backend.lib.add(tensor._array, array))


def replace(tensor: Any, array: Any) -> None:
    """Make ``array`` that of a tensor and of the handles that have the same one."""
    former = tensor._array
    for handle in _others(tensor):
        if handle._array is former:
            handle._array = array
    tensor._array = array


def check_replaceable(op_name: str, tensor: Any) -> None:
    """RuntimeError where a write to a tensor whose array cannot change would have to reach other arrays."""
    if tensor._type.backend.mutable or tensor._storage is None:
        return
    if any([handle._array is not tensor._array for handle in _others(tensor)]):
        what = "is a view of another tensor" if tensor._base is not None else "has views"
        raise RuntimeError(
            f"{op_name}: the tensor that is written to {what}, and arrays of the backend "
            f"{tensor._type.backend.name} cannot change: clone() it, delete the views, or use the operator "
            "that is not in place"
        )


def share(tensor: Any, handle: Any) -> None:
    """Note that a new handle has the array of ``tensor``, where a write has to reach both."""
    storage = storage_of(tensor)
    storage.handles = [ref for ref in storage.handles or () if ref() is not None]
    storage.handles += [weakref.ref(tensor), weakref.ref(handle)]


def _others(tensor: Any) -> Iterator[Any]:
    """The other live handles on the memory of a tensor."""
    storage = tensor._storage
    if tensor._base is not None:
        yield tensor._base
    if storage is None:
        return
    for ref in (*(storage.views or ()), *(storage.handles or ())):
        handle = ref()
        if handle is not None and handle is not tensor:
            yield handle
