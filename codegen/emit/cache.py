"""What earlier runs have found out: where nothing has changed, it need not be found out again.

``Cache`` holds two checksums, of all that the generator reads and of all that it wrote; ``Kept`` what came of
the very same sources. They are hints: without them, or where they are damaged, the same comes out, later.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..read.references import reference_files
from .write import OUTPUTS, write_whole

if TYPE_CHECKING:
    from ..read.libraries import Library

#: The generator's own code, and the IR below it.
GENERATOR = (Path(__file__).resolve().parents[1], Path(__file__).resolve().parents[2] / "ir")

#: How the names of files end on which what is generated depends.
SOURCES = frozenset({".py", ".yaml", ".cwrap", ".jinja", ".toml"})


def sources(declarations: Path, runtime: Path, library: Library | None) -> list[Path]:
    """The files and folders on which what is declared depends: names in it are looked up in the code."""
    found = [declarations, runtime, *GENERATOR]
    found += reference_files(declarations.parent / "tests")  # named by samples
    if library is not None:
        found += [*library.sources, *reference_files(library.tests)]
    return found


def digest(places: Iterable[Path], suffixes: frozenset[str]) -> str:
    """A checksum of files, and of those with these suffixes in folders: of their names and texts."""
    found = hashlib.sha256(sys.version.encode())
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix in suffixes and path.is_file():
                found.update(f"{path.relative_to(place.parent)}\0".encode())
                found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


class Cache:
    """What the last run read and wrote."""

    def __init__(self, file: Path, inputs: Iterable[Path], output: Path) -> None:
        self.file = file
        self.inputs = digest(inputs, SOURCES)
        self.output = output
        self.key = os.path.relpath(output, file.parent.parent)  # holds in a copy of the project

    def unchanged(self) -> bool:
        """Whether the output is what the very same inputs gave."""
        try:
            known = json.loads(self.file.read_text(encoding="utf-8"))
            return bool(known[self.key] == [self.inputs, digest([self.output], OUTPUTS)])
        except (OSError, ValueError, TypeError, KeyError):
            return False

    def remember(self) -> None:
        """Note that the output is what the inputs gave; where that cannot be noted, it is not."""
        try:
            known = json.loads(self.file.read_text(encoding="utf-8"))
            known = known if isinstance(known, dict) else {}
        except (OSError, ValueError):
            known = {}
        known[self.key] = [self.inputs, digest([self.output], OUTPUTS)]
        _note(self.file, json.dumps(known).encode())


def _note(file: Path, content: bytes) -> None:
    """Write a file of the cache; where that cannot be done, it is not."""
    try:
        write_whole(file, content)
    except OSError:
        return


class Kept:
    """What came of sources, in the .cache/ of a project; of what is in no project nothing is kept."""

    def __init__(
        self, name: str, declarations: Path, library: Library | None, inputs: str | Iterable[Path]
    ) -> None:
        """``inputs`` are the sources, or their checksum where that is known."""
        root = declarations.resolve().parent if library is None else library.root
        in_project = (root / "pyproject.toml").is_file() and (library is None or library.copied is None)
        self.file = root / ".cache" / name if in_project else None
        self.key = b""
        if in_project:
            self.key = (inputs if isinstance(inputs, str) else digest(inputs, SOURCES)).encode() + b"\n"

    def read(self) -> bytes | None:
        """What was kept of the very same sources."""
        if self.file is None:
            return None
        try:
            content = self.file.read_bytes()
        except OSError:
            return None
        return content[len(self.key) :] if content.startswith(self.key) else None

    def write(self, content: bytes) -> None:
        """Keep it."""
        if self.file is not None:
            _note(self.file, self.key + content)
