"""Archives of any records, whole or not, for files that a test makes by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping


def archive(text: bytes, records: Mapping[str, bytes] | None = None, name: str = "archive") -> bytes:
    """A file of the pickle, and of records: the storages, as "data/0", and others."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for record, content in {"data.pkl": text, "version": b"3\n", **(records or {})}.items():
            made.writestr(f"{name}/{record}", content)
    return file.getvalue()


def records(data: bytes) -> dict[str, bytes]:
    """The records of a file, by their names below the archive's."""
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        return {name.partition("/")[2]: found.read(name) for name in found.namelist()}


def changed(data: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """A file whose records are those of another after a change."""
    found = records(data)
    change(found)
    return archive(found.pop("data.pkl"), found)
