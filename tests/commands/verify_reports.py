"""What one run of ``tengen verify`` tells of many mistakes, each of which stands by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scratch import Scratch

_REPORT = re.compile(r"^(?=\S+:\d+:\d+: error: )", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """The errors of one run, where the mistakes were made, and whether the project stayed as it was."""

    errors: list[str]
    places: Mapping[str, str]  # by what the mistake is
    output: str
    status: int
    untouched: bool

    def at(self, what: str, message: str) -> str:
        """The one error that stands where a mistake was made, which says the message."""
        found = [e for e in self.errors if e.startswith(f"{self.places[what]}: error: {message}")]
        assert len(found) == 1, self.output
        return found[0]


def verify(scratch: Scratch, places: Mapping[str, str], *operators: str) -> Told:
    """Verify operators of a scratch copy in which mistakes were made."""
    before = generated(scratch)
    done = scratch.python("-m", "tengen.codegen.cli", "verify", *operators, "-j", "1")
    errors = [e.strip() for e in _REPORT.split(done.stdout) if _REPORT.match(e)]
    return Told(errors, places, done.stdout, done.returncode, generated(scratch) == before)


def generated(scratch: Scratch) -> dict[str, int]:
    """When each generated file was written."""
    return {p.name: p.stat().st_mtime_ns for p in (scratch.root / "generated").iterdir()}
