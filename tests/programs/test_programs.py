"""The programs in examples/programs run through ``tengen.as_torch``, and give PyTorch's numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "common")


def numbers(*command: str, program: str) -> dict[str, Any]:
    if program == "vit":
        pytest.importorskip("sklearn")
    done = subprocess.run(
        [sys.executable, *command, str(FOLDER / f"{program}.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def flat(value: Any) -> list[float]:
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_and_learns(program: str) -> None:
    found = numbers("-m", "tengen.as_torch", program=program)
    assert all(x == x and abs(x) < 1e6 for value in found.values() for x in flat(value))
    if "losses" in found and program != "gan":
        assert found["losses"][-1] < found["losses"][0]


@pytest.mark.oracle
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_numbers_are_pytorchs(program: str, torch: Any) -> None:
    ours, theirs = numbers("-m", "tengen.as_torch", program=program), numbers(program=program)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert flat(ours[name]) == pytest.approx(flat(value), rel=1e-6, abs=1e-9), name
