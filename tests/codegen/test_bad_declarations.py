"""Every folder of tests/bad_declarations is a mistake, and the exact text that its author gets.

A case's files are laid over the good declarations of ``surroundings``; ``expected.txt`` is what
the loader must say. ``python tests/codegen/test_bad_declarations.py`` writes the expected texts
anew: read the difference before committing it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from surroundings import SURROUNDINGS

from tengen.codegen import gen
from tengen.codegen.model.diagnostics import DeclarationErrors, width
from tengen.codegen.pipeline import load

ROOT = Path(__file__).parents[1] / "bad_declarations"
#: What editors do not take for the end of a line.
BREAKS = dict.fromkeys([0x85, 0x2028, 0x2029], " ") | {0: "\ufffd"}
CASES = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "surroundings")


def arrange(case: str, folder: Path) -> Path:
    """The declarations of a case: the good ones, and the bad files beside them."""
    declarations = folder / "declarations"
    shutil.copytree(SURROUNDINGS / "declarations", declarations)
    for path in (ROOT / case).iterdir():
        if path.name != "expected.txt":
            shutil.copy(path, declarations / path.name)
    (folder / "tests").mkdir()  # so that references are looked up, and not found
    return declarations


def complaint(case: str, folder: Path) -> str:
    """What the loader says to a case."""
    declarations = arrange(case, folder)
    with pytest.raises(DeclarationErrors) as caught:
        load(declarations, SURROUNDINGS / "runtime")
    return f"{caught.value}\n"


@pytest.mark.parametrize("case", CASES)
def test_the_exact_text(case: str, tmp_path: Path) -> None:
    assert complaint(case, tmp_path) == (ROOT / case / "expected.txt").read_text()


def test_there_are_enough() -> None:
    assert len(CASES) >= 40


def test_the_surroundings_are_good(tmp_path: Path) -> None:
    declarations = load(SURROUNDINGS / "declarations", SURROUNDINGS / "runtime")
    assert {str(o.name) for o in declarations.operators} >= {"exp", "mul.Tensor", "sort"}


def test_every_text_says_where_and_what(tmp_path: Path) -> None:
    """Each error names a place, shows its line and puts a caret below it."""
    for case in CASES:
        blocks = (ROOT / case / "expected.txt").read_text().split("\n\n")[:-1]
        for block in blocks:
            first, *rest = block.split("\n")
            assert ": error: " in first, case
            file, line, column = first.split(": error: ")[0].rsplit(":", 2)
            if case == "file_name_misspelt":
                continue
            shown = rest[0].removeprefix("  ")
            if "bad" in file:
                text = (ROOT / case / Path(file).name).read_text(encoding="utf-8-sig", errors="replace")
                assert shown == text.split("\n")[int(line) - 1].translate(BREAKS), case
            before = shown[: int(column) - 1]
            assert rest[1].index("^") - 2 == sum(map(width, before)), case


def test_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declarations, output = arrange("several_files", tmp_path), tmp_path / "generated"
    output.mkdir()
    (output / "kept.py").write_text("kept")
    assert gen.main(["--declarations", str(declarations), "--output", str(output)]) == 1
    assert [path.name for path in output.iterdir()] == ["kept.py"]
    assert 'unknown type "Tensr"' in capsys.readouterr().err


def main() -> None:
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            (ROOT / case / "expected.txt").write_text(complaint(case, Path(folder)))


if __name__ == "__main__":
    main()
