"""The text of a declaration file as its author sees it: sections, entries, keys, and their comments.

For the commands that write declarations: what they do not mean to change stays as it is, to the
last comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_NAME = re.compile(r"[A-Za-z_0-9]+")
_KEY = re.compile(r"(?:- |  )([A-Za-z_][\w, ]*):(?: |$)")


@dataclass(slots=True)
class Item:
    """One key of an entry: its lines, with the comments that stand before it."""

    key: str
    lines: list[str]
    comments: list[str] = field(default_factory=list)


@dataclass(slots=True)
class EntryText:
    """One entry: its keys in their order, and the comments that stand right above it."""

    items: list[Item]
    comments: list[str] = field(default_factory=list)
    trailing: list[str] = field(default_factory=list)  # comments after the last key

    @property
    def function(self) -> str:
        """The name of the operator without its overload, by which entries are sorted."""
        first = self.items[0].lines[0].partition(":")[2].strip().strip("\"'")
        found = _NAME.match(first)
        return found.group() if found else first

    def lines(self, cwrap: bool) -> list[str]:
        """The entry as it stands in the file."""
        found = list(self.comments) + (["[["] if cwrap else [])
        for position, item in enumerate(self.items):
            found += item.comments
            first = item.lines[0][2:]
            lead = "  " if cwrap or position else "- "
            found += [lead + first, *item.lines[1:]]
        return found + self.trailing + (["]]"] if cwrap else [])


@dataclass(slots=True)
class Section:
    """Entries that are sorted among each other, below the comments that head them."""

    heading: list[str] = field(default_factory=list)
    entries: list[EntryText] = field(default_factory=list)


@dataclass(slots=True)
class FileText:
    """A file of entries."""

    sections: list[Section]
    cwrap: bool = False

    def text(self) -> str:
        """The file, with one blank line between entries and none at its end."""
        blocks = []
        for section in self.sections:
            if section.heading:
                blocks.append(section.heading)
            blocks += [entry.lines(self.cwrap) for entry in section.entries]
        return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks) + "\n"


def read_layout(text: str, cwrap: bool = False) -> FileText:
    """The parts of a file's text. It must be one that the reader takes without a mistake."""
    sections = [Section()]
    comments: list[str] = []
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            if comments:  # a comment with a blank line below heads what follows
                _head(sections, comments)
                comments = []
            position += 1
        elif line.lstrip().startswith("#") and not line.startswith(" "):
            comments.append(line)
            position += 1
        else:
            end = _end_of_entry(lines, position, cwrap)
            body = lines[position + 1 : end - 1] if cwrap else lines[position:end]
            entry = _entry(body)
            entry.comments = comments
            comments = []
            sections[-1].entries.append(entry)
            position = end
    if comments:
        _head(sections, comments)
    return FileText(sections, cwrap)


def _head(sections: list[Section], comments: Sequence[str]) -> None:
    """Begin a section; two comments in a row are one heading."""
    last = sections[-1]
    if last.entries or (last.heading and len(sections) > 1):
        sections.append(Section(list(comments)))
    elif last.heading:
        last.heading += ["", *comments]
    else:
        last.heading = list(comments)


def _end_of_entry(lines: Sequence[str], start: int, cwrap: bool) -> int:
    """The line after an entry: of its last line that is not blank."""
    if cwrap:
        return next(i for i in range(start, len(lines)) if lines[i].strip() == "]]") + 1
    end = start + 1
    for position in range(start + 1, len(lines)):
        line = lines[position]
        if line.strip():
            if not line.startswith(" "):
                break
            end = position + 1
    return end


def _entry(lines: Sequence[str]) -> EntryText:
    """The keys of an entry; what is indented more than a key belongs to the key above."""
    items: list[Item] = []
    comments: list[str] = []
    for line in lines:
        found = _KEY.match(line)
        if found:
            items.append(Item(found.group(1), ["  " + line[2:]], comments))
            comments = []
        elif line.startswith("  #") and not line.startswith("   "):
            comments.append(line)
        else:
            items[-1].lines += [*comments, line]
            comments = []
    for item in items:
        while item.lines and not item.lines[-1].strip():
            item.lines.pop()
    return EntryText(items, trailing=comments)
