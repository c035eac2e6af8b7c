"""Read: the text of a declaration file to Located values, every key and value with its place.

YAML is read from the parser's events, in one pass.  Two things differ from YAML 1.1 on
purpose: only ``true`` and ``false`` are booleans (``no`` and ``on`` are words), and a key
written twice in a mapping is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ..model.diagnostics import Report
from ..model.source import Entry, Located, Place
from .overloads import with_overloads
from .view_copies import with_view_copy

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INTEGER = re.compile(r"[-+]?[0-9]{1,19}\Z")  # longer ones stay words
_OTHER_BREAKS = re.compile("[\x85\u2028\u2029]")
#: The values that may stand in each other.
_MAX_DEPTH = 32
_ESCAPE = re.compile(r"\\(?:x..|u....|U.{8}|.)", re.S)
_BLANK_ESCAPE = re.compile(r"\\[nrtvf \n\t]")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?\Z")
#: What stands in a source as it does in a value, on one line.
_WORD, _CHARACTER = re.compile(r"[^ \t\n]+"), re.compile(r"[^ \t\n]")
_WORDS: dict[str, bool | None] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "~": None,
    "": None,
}

MECHANISMS = {"native_functions": "native", "nn": "nn", "derivatives": "derivatives"}
#: What only a library has: kernels for tengen's operators.
KERNELS = "kernels"
#: Classes of ``tengen.nn`` whose functions are no operators.
MODULES = "modules"


def mechanism_of(path: Path) -> str | None:
    """The mechanism that reads a file: by its extension (cwrap) or the first part of its name."""
    if path.suffix == ".cwrap":
        return "cwrap"
    if path.suffix == ".yaml":
        stem = path.name.split(".")[0]
        return stem if stem in (KERNELS, MODULES) else MECHANISMS.get(stem)
    return None


def read_entries(path: Path, display: str, mechanism: str, report: Report) -> Iterator[Entry]:
    """The entries of a declaration file, in order, with those that others stand for behind them.

    ``display`` is the file's name in diagnostics.  What is no entry (not a mapping with string
    keys) is reported and left out.
    """
    text = read_text(path, display, report)
    if text is None:
        return
    root = read_cwrap(text, display, report) if mechanism == "cwrap" else read_yaml(text, display, report)
    if root is None or root.value is None:
        return
    if not isinstance(root.value, tuple):
        report.error(root.place, "a declaration file is a list of entries", expected='"- " before each entry')
        return
    for item in root.value:
        if isinstance(item.value, dict):
            entry = Entry(mechanism, item.place, item.value)
            yield from _entries(entry, report)
        else:
            report.error(item.place, "an entry is a mapping of keys to values", expected="key: value lines")


def _entries(entry: Entry, report: Report) -> Iterator[Entry]:
    """The entry, and those that it stands for."""
    if entry.mechanism != "native":
        yield entry
        return
    for each in with_overloads(entry, report):
        yield from with_view_copy(each, report)


def read_text(path: Path, display: str, report: Report) -> str | None:
    """The text of a declaration file, with plain line breaks; None, and an error reported, if it is none.

    A byte order mark in front is left out.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        lines = error.object[: error.start].decode("utf-8-sig", "replace").split("\n")
        report.sources[display] = error.object.decode("utf-8-sig", "replace").split("\n")
        place = Place(display, len(lines), len(lines[-1]) + 1)
        report.error(place, "not UTF-8", expected="a text file in UTF-8")
        return None
    except OSError as error:
        report.error(Place(display, 1, 1), f"this file cannot be read: {error.strerror}")
        return None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for found in _OTHER_BREAKS.finditer(text):  # YAML begins a line there, and editors do not
        at = found.start()
        place = Place(display, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        report.error(place, f"the character {ord(found[0]):#06x} breaks lines", expected="a plain line break")
    return _OTHER_BREAKS.sub(" ", text)


def read_yaml(text: str, display: str, report: Report) -> Located | None:
    """A whole YAML file as one Located value; None when it is empty or cannot be read at all."""
    report.sources[display] = text.split("\n")
    return _Reader(text, display, report).document()


def read_cwrap(text: str, display: str, report: Report) -> Located | None:
    """A cwrap file: ``[[`` and ``]]`` alone on their lines around blocks of YAML keys.

    The brackets are replaced by a list's dash and by blanks of the same width, which makes the
    whole file one YAML list whose places are those of the file itself.
    """
    lines = text.split("\n")
    report.sources[display] = lines
    opened: int | None = None
    result = []
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare == "[[":
            if opened is not None:
                report.error(
                    Place(display, number, line.index("[") + 1),
                    'a "[[" inside a block',
                    length=2,
                    expected=f'"]]" to close the block opened in line {opened}',
                )
            opened = number
            result.append(line.replace("[[", "- "))
        elif bare == "]]":
            if opened is None:
                report.error(
                    Place(display, number, line.index("]") + 1),
                    '"]]" closes nothing',
                    length=2,
                    expected='"[[" on a line above',
                )
            opened = None
            result.append(line.replace("]]", "  "))
        else:
            if opened is None and bare and not bare.startswith("#"):
                place = Place(display, number, len(line) - len(line.lstrip()) + 1)
                report.error(
                    place,
                    "text outside of a block",
                    length=len(bare),
                    expected='"[[" on a line of its own, the keys, and "]]"',
                )
                line = ""
            result.append(line)
    if opened is not None:
        place = Place(display, opened, lines[opened - 1].index("[") + 1)
        report.error(place, 'this "[[" is never closed', length=2, expected='"]]" on a line of its own')
    return _Reader("\n".join(result), display, report).document()


class _TooDeep(Exception):
    """Values are nested more deeply than any declaration needs."""

    def __init__(self, place: Place) -> None:
        self.place = place


class _Reader:
    """Builds Located values from the YAML parser's events."""

    def __init__(self, text: str, file: str, report: Report) -> None:
        self.text = text
        self.file = file
        self.report = report
        self.loader = _LOADER(text)
        self.next = self.loader.get_event
        self.depth = 0

    def document(self) -> Located | None:
        """The first document.  After a syntax error, what came before it is still returned."""
        self.partial: list[Located] = []
        try:
            self.next()  # stream start
            event = self.next()
            if isinstance(event, yaml.StreamEndEvent):
                return None
            root = self.value(self.next(), outermost=True)
            self.next()  # document end
            if not isinstance(event := self.next(), yaml.StreamEndEvent):
                self.report.error(
                    self.place(event.start_mark),
                    "a second YAML document",
                    length=3,
                    expected="one document a file",
                )
            return root
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(self.file, 1, 1) if mark is None else self.place(mark)
            context = error.context_mark
            related = () if context is None else ((self.place(context), str(error.context)),)
            if "nesting depth" in str(error.problem):  # libyaml's own limit: it reads ahead of its events
                self.too_deep(place)
            else:
                self.report.error(place, f"not YAML: {error.problem}", related=related)
        except yaml.reader.ReaderError as error:
            self.report.error(self.unreadable(error), f"not YAML: {error.reason}", expected="plain text")
        except yaml.YAMLError as error:
            self.report.error(Place(self.file, 1, 1), f"not YAML: {error}")
        except _TooDeep as error:
            self.too_deep(error.place)
        return Located(tuple(self.partial), Place(self.file, 1, 1)) if self.partial else None

    def too_deep(self, place: Place) -> None:
        """Report values that are nested deeper than the generator follows."""
        self.report.error(
            place, "values are nested too deeply", expected=f"at most {_MAX_DEPTH} in each other"
        )

    def unreadable(self, error: Any) -> Place:
        """Where a character stands that no YAML file can have."""
        at = next((i for i, c in enumerate(self.text) if error.character in (c, ord(c))), None)
        if at is None:
            return Place(self.file, 1, 1)
        return Place(self.file, self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at))

    def place(self, mark: Any) -> Place:
        return Place(self.file, mark.line + 1, mark.column + 1)

    def value(self, event: Any, outermost: bool = False) -> Located:
        """The value that starts with ``event``."""
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event)
        place = self.place(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self.report.error(place, "YAML aliases are not used in declarations", expected="the value itself")
            return Located(None, place)
        self.check_plain(event, place)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _TooDeep(place)
        made = self.sequence(outermost) if isinstance(event, yaml.SequenceStartEvent) else self.mapping()
        self.depth -= 1
        return Located(made, place)

    def check_plain(self, event: Any, place: Place) -> None:
        """Report anchors and tags."""
        if event.anchor:
            self.report.error(place, "YAML anchors are not used in declarations", expected="a plain value")
        if event.tag not in (None, "!"):
            self.report.error(place, f'the YAML tag "{event.tag}" is not used in declarations')

    def sequence(self, outermost: bool) -> tuple[Located, ...]:
        items = self.partial if outermost else []
        while not isinstance(event := self.next(), yaml.SequenceEndEvent):
            items.append(self.value(event))
        return tuple(items)

    def mapping(self) -> dict[str, Located]:
        result: dict[str, Located] = {}
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            key = self.value(event)
            value = self.value(self.next())
            name = key.value
            if isinstance(event, yaml.AliasEvent):
                continue
            if isinstance(name, tuple | dict):
                self.report.error(
                    key.place, "a key is a word, not a list or a mapping", expected="key: value"
                )
                continue
            name = name if isinstance(name, str) else event.value
            if name in result:
                first = result[name].key
                assert first is not None
                self.report.error(
                    key.place,
                    f'the key "{name}" is written twice',
                    length=len(name),
                    related=((first, "it was first written here"),),
                )
                continue
            result[name] = Located(value.value, value.place, key.at(0), value.starts)
        return result

    def scalar(self, event: Any) -> Located:
        place = self.place(event.start_mark)
        value = event.value
        self.check_plain(event, place)
        style = event.style
        start, end = event.start_mark.index, event.end_mark.index
        if not style:
            if self.text[start:end] == value:
                return Located(_resolve(value), place)
            if not value:
                return Located(None, place)
        elif style in ("'", '"') and self.text[start + 1 : end - 1] == value:
            return Located(value, place, None, ((0, place.shifted(1)),))
        return Located(value, place, None, self.starts(value, start, end, style))

    def starts(self, value: str, start: int, end: int, style: str | None) -> tuple[tuple[int, Place], ...]:
        """Where the runs of characters of a folded, escaped or multi-line scalar stand in the file.

        The characters of the value that are not blank stand in the source in the same order,
        one for one but for escapes; so the two are walked together, and wherever their distance
        changes a new run starts.
        """
        text = self.text
        at = start
        if style in ("|", ">"):
            at = max(at, text.find("\n", start, end))
        elif style:
            at += 1
        result: list[tuple[int, Place]] = []
        distance: int | None = None
        # Without quotes a word stands in the source as it is; between them each character by itself.
        for run in (_CHARACTER if style in ("'", '"') else _WORD).finditer(value):
            offset, char = run.start(), run[0]
            while text[at] in " \t\n" or (style == '"' and _BLANK_ESCAPE.match(text, at)):
                at += 1 if text[at] != "\\" else 2
            if at - offset != distance:
                distance = at - offset
                line_start = text.rfind("\n", 0, at) + 1
                result.append((offset, Place(self.file, text.count("\n", 0, at) + 1, at - line_start + 1)))
            if style == '"' and (escape := _ESCAPE.match(text, at)):
                at = escape.end()
            else:
                at += 2 if style == "'" and char == "'" else len(char)
        return tuple(result)


def _resolve(text: str) -> Any:
    """The value of a plain scalar: bool, None, int, float, or the string itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "-+.0123456789":
        if _INTEGER.match(text):
            return int(text)
        if _FLOAT.match(text):
            return float(text)
    return text
