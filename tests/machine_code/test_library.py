"""Libraries that are built in advance: made, chosen, refused."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from machine_tables import run

from tengen.codegen.native import main
from tengen.machine_code import Kernels, build, library, processor
from tengen.machine_code.library import Contents, contents_path, folder_of, path_of
from tengen.machine_code.processor import TARGETS, architecture, levels, targets
from tengen.machine_code.status import status
from tengen.machine_code.tables import table_of

Fresh = Callable[[], Kernels]
TABLES = "machine_tables_of_a_test"
pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")
X = np.arange(4, dtype="float32")


@pytest.fixture
def built(fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> Path:
    """The library for this processor, built by the command."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("NOT TESTED: there is no C compiler")
    if not targets():
        pytest.skip("no libraries are built for this processor")
    best = targets()[0]
    assert main(["--tables", TABLES, "--target", best.name]) == 0
    path = path_of(table_of(TABLES), best, folder_of(table_of(TABLES)))
    assert f"{path}: {len(table_of(TABLES).kernels)} kernels" in capsys.readouterr().out
    return path


def right(kernels: Kernels) -> bool:
    return np.array_equal(kernels.double_and_add(X, X), 3 * X) and kernels.total(X) == 6


def test_a_library_is_used_where_it_fits(fresh: Fresh, built: Path, cache: Path) -> None:
    kernels = fresh()
    assert right(kernels) and kernels._pick(X.astype("float64"), np.arange(4))[3] == 9
    found = status(TABLES)
    assert (found.used, found.description) == ("library", str(built)) and not found.failures
    assert not cache.exists()


def test_llvmlite_and_the_generator_are_not_imported(built: Path) -> None:
    program = """
import importlib, types
from tengen.machine_code import library
from pathlib import Path
library.folder_of = lambda table: Path({folder!r})
module = types.ModuleType("machine_tables_of_a_test")
module.KERNELS, module.ROUTINES = machine_tables.KERNELS, machine_tables.ROUTINES
sys.modules[module.__name__] = module
print(right(Kernels(module.__name__).double_and_add))
print([m for m in sys.modules if m.startswith(("llvmlite", "tengen.codegen"))])
"""
    assert run(program.format(folder=str(built.parent))) == "True\n[]"


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("other kernels", "other declarations"),
        ("cut short", "is damaged"),
        ("no contents", "cannot be read"),
        ("contents of another form", "cannot be read"),
        ("not a library", "cannot be loaded"),
    ],
)
def test_a_library_is_refused(
    fresh: Fresh, built: Path, monkeypatch: pytest.MonkeyPatch, damage: str, told: str
) -> None:
    described = contents_path(built)
    contents = Contents.of(described.read_text())
    if damage == "other kernels":
        monkeypatch.setitem(sys.modules[TABLES].KERNELS, "more", (("x",), ("y",), "", "y = x"))
    elif damage == "cut short":
        built.write_bytes(built.read_bytes()[:-1])
    elif damage == "no contents":
        described.unlink()
    elif damage == "contents of another form":
        described.write_text("[1]")
    else:
        built.write_bytes(b"text")
        checksum = library.checksum(b"text")
        described.write_text(Contents(contents.key, checksum, contents.kernels).text())
    assert right(fresh())
    found = status(TABLES)
    assert found.used == "llvmlite" and told in found.reason


def test_a_library_for_another_lowering_is_refused(
    fresh: Fresh, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tengen.machine_code.tables.lowering_digest", lambda: "another")
    fresh()
    assert status(TABLES).used == "llvmlite"


def test_the_library_of_the_highest_level_is_chosen(
    fresh: Fresh, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = [t for t in targets() if t.name != "x86-64-v4"]
    if architecture() != "x86_64" or not lower:
        pytest.skip("this processor has no levels")
    assert main(["--tables", TABLES, "--target", *(t.name for t in lower)]) == 0
    assert right(fresh()) and status(TABLES).description == str(built)
    monkeypatch.setattr(processor, "_features", lambda: {"X86_V2": True})
    assert right(fresh()) and status(TABLES).description.endswith("-x86-64-v2.so")


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (["X86_V2", "X86_V3", "X86_V4"], ["x86-64-v4", "x86-64-v3", "x86-64-v2"]),
        (["X86_V2", "AVX2", "FMA3", "F16C", "no X86_V3"], ["x86-64-v2"]),
        (["SSE42", "SSSE3", "POPCNT", "AVX2", "FMA3", "F16C"], ["x86-64-v3", "x86-64-v2"]),
        (["SSE42", "SSSE3", "POPCNT", "AVX", "AVX2"], ["x86-64-v2"]),
        ([], []),
    ],
)
def test_levels(features: list[str], expected: list[str]) -> None:
    """NumPy's own word counts where it has one."""
    assert levels({f.removeprefix("no "): not f.startswith("no ") for f in features}) == expected


def test_libraries_are_for_these_processors() -> None:
    assert list(TARGETS) == ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"]


def test_where_nothing_links_it_is_said(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fresh()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    names = list(TARGETS)
    assert main(["--tables", TABLES, "--out", str(tmp_path), "--target", *names]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[0] for line in told] == [f"NOT MADE for {name}" for name in names]
    assert not list(tmp_path.glob("*.so"))


def test_other_architectures_are_linked_by_their_own_linkers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "architecture", lambda: "x86_64")
    monkeypatch.setattr(build.sys, "platform", "linux")
    there = {"cc", "ld.lld", "aarch64-linux-gnu-gcc"}
    monkeypatch.setattr(build.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setenv("CC", "")
    assert build.link_command(TARGETS["x86-64-v3"])[0] == "cc"
    assert build.link_command(TARGETS["aarch64"])[0] == "aarch64-linux-gnu-gcc"
    there.remove("aarch64-linux-gnu-gcc")
    assert build.link_command(TARGETS["aarch64"])[0] == "ld.lld"
