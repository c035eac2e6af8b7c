"""What the machines run is there: a file that was renamed would be no test."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import machines  # noqa: E402
import sanitized  # noqa: E402


def test_what_is_run_is_there() -> None:
    named = [*machines.SHORT, *[test for each in sanitized.SANITIZERS.values() for test in each.tests]]
    assert len(named) > 10
    assert not [name for name in named if not (HERE.parents[1] / name.partition("::")[0]).exists()]
