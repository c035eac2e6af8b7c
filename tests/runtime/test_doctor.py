"""The doctor: what is concluded from what was asked and measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tengen.utils.doctor import VARIABLE, Diagnosis, Speed, advice, measure, possible, report


def speeds(**gflops: float | None) -> tuple[Speed, ...]:
    return tuple(Speed("" if name == "own" else name, name, value) for name, value in gflops.items())


@pytest.mark.parametrize(
    ("found", "current", "expected"),
    [
        (speeds(own=250.0, SkylakeX=470.0, Haswell=251.0), "", f"{VARIABLE}=SkylakeX"),
        (speeds(own=250.0, SkylakeX=270.0), "", None),  # as much as two runs differ
        (speeds(own=470.0, Haswell=250.0), "Haswell", f"{VARIABLE} unset"),
        (speeds(own=470.0, Haswell=250.0), "", None),
        (speeds(own=100.0, SkylakeX=None), "", None),
        (speeds(own=100.0, Broken=None), "Broken", f"{VARIABLE} unset"),
        ((), "", None),
    ],
)
def test_what_is_advised(found: tuple[Speed, ...], current: str, expected: str | None) -> None:
    assert advice(found, current) == expected


def test_only_what_the_processor_can_do_is_tried() -> None:
    assert possible({"AVX2": True, "FMA3": True}) == ["Zen", "Haswell"]
    assert possible({"AVX2": True, "FMA3": True, "AVX512F": True, "AVX512_SKX": True})[0] == "SkylakeX"
    assert possible({}) == []


def test_the_report_names_the_setting() -> None:
    found = Diagnosis("OpenBLAS 1", speeds(own=100.0, SkylakeX=200.0, Zen=None), f"{VARIABLE}=SkylakeX")
    text = report(found)
    assert f"{VARIABLE}=SkylakeX" in text and "does not run here" in text and "100 GFLOP/s" in text
    assert "as good as any" in report(Diagnosis("OpenBLAS 1", speeds(own=100.0)))
    assert "not OpenBLAS" in report(Diagnosis(None))


def test_a_choice_is_measured_in_a_process_of_its_own() -> None:
    speed = measure("")
    assert speed.chosen == "" and speed.gflops is not None and speed.gflops > 0


def test_the_command_is_there() -> None:
    command = [sys.executable, "-m", "tengen.codegen.cli", "doctor", "--help"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "OpenBLAS" in found.stdout
