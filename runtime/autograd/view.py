"""Views: tensors over another tensor's memory, and what a write through one does to the others."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from ..core.function_dispatch import disabled_impl
from ..core.storage import Storage, storage_of
from ..core.tensor_base import PARTS, declare_tensor
from ..fast_paths import operation
from .autograd_meta import (
    CUSTOM_VIEW,
    INFERENCE_VIEW,
    MULTI_OUTPUT_VIEW,
    NO_GRAD_VIEW,
    PLAIN_VIEW,
    UNTRACKED_VIEW,
    meta_of,
)
from .edge import gradient_edge
from .grad_mode import grad_mode
from .hooks import extra_of
from .linear_maps import AsStridedBackward0, Scatter
from .node import Error
from .view_paths import Pair, pair_of
from .writes import adopt, share

_ref = weakref.ref
_new = object.__new__
_sweeping = threading.Lock()
#: So many views that are gone may wait for the next sweep.
_SWEPT = 64

Tensor: Any = None  # until it is defined
declare_tensor(globals())


class ViewList(list[weakref.ref[Any]]):
    """Weak references to the live views of a Storage; dead ones are swept out now and then."""

    __slots__ = ("limit", "waiting")

    def __init__(self) -> None:
        self.limit = _SWEPT
        #: Whether views have another history than their base, until something is written.
        self.waiting = False

    def sweep(self) -> None:
        """Forget the views that are gone. Amortised over the views made, this costs little."""
        with _sweeping:
            count = len(self)  # another thread may append meanwhile
            self[:count] = [ref for ref in self[:count] if ref() is not None]
            self.limit = 2 * len(self) + _SWEPT


@operation("view")
def as_view(source: Any, array: Any, T: Any, multi: bool = False) -> Any:
    """A Tensor over ``array``, a view of the array of ``source``; it has no history yet.

    ``multi`` says that it is one of several views that one operator returns.
    """
    out = _new(Tensor)
    out._array = array
    out._type = T
    out._requires_grad = False
    out._edge = out._meta = None
    storage: Storage = source._storage or storage_of(source)
    out._storage = storage
    if not T.recording:
        out._base = None
        return out  # views of inference tensors have no history that would have to be kept up
    base = source._base
    out._base = source if base is None else base
    creation = PLAIN_VIEW if source._meta is None else source._meta.creation
    if creation and (base is not None or creation == UNTRACKED_VIEW):
        meta_of(out).creation = creation
    if multi:
        meta_of(out).creation = MULTI_OUTPUT_VIEW
    if not grad_mode.enabled and (out._meta is None or not out._meta.creation):
        meta_of(out).creation = INFERENCE_VIEW if grad_mode.inference else NO_GRAD_VIEW
    views: Any = storage.views
    if views is None:
        views = storage.views = ViewList()
    views.append(_ref(out))
    if len(views) > views.limit:
        views.sweep()
    return out


def view_of_all(source: Any) -> Any:
    """A view of the whole of a Tensor, of the same class, unless that opts out of overrides."""
    view, cls = as_view(source, source._array, source._type), source.__class__
    if not source._type.backend.mutable:
        share(source, view)
    if cls is Tensor or source._wraps or cls.__tengen_function__ is disabled_impl:
        return view
    return adopt_view(view, _new(cls))


def adopt_view(view: Any, handle: Any) -> Any:
    """Make ``handle``, new and of any class, the view that ``view`` is, which nobody else has."""
    for name in PARTS:
        setattr(handle, name, getattr(view, name))
    if not handle._type.backend.mutable:
        adopt(handle)
    if handle._base is not None and handle._storage.views is not None:  # else nothing looks for its views
        handle._storage.views.append(_ref(handle))
    return handle


def rewrite_views(base: Any, written: Any = None, pair: Pair | None = None) -> None:
    """Give the live views of ``base`` the history that they have now that the base has a new one.

    ``pair`` is where ``written``, one of the views, lies, if that is known already.
    """
    storage = base._storage
    if storage is None or not storage.views:
        return
    edge = base._edge
    for ref in tuple(storage.views):
        view = ref()
        if view is None or view._base is not base or not differentiable(view._type):
            continue
        creation = PLAIN_VIEW if view._meta is None else view._meta.creation
        old = view._edge
        node: Any
        if creation == PLAIN_VIEW:
            place = pair if view is written and pair is not None else pair_of(base, view)
            node = AsStridedBackward0(Scatter(place), edge, view._array.shape, view._type)
        else:
            # Whoever uses the view from now on is told in the backward pass, or by `grad_fn`.
            stale = old is not None and isinstance(old[0], StaleView)
            message = old[0].message if stale else rewritten_message(creation, old)
            node = StaleView(message, (edge,), view._array.shape, view._type)
        set_history(view, (node, 0))


class LostHistory(Error):
    """The history of a tensor whose values and history may not be of one time."""

    __slots__ = ()


def lose_history(tensor: Any, op_name: str, edge: Any) -> None:
    """Let no gradient go through a tensor, its base and their views, as a write was interrupted.

    The values may be new and the history, which was to be ``edge``, old, or the other way round: both are
    led to, so that whoever asks for a gradient that one of them has is told.
    """
    base = tensor if tensor._base is None else tensor._base
    message = (
        f"{op_name} was interrupted as it wrote to a tensor, so what became of that tensor's history is not "
        "known. No gradient can be computed through it; detach() it, or compute it anew."
    )
    views, old = base._storage.views or (), base._edge
    for lost in (base, *[ref() for ref in tuple(views)]):
        if lost is base or (lost is not None and lost._base is base and differentiable(lost._type)):
            edges = (old, lost._edge, edge)
            set_history(lost, (LostHistory(message, edges, lost._array.shape, lost._type), 0))


def follow_base(tensor: Any) -> None:
    """Let the views of a tensor, or the view that it is, require gradients as the base does.

    This is for views that have no history, and were not made under no_grad; those that require gradients
    themselves stay as they are.
    """
    base = tensor if tensor._base is None else tensor._base
    views = base._storage.views
    for ref in tuple(views):
        view = ref()
        if view is None or view._base is not base or view._edge is not None:
            continue
        own = view._requires_grad and (view is tensor or view._meta is None or not view._meta.follows)
        follows = not own and base._requires_grad and _may_follow(view)
        if follows or view._meta is not None:
            meta_of(view).follows = follows
        view._requires_grad = own or follows
        views.waiting = views.waiting or follows


def _may_follow(view: Any) -> bool:
    creation = PLAIN_VIEW if view._meta is None else view._meta.creation
    return creation not in (NO_GRAD_VIEW, INFERENCE_VIEW) and differentiable(view._type)


def renew_views(tensor: Any) -> None:
    """Give the views that wait for it the history of their base, as there was a write to its memory.

    Where the base was detached in place they require gradients still, which lead nowhere. Where it is a
    leaf that came to require gradients after the view was made, it leads to the leaf.
    """
    base = tensor if tensor._base is None else tensor._base
    for ref in tuple(base._storage.views):
        view = ref()
        if view is None or view._base is not base:
            continue
        follows = view._edge is None and view._meta is not None and view._meta.follows
        if follows if base._requires_grad else view._edge is not None:
            node = AsStridedBackward0(
                Scatter(pair_of(base, view)), gradient_edge(base), view._array.shape, view._type
            )
            set_history(view, (node, 0))
    base._storage.views.waiting = False


class StaleView(Error):
    """The history of a view that was not allowed to be rewritten."""

    __slots__ = ()


def differentiable(T: Any) -> bool:
    """Whether tensors of this Type can require gradients."""
    scalar_type = T.scalar_type
    flag: bool = scalar_type.is_inexact
    return flag


def set_history(tensor: Any, edge: Any) -> None:
    """Make ``edge`` the tensor's history; a gradient that it retains is retained there."""
    meta = tensor._meta
    if meta is not None and meta.retains_grad:
        _move_retained(tensor, edge)
    tensor._edge = edge
    tensor._requires_grad = True


def _move_retained(tensor: Any, edge: Any) -> None:
    if tensor._edge is not None:
        node, number = tensor._edge[0], tensor._edge[1]
        if node.extra is not None and node.extra.retained is not None:
            node.extra.retained.pop(number, None)
    extra = extra_of(edge[0])
    if extra.retained is None:
        extra.retained = {}
    extra.retained[edge[1]] = _ref(tensor)


_NO_GRAD_ADVICE = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
    "moving both the view and the inplace either both inside the no_grad block (if you don't want the "
    "inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
_INFERENCE_ADVICE = _NO_GRAD_ADVICE.replace("no_grad", "inference_mode")
_MULTI_ADVICE = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the "
    "output views to be modified inplace. You should replace the inplace operation by an out-of-place one."
)


_CUSTOM_ADVICE = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the "
    "autograd logic to handle view+inplace would override the custom backward associated with the custom "
    "Function, leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
    "output of the custom Function."
)
_UNTRACKED_ADVICE = (
    "It may show the memory of a nested or a sparse tensor, whose history a write through it does not make "
    "anew: gradients would be wrong. You should replace the inplace operation by an out-of-place one, or "
    "clone the view."
)
_ADVICE = {
    MULTI_OUTPUT_VIEW: _MULTI_ADVICE,
    CUSTOM_VIEW: _CUSTOM_ADVICE,
    UNTRACKED_VIEW: _UNTRACKED_ADVICE,
}


def _origin(edge: Any, without: str = "A view") -> str:
    return without if edge is None else f"Output {edge[1]} of {edge[0].name()}"


def modified_message(creation: int, edge: Any) -> str:
    """The error of a write through a view that does not allow it."""
    if creation == INFERENCE_VIEW:
        return (
            "A view was created in inference mode and is being modified inplace in normal mode. "
            + _INFERENCE_ADVICE
        )
    if creation == NO_GRAD_VIEW:
        return (
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
            + _NO_GRAD_ADVICE
        )
    return f"{_origin(edge)} is a view and is being modified inplace. {_ADVICE[creation]}"


def related_message(edge: Any) -> str:
    """The error of using what shows the memory of another layout's tensor, to which a write went."""
    return (
        f"{_origin(edge, 'A tensor')} shares memory with a nested or a sparse tensor, or with the values of "
        "one, and this memory has been modified inplace. That does not make its history anew: gradients "
        "would be wrong. You should replace the inplace operation by an out-of-place one, or clone it."
    )


def rewritten_message(creation: int, edge: Any) -> str:
    """The error of using such a view after a write through its base."""
    if creation == INFERENCE_VIEW:
        return (
            "A view was created in inference mode and its base or another view of its base has been modified "
            "inplace in normal mode. " + _INFERENCE_ADVICE
        )
    if creation == NO_GRAD_VIEW:
        return (
            "A view was created in no_grad mode and its base or another view of its base has been modified "
            "inplace with grad mode enabled. " + _NO_GRAD_ADVICE
        )
    return (
        f"{_origin(edge)} is a view and its base or another view of its base has been modified inplace. "
        + _ADVICE[creation]
    )
