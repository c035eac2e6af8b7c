"""Who else holds an array: what nobody else holds may be kept or written into.

All use of an array's memory goes through references to the array that owns it, so counting
them is exact. Interpreters differ in which of their own references they count; therefore each
situation in which we ask is measured once, with an object that is surely held by nobody else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from numpy import ndarray

_refcount = sys.getrefcount


def is_locals_only(array: Any) -> bool:
    """Whether only one local variable of the caller holds ``array``."""
    return _refcount(array) <= _LOCAL and owns_memory(array)


def is_callers_only(array: Any) -> bool:
    """Whether only one local variable of the caller's caller, and the caller's argument, hold ``array``."""
    return _refcount(array) <= _ARGUMENT and owns_memory(array)


def is_buffers_only(buffers: Any, key: Any) -> bool:
    """Whether ``buffers[key]`` is an array held by ``buffers`` alone."""
    array = buffers[key]
    return _refcount(array) <= _ITEM and owns_memory(array)


def is_tensors_only(tensor: Any) -> bool:
    """Whether the slot of ``tensor`` alone holds its array, and no other array is over that one's memory."""
    array = tensor._array
    if _refcount(array) > _ITEM:
        return False
    is_numpy = array.__class__ is ndarray
    base = array.base if is_numpy else array.storage
    if base is None:
        return True
    return (not is_numpy or (base.__class__ is ndarray and base.base is None)) and _refcount(base) <= _BASE


def owns_memory(array: Any) -> bool:
    """Whether no other array that somebody holds is over the memory of ``array``."""
    base = getattr(array, "base", None)
    if base is None:
        return True
    # What a kernel made and reshaped before it returned: the owner is known to its view only.
    return (
        type(base) is type(array)
        and base.base is None
        and _refcount(base) <= _BASE
        and base.size == array.size
        and bool(array.flags.writeable)
    )


class _Probe:
    """Stands for an array when references are counted."""

    base: Any = None


def _measure() -> tuple[int, int, int, int]:
    def argument(array: Any) -> int:
        return count(array)

    def count(array: Any) -> int:
        return _refcount(array)

    def caller(function: Callable[[Any], int]) -> int:
        array = _Probe()
        return function(array)

    def item(buffers: Any, key: Any) -> int:
        array = buffers[key]
        return _refcount(array)

    def base_of(array: Any) -> int:
        base = getattr(array, "base", None)
        return _refcount(base)

    view = _Probe()
    view.base = _Probe()
    return caller(count), caller(argument), item({0: _Probe()}, 0), base_of(view)


_LOCAL, _ARGUMENT, _ITEM, _BASE = _measure()
