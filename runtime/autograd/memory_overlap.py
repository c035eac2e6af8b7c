"""Memory that what is written shares with itself or with an operand: where that is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.error_notes import note_operator
from .view_geometry import TensorGeometry, geometry_of

#: What a declaration says of an argument: it may share nothing with what is written, or anything. Any other
#: may be all of it, but no part.
NONE, FREE = "none", "free"
#: The number of ``out``, which may be expanded if it is free: all that is written is one number.
OUT = -1
NOTHING: Mapping[int, str] = {}


def check_overlap(
    op_name: str, target: Any, args: Sequence[Any], rules: Mapping[int, str] = NOTHING, first: int = 0
) -> None:
    """Raise RuntimeError when an argument shares memory with ``target`` that it may not share.

    ``rules`` has words for arguments by number, ``first`` being that of the first one given.
    """
    for number, value in enumerate(args, first):
        rule = rules.get(number)
        for other in value if value.__class__ in (list, tuple) else (value,):
            if other is target:
                if rule == NONE:
                    raise _shared(op_name)
            elif rule != FREE and _same_storage(other, target) and _overlap(target, other, rule == NONE):
                raise _shared(op_name)


def _same_storage(value: Any, target: Any) -> bool:
    storage = target._storage
    return storage is not None and getattr(value, "_storage", None) is storage


def _overlap(target: Any, value: Any, whole: bool) -> bool:
    """Whether two tensors of one Storage share a part of their memory; with ``whole`` also all of it.

    As in PyTorch, only of tensors without gaps it is asked.
    """
    if value._array is target._array:
        return whole
    if not (target._type.backend.is_strided and value._type.backend.is_strided):
        return False  # values of nested and sparse tensors: what is written is computed before
    mutable = target._type.backend.mutable
    if mutable and not target._type.backend.lib.may_share_memory(target._array, value._array):
        return False
    ours, theirs = _window(target), _window(value)
    (start, end), (first, last) = ours.reach(), theirs.reach()
    if start >= last or first >= end or not (ours.is_dense() and theirs.is_dense()):
        return False
    return whole or (start, end) != (first, last) or _steps(ours) != _steps(theirs)


def _window(tensor: Any) -> TensorGeometry:
    """Where a tensor's elements lie, from the start of all memory: for that of its own one must search."""
    array, T = tensor._array, tensor._type
    if not T.backend.mutable:
        return geometry_of(tensor)
    lib = T.backend.lib
    offset = lib.data_ptr(array) // array.itemsize if T.backend.has_data else lib.storage_offset(array)
    return TensorGeometry(tuple(array.shape), lib.strides(array), offset, T)


def _steps(geometry: TensorGeometry) -> list[int]:
    """The strides, where they mean something."""
    return [s if n > 1 else 0 for n, s in zip(geometry.shape, geometry.strides, strict=True)]


def _shared(op_name: str) -> RuntimeError:
    error = RuntimeError(
        f"{op_name}: unsupported operation: some elements of the input tensor and the written-to tensor "
        "refer to a single memory location. Please clone() the tensor before performing the operation."
    )
    note_operator(error, op_name)
    return error


def check_no_internal_overlap(op_name: str, tensor: Any) -> None:
    """Raise RuntimeError when several elements of ``tensor`` are one place of memory by expansion."""
    array = tensor._array
    strides: Any = getattr(array, "strides", None)
    if strides is None:  # not all array libraries have them; of nested tensors the values do
        array = getattr(array, "written", array)
        strides = getattr(array, "strides", ())
    if not tensor._type.backend.mutable:
        strides = geometry_of(tensor).strides
    if 0 not in strides or not array.size:
        return
    if any([not stride and size > 1 for stride, size in zip(strides, array.shape, strict=True)]):
        raise RuntimeError(
            f"{op_name}: unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )
