"""What is read: values, and where they are written; and what is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a declaration file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def shifted(self, columns: int) -> Place:
        """The place ``columns`` further right on the same line."""
        return Place(self.file, self.line, self.column + columns)


@dataclass(frozen=True, slots=True)
class Located:
    """A YAML value and where it stands.

    ``value`` is a str, int, float, bool, None, a tuple of Located, or a mapping of str to
    Located. ``key`` is where its key stands when it is a mapping's value. For a string
    ``starts`` gives the place in the file of each of its lines' first characters, so that a
    column inside a formula, folded or not, can be pointed at.
    """

    value: Any
    place: Place
    key: Place | None = None
    starts: tuple[tuple[int, Place], ...] = ()

    def at(self, offset: int) -> Place:
        """The place of the character ``offset`` of a string value."""
        best = (0, self.place)
        for start in self.starts:
            if start[0] <= offset:
                best = start
        return best[1].shifted(offset - best[0])


@dataclass(frozen=True, slots=True)
class Entry:
    """One declaration as it stands in its file: keys and values, nothing understood yet."""

    mechanism: str  # "native" | "nn" | "cwrap" | "derivatives"
    place: Place
    fields: Mapping[str, Located]


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A generated file: its path below the output folder and its text."""

    path: str
    text: str
