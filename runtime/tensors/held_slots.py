"""Slots of a tensor that holds another one: they are that tensor's."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def held_slot(path: str) -> Any:
    """A property that reads and writes the slot ``path`` names, as ``"_value._meta"``."""
    holder, _, slot = path.rpartition(".")
    held = attrgetter(holder)

    def write(self: Any, value: Any) -> None:
        setattr(held(self), slot, value)

    return property(attrgetter(path), write)


def read_slot(path: str) -> Any:
    """A property that reads the slot ``path`` names, and cannot be written."""
    return property(attrgetter(path))
