"""The doctor: what is concluded from what was asked and measured."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tengen import fast_paths
from tengen.machine_code.status import Status
from tengen.utils import native_report
from tengen.utils.doctor import (
    VARIABLE,
    Diagnosis,
    Speed,
    advice,
    fast_paths_report,
    measure,
    possible,
    report,
)


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


def state(used: str, **failures: str) -> Status:
    return Status(used, "described", "because", "x86-64-v3", "/cache", ("f", "g", "h"), failures)


def test_the_report_names_what_is_native_and_why() -> None:
    found = native_report.NativeDiagnosis(state("llvmlite", g="InvalidIR: no"), {"f": 0.5})
    text = native_report.report(found)
    for said in ("llvmlite; because", "x86-64-v3", "/cache", "2 of 3", "g is not: InvalidIR: no", "f 0.50"):
        assert said in text
    many = native_report.report(
        native_report.NativeDiagnosis(state("llvmlite", **dict.fromkeys("abcdefg", "no")), {})
    )
    assert "e is not: no" in many and "and 2 more" in many and "f is not" not in many
    switched_off = native_report.report(native_report.NativeDiagnosis(state("numpy"), {}))
    assert "none: NumPy's forms; because" in switched_off and "of 3" not in switched_off


def test_operators_are_measured_in_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that are no functions of tengen are left out."""
    monkeypatch.setattr(native_report, "_CALLS", 1)
    ratios = native_report.measured(["no_such_function", "exp", "tanh"])
    assert list(ratios) == ["exp", "tanh"] and all(ratio > 0 for ratio in ratios.values())


def test_the_diagnosis_asks_for_all_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_report, "measured", lambda names: dict.fromkeys(names, 1.0))
    found = native_report.diagnose()
    assert found.state.kernels and not found.state.failures
    assert bool(found.ratios) == (found.state.used != "numpy")


@pytest.mark.parametrize(
    "asked, expected",
    [
        ("no-such-cc -pthread", "there is no C compiler here (no-such-cc): install one, and tengen anew."),
        (sys.executable, f"install tengen anew, with the C compiler that is here ({sys.executable})."),
    ],
)
def test_without_a_compiler_a_sentence_says_so(
    asked: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", asked)
    said = fast_paths_report(fast_paths.Status(False, fast_paths.NOT_BUILT))
    assert said == f"The C machine is not used, since it was not built: {expected}"


def test_an_extension_that_is_not_there_was_not_built() -> None:
    code = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name == "tengen.fast_paths.machine":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
from tengen import fast_paths
print(fast_paths.status() == (False, fast_paths.NOT_BUILT))
"""
    environment = {k: v for k, v in os.environ.items() if k != "TENGEN_FAST_PATHS"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
