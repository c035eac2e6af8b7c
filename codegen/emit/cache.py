"""Whether anything has changed since the last run: if not, nothing needs to be generated.

The cache holds two checksums, of all that the generator reads and of all that it wrote. It is a
hint: without it, or where it is damaged, the same comes out, later.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from .write import OUTPUTS

_SUFFIXES = frozenset({".py", ".yaml", ".cwrap", ".jinja", ".toml"})


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
        self.inputs = digest(inputs, _SUFFIXES)
        self.output = output

    def unchanged(self) -> bool:
        """Whether the output is what the very same inputs gave."""
        try:
            known = json.loads(self.file.read_text(encoding="utf-8"))
            return bool(known[str(self.output)] == [self.inputs, digest([self.output], OUTPUTS)])
        except (OSError, ValueError, TypeError, KeyError):
            return False

    def remember(self) -> None:
        """Note that the output is what the inputs gave; where that cannot be noted, it is not."""
        try:
            known = json.loads(self.file.read_text(encoding="utf-8"))
            known = known if isinstance(known, dict) else {}
        except (OSError, ValueError):
            known = {}
        known[str(self.output)] = [self.inputs, digest([self.output], OUTPUTS)]
        try:
            self.file.parent.mkdir(exist_ok=True)
            self.file.write_text(json.dumps(known), encoding="utf-8")
        except OSError:
            return
