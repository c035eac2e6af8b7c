"""The programs in examples/programs run through ``tengen.as_torch``, and give PyTorch's numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from example_programs import (
    AS_TORCH,
    NUMBERS,
    OF_PACKAGES,
    PAGE,
    PROGRAMS,
    differences,
    flat,
    numbers as numbers_of,
    output as output_of,
    page_with_table,
)


def _needs(program: str) -> None:
    if missing := PROGRAMS[program].missing():
        pytest.skip(f"not installed: {', '.join(missing)}; python dev.py programs runs it")


def output(*command: str, program: str, arguments: Sequence[str] = ()) -> str:
    _needs(program)
    return output_of(sys.executable, *command, program=program, arguments=arguments)


def numbers(*command: str, program: str, arguments: Sequence[str] = ()) -> dict[str, Any]:
    _needs(program)
    return numbers_of(sys.executable, *command, program=program, arguments=arguments)


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
    assert not differences(ours, theirs, PROGRAMS[program].tolerance)


def test_a_difference_is_told() -> None:
    expected = {"losses": [1.0, 2.0], "written": [3], "depth": 1e-12}
    assert not differences({"losses": [1.0, 2.0 + 1e-7], "written": [3], "depth": 0}, expected, 1e-6)
    assert differences({"losses": [1.0, 2.1], "written": [3], "depth": 0}, expected, 1e-6) == [
        "losses: 2.1, PyTorch's 2.0"
    ]
    assert differences({"losses": [1.0], "writes": [3], "depth": 0}, expected, 1e-6) == [
        "writes is reported by one alone",
        "written is reported by one alone",
        "losses has 1 numbers, PyTorch's 2",
    ]
    assert differences({"loss": float("nan")}, {"loss": 1.0}, 1e-6)


def test_numbers_are_stored_for_the_programs_that_need_packages() -> None:
    stored = json.loads(NUMBERS.read_text(encoding="utf-8"))
    assert stored.keys() == OF_PACKAGES.keys(), "python dev.py programs --record"


def test_the_table_of_packages_is_what_the_programs_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with_table(), "python dev.py programs writes it"


@pytest.mark.parametrize("program", OF_PACKAGES)
def test_a_program_that_needs_packages_says_what_the_table_needs(program: str) -> None:
    said = OF_PACKAGES[program]
    assert said.runs and said.since
    assert program not in {name.replace("-", "_") for name in [*said.packages, *said.needs]}, (
        "a program of a package's name is imported in its place"
    )


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
