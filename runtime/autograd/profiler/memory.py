"""MemoryLog: the bytes that results take up, and when they are free again.

What is seen is memory that leaves an operator or a Node, in an array that owns it, and that none of
its inputs has. What a kernel takes and gives back before it returns, and memory that was there when
the profile began, is not seen.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter_ns
from typing import Any, NamedTuple

from ...core.tensor_base import TensorBase


class MemoryRecord(NamedTuple):
    """So many bytes were taken, or, when negative, given back."""

    order: int
    time: int
    thread: int
    bytes: int


class Owners:
    """The arrays that own the memory of some values; held weakly, for a Node may take an input over."""

    __slots__ = ("_found",)

    def __init__(self, values: Iterable[Any]) -> None:
        self._found = [weakref.ref(owner) for owner in _owners(values)]

    def __contains__(self, owner: Any) -> bool:
        return any([found() is owner for found in self._found])


class MemoryLog:
    """Notes the memory of results, until it is closed."""

    def __init__(self, tick: Callable[[], int], thread: Callable[[], int]) -> None:
        self.records: list[MemoryRecord] = []
        self._tick = tick
        self._thread = thread
        #: What was seen and is still there, by id.
        self._known: dict[int, weakref.ref[Any]] = {}

    def made(self, result: Any, before: Owners, time: int) -> None:
        """Note the memory of ``result`` that is new: not of what was there ``before``, nor seen already."""
        for owner in _owners((result,)):
            known = self._known.get(id(owner))
            if not owner.nbytes or owner in before or (known is not None and known() is owner):
                continue
            self._follow(owner)
            self.records.append(MemoryRecord(self._tick(), time, self._thread(), owner.nbytes))

    def _follow(self, owner: Any) -> None:
        """Note it when the memory is given back, in whichever thread."""
        key, size = id(owner), owner.nbytes
        known, records, tick, thread = self._known, self.records, self._tick, self._thread

        def freed(reference: weakref.ref[Any]) -> None:
            if known.get(key) is reference:
                del known[key]
                records.append(MemoryRecord(tick(), perf_counter_ns(), thread(), -size))

        known[key] = weakref.ref(owner, freed)

    def close(self) -> None:
        """Note no more."""
        self._known.clear()


def _owners(values: Iterable[Any]) -> Iterator[Any]:
    """The arrays that own the memory of the Tensors and arrays among ``values``, each once."""
    seen = set()
    for value in _arrays(values):
        owner = _owner(value)
        if owner is not None and id(owner) not in seen:
            seen.add(id(owner))
            yield owner


def _arrays(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, TensorBase):
            yield value._array
        elif value.__class__ in (list, tuple):
            yield from _arrays(value)
        elif hasattr(value, "nbytes") and hasattr(value, "base"):
            yield value


def _owner(array: Any) -> Any:
    """The array at the end of a chain of views; None for memory that is no array's, or is none."""
    while getattr(array, "base", None) is not None:
        array = array.base
    follows = hasattr(array, "nbytes") and hasattr(array, "base") and array.shape.__class__ is tuple
    return array if follows and type(array).__weakrefoffset__ else None
