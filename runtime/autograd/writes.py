"""Writing to tensors whose arrays cannot change: a tensor that is written gets another array.

Handles that show the same elements (views, ``detach()``, ``data``) are listed in one ``SharedArray``. A write
to one of them makes another array of what all are made of, and each gets its part of that.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .autograd_meta import meta_of
from .view_paths import ViewPath, ViewStep


class SharedArray:
    """An array that several handles show: each has in its ``_meta`` this object, and the path to its part."""

    __slots__ = ("handles", "limit", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.handles: list[weakref.ref[Any]] = []
        self.limit = 16

    def add(self, handle: Any, path: ViewPath | None) -> None:
        """Note that a handle shows the view at a path, or all."""
        meta = meta_of(handle)
        meta.shared, meta.path = self, path
        self.handles.append(weakref.ref(handle))
        if len(self.handles) > self.limit:
            self.handles = [ref for ref in self.handles if ref() is not None]
            self.limit = 2 * len(self.handles) + 16

    def remove(self, handle: Any) -> None:
        """Note that a handle shows something else from now on."""
        self.handles = [r for r in self.handles if r() is not None and r() is not handle]
        meta_of(handle).shared = meta_of(handle).path = None

    def write(self, path: ViewPath | None, array: Any) -> None:
        """Make ``array`` what is at a path, and let all handles see that."""
        root = array if path is None else path.write(self.root, array)
        known: dict[Any, Any] = {}
        parts = []
        for ref in self.handles:
            handle = ref()
            if handle is not None:
                own = handle._meta.path
                part = array if own is path else root if own is None else own.read(root, known)
                parts.append((handle, part))
        self.root = root
        for handle, part in parts:
            handle._array = part


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
    """Make ``array``, of the same shape and dtype, that of a tensor; who shows its elements sees that."""
    shared = _shared(tensor)
    if shared is None:
        tensor._array = array
    else:
        shared.write(tensor._meta.path, array)


def give_own(tensor: Any, array: Any) -> None:
    """Make ``array``, whatever its shape, that of a tensor alone."""
    shared = _shared(tensor)
    if shared is not None:
        shared.remove(tensor)
    tensor._array = array


def kept(tensor: Any) -> Callable[[], None]:
    """What gives a tensor, and all that show its elements now, the arrays back that they have."""
    shared = _shared(tensor)
    if shared is None:
        array = tensor._array

        def restore() -> None:
            tensor._array = array

        return restore
    handles = [handle for ref in shared.handles if (handle := ref()) is not None]
    arrays, root = [handle._array for handle in handles], shared.root

    def restore_all() -> None:
        shared.root = root
        for handle, array in zip(handles, arrays, strict=True):
            handle._array = array

    return restore_all


def check_replaceable(op_name: str, tensor: Any) -> None:
    """RuntimeError where an array that cannot change is to be written through a view that has no way back."""
    if tensor._type.backend.mutable or _shared(tensor) is None:
        return
    path: ViewPath | None = tensor._meta.path
    if path is not None and path.geometry(tensor._type) is None:
        raise RuntimeError(
            f"{op_name}: the tensor that is written to is a view in a shape that its strides do not allow. "
            "Please clone() it, or use reshape() in place of view()."
        )
    while path is not None:
        if not path.step.is_writable():
            raise RuntimeError(
                f"{op_name}: the tensor that is written to is a view which was made by an operator without "
                f"write_back rule, and arrays of the backend {tensor._type.backend.name} cannot change: "
                "clone() it, or use the operator that is not in place"
            )
        path = path.parent


def share(tensor: Any, handle: Any) -> None:
    """Note that a new handle shows all elements of ``tensor``, where arrays cannot change."""
    shared = _shared_by(tensor)
    former = _shared(handle)
    if former is not None:
        former.remove(handle)
    shared.add(handle, tensor._meta.path)


def share_view(tensor: Any, view: Any, step: ViewStep, number: int) -> None:
    """Note that a new handle shows what a step makes of ``tensor``, where arrays cannot change."""
    _shared_by(tensor).add(view, ViewPath(tensor._meta.path, step, number))


def become_view(tensor: Any, view: Any) -> None:
    """Let a tensor, whose array cannot change, show what one of its views shows."""
    tensor._array = view._array
    share(view, tensor)


def adopt(handle: Any) -> None:
    """Note that a handle has the ``_meta`` of one that is no more."""
    shared = _shared(handle)
    if shared is not None:
        shared.handles.append(weakref.ref(handle))


def _shared(tensor: Any) -> SharedArray | None:
    meta = tensor._meta
    return None if meta is None else meta.shared


def _shared_by(tensor: Any) -> SharedArray:
    """The SharedArray of a tensor, made if there is none yet."""
    found = _shared(tensor)
    if found is None:
        found = SharedArray(tensor._array)
        found.add(tensor, None)
    return found
