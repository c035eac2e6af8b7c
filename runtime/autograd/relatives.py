"""Tensors over one memory of which none is a view of another: nested and sparse tensors, and their values.

What is written to one of them is in all. Only the history of the one is made anew, so whoever asks for a
gradient through another one is told.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from ..core.storage import storage_of
from .autograd_meta import meta_of
from .view import StaleView, ViewList, differentiable, related_message, rewrite_views, set_history


def relate(source: Any, out: Any) -> None:
    """Note that ``out``, which is new, shows memory of ``source``: they have one version from now on."""
    out._storage = storage_of(source)
    base = source if source._base is None else source._base
    meta = meta_of(base)
    if meta.relatives is None:
        meta.relatives = ViewList()
        meta.relatives.append(weakref.ref(base))
    meta.relatives.append(weakref.ref(out))
    if len(meta.relatives) > meta.relatives.limit:
        meta.relatives.sweep()
    meta_of(out).relatives = meta.relatives


def relatives_of(tensor: Any) -> Iterator[Any]:
    """The others that show memory of a tensor, which is no view."""
    if tensor._meta is None or tensor._meta.relatives is None:
        return
    for ref in tuple(tensor._meta.relatives):
        other = ref()
        if other is not None and other is not tensor and _share_memory(tensor, other):
            yield other


def _share_memory(a: Any, b: Any) -> bool:
    """Whether they still do: what is written to some sparse tensors gives them other memory."""
    backend = a._type.backend if b._type.backend.is_strided else b._type.backend
    shared: bool = backend.lib.may_share_memory(a._array, b._array)
    return shared


def _views_of(base: Any) -> list[Any]:
    views = [ref() for ref in tuple(base._storage.views or ())]
    return [view for view in views if view is not None and view._base is base]


def check_relatives(tensor: Any) -> None:
    """Raise RuntimeError where a leaf that requires grad would change with what is written to ``tensor``."""
    base = tensor if tensor._base is None else tensor._base
    for other in relatives_of(base):
        if any([t._edge is None and t._requires_grad for t in (other, *_views_of(other))]):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            )


def outdate_relatives(tensor: Any) -> None:
    """Let no gradient go through what shows the memory of ``tensor``, to which a recorded write went."""
    base = tensor if tensor._base is None else tensor._base
    for other in relatives_of(base):
        if differentiable(other._type):
            old = other._edge
            stale = old is not None and isinstance(old[0], StaleView)
            message = old[0].message if stale else related_message(old)
            set_history(other, (StaleView(message, (base._edge,), other._array.shape, other._type), 0))
            rewrite_views(other)
