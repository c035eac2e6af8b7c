"""The programs in examples/programs run through ``tengen.as_torch``, and give PyTorch's numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "common")
AS_TORCH = ("-m", "tengen.as_torch")
#: Relative to the number. What is computed in bfloat16 is rounded to a part in 256 at each layer, in another
#: direction where another order of summation ends beside a tie; the steps of training follow that.
TOLERANCES = {"mixed_precision": 2**-6}


def output(*command: str, program: str, arguments: Sequence[str] = ()) -> str:
    if program == "vit":
        pytest.importorskip("sklearn")
    whole = [sys.executable, *command, str(FOLDER / f"{program}.py"), *arguments]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(*command: str, program: str, arguments: Sequence[str] = ()) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(*command, program=program, arguments=arguments))
    return found


def flat(value: Any) -> list[float]:
    return [x for each in value for x in flat(each)] if isinstance(value, list) else [value]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_and_learns(program: str) -> None:
    found = numbers(*AS_TORCH, program=program)
    assert all(x == x and abs(x) < 1e6 for value in found.values() for x in flat(value))
    if "losses" in found and program != "gan":
        assert found["losses"][-1] < found["losses"][0]


@pytest.mark.oracle
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_numbers_are_pytorchs(program: str, torch: Any) -> None:
    ours, theirs = numbers(*AS_TORCH, program=program), numbers(program=program)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        relative = TOLERANCES.get(program, 1e-6)
        assert flat(ours[name]) == pytest.approx(flat(value), rel=relative, abs=1e-9), name


@pytest.mark.oracle
@pytest.mark.parametrize("ways", [(AS_TORCH, ()), ((), AS_TORCH)], ids=["to_pytorch", "from_pytorch"])
def test_a_checkpoint_goes_on_in_the_other_library(
    ways: tuple[tuple[str, ...], tuple[str, ...]], tmp_path: Path, torch: Any
) -> None:
    first, second = ways
    path = str(tmp_path / "half.pt")
    output(*first, program="checkpoint", arguments=["--save", path])
    found = numbers(*second, program="checkpoint", arguments=["--load", path])["losses"]
    whole = numbers(*AS_TORCH, program="checkpoint")["without_interruption"]
    assert found == pytest.approx(whole, rel=1e-6)


def test_an_interruption_changes_nothing() -> None:
    found = numbers(*AS_TORCH, program="checkpoint")
    assert found["losses"] == found["without_interruption"]
