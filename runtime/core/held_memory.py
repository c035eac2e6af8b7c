"""Which memory somebody else has, too: NumPy, another library, a file. It stays where it is from then on.

It is known by the array that owns it, which lives as long as any array over it does: by whatever handle of
the memory somebody got it, and whatever became of that handle, all others know.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

from numpy import ndarray


class _Held(weakref.ref[Any]):
    """A reference to an array that owns memory which is held; it takes itself out of the table."""

    __slots__ = ("number",)

    number: int


#: By the id of the owner.
held_owners: Final[dict[int, _Held]] = {}


def owner_of(array: Any) -> Any:
    """The array that owns the memory of another one; itself where that is no array of NumPy's."""
    base = getattr(array, "base", None)
    while base is not None:
        if isinstance(base, ndarray):
            array = base
        elif type(base).__name__ != "DummyArray":  # of numpy.lib.stride_tricks.as_strided
            break
        base = base.base
    return array


def hold_memory(array: Any) -> None:
    """Note that somebody else has the memory of an array."""
    owner = owner_of(array)
    number = id(owner)
    if number not in held_owners:
        reference = _Held(owner, _forget)
        reference.number = number
        held_owners[number] = reference


def is_held(array: Any) -> bool:
    """Whether somebody else has the memory of an array, or had it once."""
    return bool(held_owners) and id(owner_of(array)) in held_owners


def _forget(reference: _Held) -> None:
    held_owners.pop(reference.number, None)
