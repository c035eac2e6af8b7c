"""What containers of modules and of parameters do alike: indices, and pairs of names and values."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def place_of(index: Any, count: int) -> int:
    """The index of one of so many, which may be counted from the end. IndexError where there is none."""
    place = operator.index(index)
    if not -count <= place < count:
        raise IndexError(f"index {place} is out of range")
    return place % count


def pairs_of(given: Any, name: str, shown: str, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping, of a container of a kind, or of an iterable of pairs.

    TypeError for anything else, and for an element that is no pair; ValueError for one of another length.
    """
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{shown}.update should be called with an iterable of key/value pairs, but got "
            f"{type(given).__name__}"
        )
    if isinstance(given, (kind, Mapping)):
        yield from given.items()
        return
    for number, pair in enumerate(given):
        what = f"{name} update sequence element #{number}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{what} should be Iterable; is{type(pair).__name__}")
        found: Any = pair
        if len(found) != 2:
            raise ValueError(f"{what} has length {len(found)}; 2 is required")
        yield found[0], found[1]
