"""What the author of a declaration reads when something in it is wrong.

A stage never raises for a mistake in a declaration: it tells the ``Report`` and goes on, so
that one run finds every mistake.  ``Report.finish`` raises ``DeclarationErrors`` with all of
them, in the order of the files.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .source import Place

_LONGEST_LINE = 400
_SUGGESTIONS = 3
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")  # all but tabs
_SUGGESTED = re.compile(r'did you mean "([^"]+)"\?')


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: where, what, and what would have been right.

    ``length`` is how many characters of the line, from the place on, are meant.
    """

    place: Place
    message: str
    length: int = 1
    expected: str = ""
    help: str = ""
    related: tuple[tuple[Place, str], ...] = ()
    level: str = "error"  # or "note"

    @property
    def replacement(self) -> str | None:
        """The word that was probably meant, where the help is such a suggestion."""
        found = _SUGGESTED.fullmatch(self.help)
        return found.group(1) if found else None

    def render(self, line: str | None) -> str:
        """The text shown to the author; ``line`` is the source line, if there is one."""
        parts = [f"{self.place}: {self.level}: {self.message}"]
        if line is not None:
            line, column = _window(_CONTROL.sub("\ufffd", line), self.place.column - 1)
            # A tab stays a tab, so that the caret stands below its character on any terminal.
            before = line[:column].ljust(column)
            blank = "".join("\t" if char == "\t" else " " * width(char) for char in before)
            meant = sum(width(char) for char in line[column : column + max(1, self.length)])
            parts += [f"  {line}", f"  {blank}^{'~' * (meant - 1)}"]
        if self.expected:
            parts.append(f"  expected: {self.expected}")
        if self.help:
            parts.append(f"  help: {self.help}")
        parts += [f"  {place}: {text}" for place, text in self.related]
        return "\n".join(parts)


class CommandError(Exception):
    """A command cannot do what it is asked; ``str()`` of it says why, and ``status`` is its exit status."""

    status = 2


class DeclarationErrors(CommandError):
    """The declarations have mistakes; ``str()`` of it is the whole report."""

    status = 1

    def __init__(self, diagnostics: tuple[Diagnostic, ...], sources: Mapping[str, list[str]]) -> None:
        self.diagnostics = diagnostics
        self.sources = sources
        super().__init__(self.render())

    def render(self) -> str:
        """All diagnostics, and their number at the end."""
        count = len(self.diagnostics)
        number = f"{count} error{'s' if count != 1 else ''} in the declarations; nothing was written"
        return "\n\n".join([*self.texts(), number])

    def texts(self) -> Iterator[str]:
        """The diagnostics, each with its source line and a caret."""
        for diagnostic in self.diagnostics:
            lines = self.sources.get(diagnostic.place.file, [])
            number = diagnostic.place.line - 1
            yield diagnostic.render(lines[number] if 0 <= number < len(lines) else None)


@dataclass(slots=True)
class Report:
    """Collects the diagnostics of a run, and the lines of the files they point into."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)
    unread: set[str] = field(
        default_factory=set
    )  # operators whose schema has a mistake: known, but not what they are

    def error(
        self,
        place: Place,
        message: str,
        *,
        length: int = 1,
        expected: str = "",
        help: str = "",
        related: tuple[tuple[Place, str], ...] = (),
    ) -> None:
        """Notes a mistake; the stage that found it carries on."""
        self.diagnostics.append(Diagnostic(place, message, length, expected, help, related))

    def finish(self) -> None:
        """Raises DeclarationErrors if anything was noted."""
        if self.diagnostics:
            unique = dict.fromkeys(self.diagnostics)
            order = sorted(unique, key=lambda d: (d.place.file, d.place.line, d.place.column))
            raise DeclarationErrors(tuple(order), self.sources)


def _window(line: str, column: int) -> tuple[str, int]:
    """The part of a long line that is shown, and where the column is in it."""
    if len(line) <= _LONGEST_LINE:
        return line, column
    start = max(0, column - _LONGEST_LINE // 2)
    end = start + _LONGEST_LINE
    before, after = "... " if start else "", " ..." if end < len(line) else ""
    return f"{before}{line[start:end]}{after}", column - start + len(before)


def width(char: str) -> int:
    """How many cells of a terminal a character takes: none that combines with another, two a wide one."""
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def suggestion(name: str, known: Iterable[str]) -> str:
    """``did you mean "variants"?`` when known names look like ``name``, else nothing.

    Several are named where each is one slip away; in-place variants only for what is written like one.
    """
    names = sorted(set(known))
    folded = {known_name.lower(): known_name for known_name in names}
    if name.lower() in folded:
        return f'did you mean "{folded[name.lower()]}"?'
    close = difflib.get_close_matches(name, names, n=_SUGGESTIONS, cutoff=0.6)
    near = [n for n in close if is_slip(name, n)]
    chosen = [n for n in near if n.endswith("_") <= name.endswith("_")] or near or close[:1]
    return f"did you mean {' or '.join(f'{chr(34)}{n}{chr(34)}' for n in chosen)}?" if chosen else ""


def is_slip(wrong: str, meant: str) -> bool:
    """Whether one slip makes a word of another: a letter too many, too few or wrong, or two exchanged."""
    a, b = wrong.lower(), meant.lower()
    if abs(len(a) - len(b)) > 1:
        return False
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[same:], b[same:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def one_of(names: Iterable[str], limit: int = 24) -> str:
    """``one of a, b, c`` for an ``expected`` line; long lists are cut."""
    listed = list(dict.fromkeys(names))
    if len(listed) == 1:
        return listed[0]
    shown = ", ".join(listed[:limit])
    return f"one of {shown}" + (f", ... ({len(listed)} in all)" if len(listed) > limit else "")
