"""Read: the rows of the tables beside the operators, with line and column of every value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..model.diagnostics import Report
from ..model.source import Located, Place
from .entries import read_text, read_yaml
from .fields import check_keys, length_of_scalar, require_keys
from .keys import Key


def open_table(directory: Path, name: str, report: Report, display: str = "") -> Located | None:
    """A table's file; a missing one is reported."""
    display = f"{display or directory.name}/{name}"
    path = directory / name
    if path.exists():
        text = read_text(path, display, report)
        return None if text is None else read_yaml(text, display, report)
    report.error(Place(display, 1, 1), "this file is missing")
    return None


def table_rows(
    directory: Path,
    name: str,
    keys: Mapping[str, Key],
    required: Sequence[str],
    report: Report,
    display: str = "",
) -> list[tuple[dict[str, Located], Place]]:
    """The entries of a table that have all required keys; the first of these is unique."""
    root = open_table(directory, name, report, display)
    if root is None or not isinstance(root.value, tuple):
        if root is not None:
            report.error(
                root.place, "a declaration file is a list of entries", expected='"- " before each entry'
            )
        return []
    rows: dict[str, tuple[dict[str, Located], Place]] = {}
    for item in root.value:
        if not isinstance(item.value, dict):
            report.error(item.place, "an entry is a mapping of keys to values", expected="key: value lines")
            continue
        fields = check_keys(item.value, keys, f"an entry of {name}", report)
        require_keys(item.value, required, keys, item.place, report)
        if any(key not in fields for key in required):
            continue
        identity = fields[required[0]]
        if identity.value in rows:
            report_twice(identity, rows[identity.value][0][required[0]].place, report)
        else:
            rows[identity.value] = (fields, item.place)
    return list(rows.values())


def report_twice(located: Located, first: Place, report: Report) -> None:
    """Reports a word that another entry has too."""
    report.error(
        located.place,
        f'"{located.value}" is listed twice',
        length=length_of_scalar(located),
        related=((first, "it was first listed here"),),
    )
