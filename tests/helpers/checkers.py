"""What tests of type checkers share."""

from __future__ import annotations

import shutil
from pathlib import Path

from scratch import PROJECT


def mypy_cache(place: Path) -> Path:
    """A folder for mypy's notes, with those of the last ``dev.py check`` where there are some.

    mypy sees by their texts which modules have changed since, and what it says is the same; it is said in a
    second in place of a minute.
    """
    kept = PROJECT / ".mypy_cache"
    if kept.is_dir() and not place.exists():
        shutil.copytree(kept, place)
    return place
