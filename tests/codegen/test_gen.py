"""The command: what it writes, what ``--check`` says, and what it leaves alone."""

from __future__ import annotations

import py_compile
import shutil
from pathlib import Path

import pytest

from tengen.codegen import gen
from tengen.codegen.cli import main as tengen_command
from tengen.codegen.emit.write import _SEALED, CHECKSUM, replace, sealed, write
from tengen.codegen.model.source import OutputFile


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the command has filled."""
    folder = tmp_path_factory.mktemp("generated")
    assert gen.main(["--output", str(folder)]) == 0
    return folder


@pytest.fixture
def output(generated: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(generated, tmp_path / "generated"))


def check(output: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    status = gen.main(["--check", "--output", str(output)])
    return status, capsys.readouterr().out


def test_what_is_committed_is_what_is_generated(capsys: pytest.CaptureFixture[str]) -> None:
    status = gen.main(["--check"])
    assert status == 0, capsys.readouterr().out


def test_check_of_what_was_written(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = check(output, capsys)
    assert status == 0
    assert all(line.split()[0] == "same" for line in text.splitlines())


def test_generation_is_deterministic(generated: Path) -> None:
    files = gen.generate()
    assert sorted(f.path for f in files) == sorted(p.name for p in generated.iterdir())
    assert all(f.text.encode() == (generated / f.path).read_bytes() for f in files)


def test_check_tells_the_states_apart(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (output / "nodes.py").unlink()
    (output / "left_over.py").write_text("# of an operator that is gone\n")
    edited = output / "promotion.py"
    edited.write_text(edited.read_text() + "PATCHED = True\n")
    older = output / "operators.md"
    older.write_text(resealed(older.read_text().replace("Every operator", "Each operator", 1)))
    status, text = check(output, capsys)
    assert status == 1
    table = text.split("\n\n")[0].splitlines()
    states = {line.split()[-1]: " ".join(line.split()[:-1]) for line in table}
    assert states["nodes.py"] == "missing"
    assert states["left_over.py"] == "orphan"
    assert states["promotion.py"] == "edited by hand"
    assert states["operators.md"] == "stale"
    assert states["functions.py"] == "same"
    assert "-PATCHED = True" in text and "-Each operator" in text and "+Every operator" in text
    assert f"python -m tengen.codegen.gen --output {output}" in text.splitlines()[-1]


def resealed(text: str) -> str:
    """The text as an earlier run of the generator would have left it: with its own checksum."""
    return sealed(_SEALED.sub(CHECKSUM, text, count=1))


def test_only_what_changed_is_written(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {p.name: p.stat().st_mtime_ns for p in output.iterdir()}
    (output / "left_over.py").write_text("")
    (output / "promotion.py").write_text("broken")
    capsys.readouterr()
    assert gen.main(["--output", str(output)]) == 0
    assert "removed generated/left_over.py" in capsys.readouterr().out
    assert not (output / "left_over.py").exists()
    after = {p.name: p.stat().st_mtime_ns for p in output.iterdir()}
    assert [n for n in before if after[n] != before[n]] == ["promotion.py"]
    assert gen.main(["--check", "--output", str(output)]) == 0


def test_nothing_is_written_when_there_is_an_error(
    output: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declarations = tmp_path / "declarations"
    shutil.copytree(gen.declarations_dir(), declarations)
    with (declarations / "derivatives.unary.yaml").open("a") as file:
        file.write("\n- name: expp\n  self: grad\n")
    (output / "promotion.py").write_text("left as it is")
    before = {p.name: p.read_bytes() for p in output.iterdir()}
    status = gen.main(["--output", str(output), "--declarations", str(declarations)])
    assert status == 1
    said = capsys.readouterr().err
    assert 'unknown operator "expp"' in said and "nothing was written" in said
    assert {p.name: p.read_bytes() for p in output.iterdir()} == before


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    written = tmp_path / "nodes.py"
    write([OutputFile("nodes.py", sealed(f"# {CHECKSUM}\n" + "# whole\n" * 9999))], tmp_path)
    before = written.read_bytes()
    with pytest.raises(UnicodeEncodeError):
        write([OutputFile("nodes.py", "# half\n" * 9999 + "\ud800")], tmp_path)
    assert written.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["nodes.py"]


def test_the_console_command_does_the_same(output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tengen_command(["gen", "--check", "--output", str(output)]) == 0
    (output / "nodes.py").unlink()
    assert tengen_command(["gen", "--check", "--output", str(output)]) == 1
    assert tengen_command(["gen", "--output", str(output)]) == 0
    assert (output / "nodes.py").exists()


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep").mkdir()
    precious = [tmp_path / "nodes.py", tmp_path / "deep" / "notes.md"]
    for path in precious:
        path.write_text("years of work")
    assert gen.main(["--output", str(tmp_path)]) == 1
    assert "deep/notes.md, which was not generated" in capsys.readouterr().err
    assert [p.read_text() for p in precious] == ["years of work"] * 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "nodes.py"]


def test_no_such_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert gen.main(["--declarations", str(tmp_path / "nowhere")]) == 2
    assert "is no folder of declarations" in capsys.readouterr().err


def test_what_was_compiled_of_a_file_goes_with_it(tmp_path: Path) -> None:
    """Python compares times in whole seconds, and sizes: a change of neither would not be seen."""
    path = tmp_path / "module.py"
    for value in ("1", "2"):
        replace(path, f"found = {value}\n")
        compiled = Path(py_compile.compile(str(path), doraise=True))
        assert compiled.is_file()
    replace(path, "found = 3\n")
    assert not compiled.is_file()
    compiled.touch()
    replace(tmp_path / "module.pyi", "found: int\n")
    assert compiled.is_file()
