"""In-place operators and ``out=``: what they check, what they write, what becomes of the history."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.error_notes import note_operator
from ..core.interception import AliasKind, active, notify_alias
from ..core.promotion import can_cast
from ..core.storage import begin_write, storage_of
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from ..kernels.layout import contiguous_strides
from .autograd_meta import PLAIN_VIEW, UNTRACKED_VIEW
from .copy_slices import CopySlices
from .edge import Edge, gradient_edge
from .grad_mode import grad_mode
from .inference_mode import check_write
from .input_metadata import broadcasts_to
from .linear_maps import BroadcastTo, Cast, Copy, Identity, apply_linear
from .memory_overlap import FREE, NOTHING, OUT, check_no_internal_overlap, check_overlap
from .node import NotImplementedNode, UndefinedGrad
from .relatives import check_relatives, outdate_relatives
from .room import check_room, with_room
from .view import differentiable, lose_history, modified_message, renew_views, rewrite_views, set_history
from .view_geometry import element_count
from .view_paths import pair_of
from .writes import check_replaceable, give_own, write


def run_inplace(
    op_name: str,
    tensor: Any,
    functional: Callable[..., Any],
    args: Sequence[Any],
    saves_self: bool = False,
    exact: bool = False,
    overlap: Mapping[int, str] = NOTHING,
    constant: bool = False,
) -> Any:
    """Write ``functional(tensor, *args)`` into ``tensor``, give it the history of that, return it.

    ``saves_self`` says that the functional's Node saves its first argument, or may: then that is a copy,
    for the original is written over. Raises RuntimeError, with nothing changed, where the write
    is not allowed, shares memory as ``overlap`` (by number of the argument) does not let it, or the result's
    shape or dtype does not go into the tensor, whose dtype it must be if that is ``exact``. A result that is
    ``constant``, as nothing is differentiable in it, may also be written into a leaf, which stays one.
    """
    try:
        return _run_inplace(op_name, tensor, functional, args, saves_self, exact, overlap, constant)
    except Exception as error:
        note_operator(error, op_name)
        raise


def _run_inplace(
    op_name: str,
    tensor: Any,
    functional: Callable[..., Any],
    args: Sequence[Any],
    saves_self: bool,
    exact: bool,
    overlap: Mapping[int, str],
    constant: bool,
) -> Any:
    if not tensor._type.recording:
        check_write(tensor)
    storage = tensor._storage
    if storage is None:
        storage = storage_of(tensor)
    base = tensor._base
    recording = grad_mode.enabled
    requires = recording and (tensor._requires_grad or (base is not None and base._requires_grad))
    if requires:
        if constant and (tensor if base is None else base)._edge is None:
            requires = recording = False
        else:
            check_inplace(tensor)
    check_overlap(op_name, tensor, args, overlap, 1)
    if overlap.get(0) != FREE:
        check_no_internal_overlap(op_name, tensor)
    if not tensor._type.backend.mutable:
        check_replaceable(op_name, tensor)
    source, own_edge = tensor, None
    saving = requires or (recording and requires_grad_in(args))
    if saving and not differentiable(tensor._type):
        saving = False  # integers have no gradient, whatever is written into them
    if saving:
        source, own_edge = _source(tensor, storage, saves_self, requires)
    result = functional(source, *args)
    if saving and result._requires_grad and not requires:
        check_inplace(tensor)
    check_writable(op_name, tensor, result, exact)
    edge = None
    if saving and (result._requires_grad or requires) and result is not source:
        edge = _new_edge(op_name, tensor, result, args, own_edge)
    try:
        storage.version += (
            1  # before the write: were that interrupted, what saved the old values would say so
        )
        write(tensor, result._array)
        if active:
            notify_alias(tensor, result, AliasKind.DETACHED)
        if edge is not None:
            rebase(tensor, edge, own_edge)
            edge[0].result_stored(edge[1], storage)
        elif storage.views is not None and storage.views.waiting:
            renew_views(tensor)
    except BaseException as error:
        if edge is not None and not isinstance(error, Exception):  # an interrupt
            lose_history(tensor, op_name, edge)
        raise
    return tensor


def _source(tensor: Any, storage: Any, copied: bool, requires: bool) -> tuple[Any, Any]:
    """What a Node may save in the tensor's place: a handle of its own, since that changes its history."""
    T = tensor._type
    if copied:
        source = T.wrap(T.backend.lib.copy(tensor._array))
    else:
        source = T.wrap(tensor._array)
        source._storage = storage
    edge = gradient_edge(tensor) if requires else None
    if edge is not None:
        edge = (edge[0], edge[1])  # a tuple of its own, by which it is found among the Node's edges
        source._edge = edge
        source._requires_grad = True
    if active:
        # The map is one also where the source is no copy: its tangent will be written over, as it is.
        notify_alias(tensor, source, AliasKind.COPIED if copied else AliasKind.ALIAS, Copy(T))
    return source, edge


def requires_grad_in(args: Sequence[Any]) -> bool:
    """Whether one of the arguments, or of the lists among them, is a tensor that requires gradients."""
    for value in args:
        if value.__class__ in (list, tuple):
            if requires_grad_in(value):
                return True
        elif getattr(value, "_requires_grad", False):
            return True
    return False


def check_inplace(tensor: Any) -> None:
    """Raise RuntimeError when a recorded operator may not write into ``tensor``."""
    base = tensor._base
    creation = PLAIN_VIEW if tensor._meta is None else tensor._meta.creation
    if creation and (base is not None or creation == UNTRACKED_VIEW):
        raise RuntimeError(modified_message(creation, tensor._edge))
    if base is not None:
        if base._edge is None and (base._requires_grad or tensor._requires_grad):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            )
    elif tensor._edge is None and tensor._requires_grad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if _has_relatives(tensor):
        check_relatives(tensor)


def _has_relatives(tensor: Any) -> bool:
    """Whether others that are no views of it, nor it of them, may show the memory of a tensor."""
    meta = tensor._meta if tensor._base is None else tensor._base._meta
    return meta is not None and meta.relatives is not None


def check_writable(op_name: str, tensor: Any, result: Any, exact: bool) -> None:
    """Raise RuntimeError when ``result`` cannot be written into ``tensor`` as it is."""
    shape, found = tensor._array.shape, result._array.shape
    if shape != found and not broadcasts_to(found, shape):
        raise RuntimeError(
            f"{op_name}: output with shape {list(shape)} doesn't match the broadcast shape {list(found)}"
        )
    check_cast(op_name, result._type, tensor._type)
    if exact:
        check_same_dtype(op_name, result._type, tensor._type)


def check_cast(op_name: str, source: Any, target: Any) -> None:
    """Raise RuntimeError when a result of one Type may not be written into a tensor of another."""
    if source is not target and not can_cast(source.scalar_type, target.scalar_type):
        raise RuntimeError(
            f"{op_name}: result type {source.scalar_type.type_name} can't be cast to the desired output "
            f"type {target.scalar_type.type_name}"
        )


def check_same_dtype(op_name: str, result: Any, target: Any) -> None:
    """Raise RuntimeError when a result is not of the scalar type of the tensor that it is written into."""
    if target.scalar_type is not result.scalar_type:
        raise RuntimeError(
            f"{op_name}: Expected out tensor to have dtype {result.scalar_type}, but got "
            f"{target.scalar_type} instead"
        )


def _new_edge(op_name: str, tensor: Any, result: Any, args: Sequence[Any], own_edge: Any) -> Edge:
    """Where the gradient of what was written goes: to the Node of ``result``, made to fit the tensor."""
    T, shape = tensor._type, tensor._array.shape
    if not result._requires_grad:
        # The operator has no derivative: what was there before no longer matters to anything.
        node = UndefinedGrad((own_edge,), shape, T)
        node.operator = op_name
        return node, 0
    if result._array.shape != shape:
        result = apply_linear(BroadcastTo(result._type, result._array.shape, shape), result)
    if result._type is not T:
        result = apply_linear(Cast(result._type, T), result)
    if result._edge is None or any([result is value for value in args]):
        # An argument itself came back; its own history is not to be that of two tensors.
        result = apply_linear(Identity(T), result)
    edge: Edge = result._edge
    if edge[0].__class__ is NotImplementedNode:
        edge[0].made_by(op_name)
    return edge


def rebase(tensor: Any, edge: Edge, own_edge: Any) -> None:
    """Make ``edge`` the history of the tensor that was written, and renew that of its base and views."""
    base = tensor._base
    if base is None:
        set_history(tensor, edge)
        rewrite_views(tensor)
    else:
        _rebase_view(tensor, base, edge, own_edge)
    if _has_relatives(tensor):
        outdate_relatives(tensor)


def _rebase_view(tensor: Any, base: Any, edge: Edge, own_edge: Any) -> None:
    fn, number = edge[0], edge[1]
    # Where the Node does not lead to the old value by this very edge, the old history of the view,
    # which other Nodes lead to, takes the gradient to the base.
    own = -1
    if own_edge is not None:
        own = next((i for i, other in enumerate(fn.next_edges) if other is own_edge), -1)
    pair = pair_of(base, tensor)
    set_history(base, (CopySlices(gradient_edge(base), pair, fn, number, own), 0))
    rewrite_views(base, tensor, pair)


# -- writes of generated methods, where nothing is recorded ---------------------------------


def writes_freely(tensor: Any) -> bool:
    """Whether a value that fits may be written into ``tensor`` between ``begin_write`` and ``written``."""
    if active:
        return False
    base = tensor._base
    if (tensor._requires_grad or (base is not None and base._requires_grad)) and grad_mode.enabled:
        return False
    try:
        return 0 not in tensor._array.strides
    except AttributeError:  # an array library without strides
        mutable: bool = tensor._type.backend.mutable
        return mutable


def written(tensor: Any) -> Any:
    """``tensor``, after the write that ``begin_write`` has counted."""
    views = tensor._storage.views
    if views is not None and views.waiting:
        renew_views(tensor)
    return tensor


def store(tensor: Any, result: Any) -> bool:
    """Write an array, where it fits as it is, into a tensor that ``writes_freely``; else nothing is done."""
    array = tensor._array
    if result.dtype is not array.dtype and result.dtype != array.dtype:
        return False
    if result.shape and result.shape != array.shape:
        return False
    storage = tensor._storage or storage_of(tensor)
    storage.version += 1
    tensor._type.backend.lib.copyto(array, result)
    if storage.views is not None:
        written(tensor)
    return True


# -- out= ------------------------------------------------------------------------------


#: What ``all`` and the like may be written into.
_TRUTH = ("bool", "uint8")


def run_out(
    op_name: str,
    functional: Callable[..., Any],
    args: Sequence[Any],
    outs: Any,
    exact: bool = False,
    truth: bool = False,
    overlap: Mapping[int, str] = NOTHING,
    warns: bool = True,
) -> Any:
    """Write the results of ``functional(*args)`` into ``outs``, a Tensor or several; return ``outs``.

    Raises RuntimeError, with nothing changed, when an output or a result requires gradients while recording
    is on, when an output shares memory with an input as ``overlap`` (by number of the argument) does not let
    it, or when a result's dtype does not go into its output, whose it must be if that is ``exact``; with
    ``truth`` that is bool or uint8. An output of another shape is resized; one that is not empty with a
    warning, if ``warns``.
    """
    targets: Sequence[Any] = (outs,) if isinstance(outs, TensorBase) else outs
    for target in targets:
        check_write(target)
    before = grad_mode.enabled
    if before and requires_grad_in(targets):
        raise not_differentiable(op_name)
    for target in targets:
        check_overlap(op_name, target, args, overlap)
        check_replaceable(op_name, target)
    # It is recorded where that tells whether the results are differentiable: those of `eq` are not.
    grad_mode.enabled = before and requires_grad_in(args)
    try:
        results = functional(*args)
    finally:
        grad_mode.enabled = before
    if isinstance(results, TensorBase):
        results = (results,)
    if requires_grad_in(results):
        raise not_differentiable(op_name)
    for target, result in zip(targets, results, strict=True):
        check_backend(op_name, target, result)
        if exact:
            check_same_dtype(op_name, result._type, target._type)
        if truth and target._type.scalar_type.name not in _TRUTH:
            raise RuntimeError(
                f"{op_name}: Expected out tensor to have dtype {' or '.join(_TRUTH)}, but got "
                f"{target._type.scalar_type} instead"
            )
        check_cast(op_name, result._type, target._type)
        if target._array.shape == result._array.shape and overlap.get(OUT) != FREE:
            check_no_internal_overlap(op_name, target)
        else:
            if target.is_nested:
                raise RuntimeError(
                    f"{op_name}(): Expected out tensor of the size {list(result._array.shape)}, but got "
                    f"{list(target._array.shape)}: a nested tensor is not resized"
                )
            check_room(target, element_count(result._array.shape))
    for target, result in zip(targets, results, strict=True):
        begin_write(target)
        if target._array.shape != result._array.shape:
            _resize_output(target, result, warns)
        write(target, result._array)
    return outs


def check_backend(op_name: str, target: Any, result: Any) -> None:
    """Raise RuntimeError for an output of another device or layout than what is written into it."""
    if target._type.backend is result._type.backend:
        return
    wanted, given = result._type.backend.device, target._type.backend.device
    if wanted == given:
        wanted, given = [f"nested {t.layout}" if t.is_nested else t.layout for t in (result, target)]
        raise RuntimeError(f"{op_name}(): Expected out tensor of the layout {wanted}, but got {given}")
    raise RuntimeError(f"{op_name}(): Expected out tensor to be on {wanted}, but got {given} instead")


def not_differentiable(op_name: str) -> RuntimeError:
    """The error of a call with ``out`` and gradients."""
    return RuntimeError(
        f"{op_name}(): functions with out=... arguments don't support automatic differentiation, but one "
        "of the arguments requires grad."
    )


def warn_resized(shape: Sequence[int], wanted: Sequence[int]) -> None:
    """Warn that an output with elements gets another shape."""
    if 0 not in shape:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(shape)}, which "
            f"does not match the required output shape {list(wanted)}. This behavior is deprecated, and in a "
            "future release outputs will not be resized unless they have zero elements. You can explicitly "
            "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=program_stacklevel(),
        )


def _resize_output(tensor: Any, result: Any, warns: bool) -> None:
    """Give an output the shape of a result, in its own memory when that is large enough."""
    shape = result._array.shape
    if warns:
        warn_resized(tensor._array.shape, shape)
    backend, lib = tensor._type.backend, tensor._type.backend.lib
    if not backend.is_strided:
        give_own(tensor, lib.empty_like(result._array, tensor._type.dtype))
        return
    if not backend.mutable:
        give_own(tensor, lib.empty(shape, tensor._type.dtype))
        return
    offset, strides = lib.storage_offset(tensor._array), contiguous_strides(shape)
    tensor._array = lib.as_strided(with_room(tensor, element_count(shape)), shape, strides, offset)
    if tensor._meta is not None:
        tensor._meta.fit_accumulator(shape, tensor._type)
