"""Emit: what changed, and nothing else; and tell what would change.

All files are rendered before the first is written. Each is written beside its place and moved
there, so that a reader never sees half of one.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..model.source import OutputFile

#: How the names of generated files end.
OUTPUTS = frozenset({".py", ".pyi", ".md", ".json"})

#: Stands in a rendered text for the checksum of the text itself.
CHECKSUM = "checksum:" + "0" * 16
_SEALED = re.compile(r"checksum:[0-9a-f]{16}")


def sealed(text: str) -> str:
    """The text with its checksum filled in, by which an edit by hand is seen later."""
    return text.replace(CHECKSUM, f"checksum:{_digest(text)}", 1)


def _digest(text: str) -> str:
    return hashlib.sha256(_SEALED.sub(CHECKSUM, text, count=1).encode()).hexdigest()[:16]


def edited_by_hand(text: str) -> bool:
    """Whether a generated text is not what the generator wrote."""
    found = _SEALED.search(text)
    return found is None or found.group() != f"checksum:{_digest(text)}"


@dataclass(frozen=True, slots=True)
class Status:
    """How a generated file on disk stands to what would be generated."""

    path: str
    state: str  # "same" | "stale" | "missing" | "orphan" | "edited by hand"
    found: str = ""  # the text of the file, where it differs from
    wanted: str = ""  # what would be generated

    def diff(self) -> str:
        """What the texts differ in."""
        names = f"{self.path} (on disk)", f"{self.path} (generated)"
        lines = self.found.splitlines(True), self.wanted.splitlines(True)
        return "".join(difflib.unified_diff(*lines, *names, n=2))


def foreign(files: Iterable[OutputFile], output: Path) -> list[str]:
    """What is in a folder that no generator has written to: files that are not its to remove."""
    for file in files:
        path = output / file.path
        if path.is_file() and _SEALED.search(path.read_text(encoding="utf-8", errors="replace")):
            return []
    return sorted(p.relative_to(output).as_posix() for p in _generated(output))


def write(files: Iterable[OutputFile], output: Path) -> list[Status]:
    """Bring ``output`` to exactly ``files``; returns what was done to each."""
    files = list(files)
    before = compare(files, output)
    texts = {f.path: f.text for f in files}
    for status in before:
        if status.state == "orphan":
            (output / status.path).unlink()
        elif status.state != "same":
            replace(output / status.path, texts[status.path])
    return before


def compare(files: Iterable[OutputFile], output: Path) -> list[Status]:
    """The state of every file that is there or should be."""
    wanted = {f.path: f.text for f in files}
    found = {p.relative_to(output).as_posix(): p for p in _generated(output)}
    states = []
    for path in sorted(wanted.keys() | found.keys()):
        if path not in found:
            states.append(Status(path, "missing"))
        elif path not in wanted:
            states.append(Status(path, "orphan"))
        else:
            text = found[path].read_text(encoding="utf-8", errors="replace")
            states.append(_compare(path, text, wanted[path]))
    return states


def _compare(path: str, text: str, wanted: str) -> Status:
    if text == wanted:
        return Status(path, "same")
    return Status(path, "edited by hand" if edited_by_hand(text) else "stale", text, wanted)


def _generated(output: Path) -> Iterable[Path]:
    if output.is_dir():
        for path in output.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix in OUTPUTS:
                yield path


def replace(path: Path, text: str) -> None:
    """Write a file of text whole, or not at all.

    What Python compiled of the file goes: of one size, a change within the second would not be seen.
    """
    write_whole(path, text.encode())
    if path.suffix == ".py":
        Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
