"""The generator does without what it generated, and a program without it is told what to run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scratch import keep_declarations

if TYPE_CHECKING:
    from conftest import Scratch


def contents(folder: Path) -> dict[str, str]:
    """The texts of the generated files."""
    return {p.name: p.read_text(encoding="utf-8") for p in sorted(folder.iterdir()) if p.is_file()}


def absent(generated: Path) -> None:
    shutil.rmtree(generated)


def empty(generated: Path) -> None:
    for path in generated.iterdir():
        if path.is_file():
            path.unlink()


def broken(generated: Path) -> None:
    for path in generated.glob("*.py"):
        path.write_text("this is (no Python\n", encoding="utf-8")


def failing(generated: Path) -> None:
    for path in generated.glob("*.py"):
        path.write_text("raise RuntimeError('no such thing')\n", encoding="utf-8")


@pytest.fixture
def small(scratch: Scratch) -> Scratch:
    """A scratch copy that declares the functions of one file: generated in a second."""
    keep_declarations(scratch, "native_functions.scan.yaml")
    return scratch


def spoilt(scratch: Scratch, spoil: Callable[[Path], None]) -> None:
    """What was generated is found to be wrong, and made again as it was."""
    generated = scratch.root / "generated"
    before = contents(generated)
    for kept in (scratch.root / ".cache").glob("*.*"):
        kept.unlink()
    spoil(generated)
    checked = scratch.python("-m", "tengen.codegen.gen", "--check")
    assert checked.returncode == 1 and "To mend it: python -m tengen.codegen.gen" in checked.stdout
    done = scratch.python("-m", "tengen.codegen.gen")
    assert done.returncode == 0, done.stdout
    assert contents(generated) == before


@pytest.mark.parametrize("spoil", [absent, empty, broken])
def test_the_generator_runs_without_what_it_generated(small: Scratch, spoil: Callable[[Path], None]) -> None:
    spoilt(small, spoil)


def test_all_is_made_again(scratch: Scratch) -> None:
    """Where what was generated fails, too; then the project runs again."""
    spoilt(scratch, failing)
    assert scratch.python("-c", "import tengen; tengen.ones(2)").returncode == 0


def test_a_user_is_told_what_to_run(scratch: Scratch) -> None:
    broken(scratch.root / "generated")
    used = scratch.python("-c", "import tengen; tengen.ones(2)")
    assert used.returncode == 1
    assert "the generated code does not load; `python -m tengen.codegen.gen` makes it anew" in used.stdout
