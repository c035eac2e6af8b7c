"""What the commands say of wrong arguments, files and surroundings: a line or two, and no traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scratch import copy_project

from tengen.codegen.cli import COMMANDS, main
from tengen.codegen.gen import declarations_dir, output_dir
from tengen.codegen.model.diagnostics import is_slip, suggestion

if TYPE_CHECKING:
    from conftest import Scratch

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scratch(few: Scratch) -> Scratch:
    """A scratch copy with a few operators: of none are the values asked for."""
    return few


#: How each command that reads declarations is called.
CALLS = {
    "gen": ["gen", "--check"],
    "new": ["new", "twice(Tensor self) -> Tensor", "--kernel", "self * 2", "--dry-run"],
    "fmt": ["fmt", "--check"],
    "fix": ["fix", "--dry-run"],
    "explain": ["explain", "sin"],
    "diff": ["diff"],
    "verify": ["verify", "sin"],
}


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit status of a command, and all that it has said."""
    status = main(arguments)
    shown = capsys.readouterr()
    return status, shown.out + shown.err


def test_every_command_is_tried() -> None:
    assert set(CALLS) == set(COMMANDS) - {"init", "doctor"}, "these read no declarations"


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", CALLS)
def test_a_folder_that_is_not_there(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = str(tmp_path / "absent")
    for option, text in (("--declarations", "is no folder of declarations"), ("--library", "is no library")):
        status, told = said(capsys, *CALLS[command], option, absent)
        assert status in (1, 2) and told.startswith(f"{absent} {text}") and told.count("\n") == 1, told


@pytest.mark.parametrize("command", [["diff", "nonsense"], ["verify", "--since", "nonsense"]])
def test_a_revision_that_is_none(command: list[str], repository: Scratch, tengen: Command) -> None:
    done = tengen(*command)
    assert done.returncode == 2, done.stdout
    assert done.stdout == f'"nonsense" is no revision of the repository in {repository.root.resolve()}\n'


@pytest.mark.parametrize("command", [["diff"], ["verify"]])
def test_a_folder_that_is_in_no_repository(command: list[str], scratch: Scratch, tengen: Command) -> None:
    done = tengen(*command)
    assert done.returncode == 2 and "is in no repository of git" in done.stdout, done.stdout
    assert done.stdout.count("\n") == 1


def test_lines_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    last = len((output_dir() / "nodes.py").read_text().splitlines())
    for line in (0, last + 1):
        status, told = said(capsys, "explain", "--where", f"generated/nodes.py:{line}")
        assert (status, told) == (1, f"generated/nodes.py has no line {line}: it ends with line {last}\n")
    for path in (declarations_dir() / "tags.yaml", Path("absent.py"), Path(__file__)):
        status, told = said(capsys, "explain", "--where", f"{path}:3")
        assert (status, told) == (1, f"{path} is no generated file: these are in generated/\n")


@pytest.mark.parametrize("number", ["0", "-3", "x", "1.5"])
def test_a_number_of_processes_that_is_none(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["verify", "sin", f"-j={number}"])
    assert ended.value.code == 2
    assert "takes a number from 1 on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("class", "it is a word of Python's language"),
        ("json", "it is a module of Python itself"),
        ("numpy", "a package of that name is installed"),
        ("tengen", "that is this package"),
        ("my-lib", "letters, digits and single underscores"),
    ],
)
def test_names_of_libraries(
    name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, told = said(capsys, "init", name)
    assert status == 1 and told.startswith(f'"{name}" cannot name a library: ') and why in told
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "mylib"
    status, told = said(capsys, "init", "mylib", "--path", str(path))
    assert status == 2 and told.startswith(str(path)) and told.count("\n") == 1, told


def test_a_file_of_another_folder_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "native_functions.mine.yaml"
    status, told = said(capsys, *CALLS["new"][:-1], "--file", str(path))
    assert status == 1 and "is no file of native functions" in told and not path.exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = [", "Invalid value"),
        ("[tool]\ntengen = 3", "[tool.tengen] is a table, not 3"),
        ("[tool.tengen]\nlibrary = 3", "library is a name, not 3"),
        ('[tool.tengen]\nlibrary = "a"\npackage = 3', "package is a name, not 3"),
        ('[tool.tengen]\nlibrary = "a"', "there is no package a"),
        ('[tool.tengen]\nlibrary = "a"\ncolour = 3', 'has no key "colour"'),
    ],
)
def test_settings_of_a_library(
    text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)
    for command in CALLS.values():
        status, told = said(capsys, *command)
        assert status in (1, 2) and "pyproject.toml: " in told and why in told, (command, told)
        assert told.count("\n") == 1


def test_a_library_that_declares_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.tengen]\nlibrary = "mine"\n')
    (tmp_path / "mine").mkdir()
    for command in ("fmt", "fix", "explain", "new"):
        status, told = said(capsys, *CALLS[command])
        assert status == 0, told
    status, told = said(capsys, *CALLS["new"][:-1])
    assert status == 0 and (tmp_path / "mine" / "declarations" / "native_functions.yaml").is_file(), told


# -- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "commands"),
    [
        ("runtime/kernels/scans.py", ["gen", "explain", "diff", "verify"]),
        ("tests/references/nn.py", ["gen", "explain", "diff", "verify"]),
        ("declarations/native_functions.unary.yaml", list(CALLS)),
        ("generated/nodes.py", ["explain"]),
    ],
)
def test_a_file_that_is_not_utf8(
    file: str, commands: list[str], repository: Scratch, tengen: Command
) -> None:
    path = repository.root / file
    line = path.read_bytes().count(b"\n") + 1
    path.write_bytes(path.read_bytes() + b"# caf\xe9\n")
    for command in commands:
        done = tengen(*CALLS[command])
        assert done.returncode in (1, 2) and "Traceback" not in done.stdout, done.stdout
        assert re.search(rf"{file}:{line}\S* .*not UTF-8", done.stdout), (command, done.stdout)


def test_generated_code_that_is_not_utf8_is_made_anew(scratch: Scratch, tengen: Command) -> None:
    path = scratch.root / "generated" / "nodes.py"
    good = path.read_bytes()
    path.write_bytes(good + b"# caf\xe9\n")
    assert "edited by hand  nodes.py" in tengen("gen", "--check").stdout
    assert tengen("gen").returncode == 0 and path.read_bytes() == good


def test_a_module_that_is_no_python(tmp_path: Path) -> None:
    whole = copy_project(tmp_path / "whole")
    path = whole.root / "runtime" / "kernels" / "scans.py"
    line = path.read_text().count("\n") + 1
    path.write_text(f"{path.read_text()}def (\n")
    done = whole.python("-m", "tengen.codegen.cli", "verify", "cumprod")
    assert done.returncode == 2 and f"scans.py:{line} is no Python: " in done.stdout, done.stdout
    assert done.stdout.count("\n") == 1


# -- surroundings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "commands"),
    [
        ("yaml", [*CALLS, "init"]),
        ("jinja2", ["gen", "verify", "init"]),
        ("numpy", ["verify", "doctor"]),
    ],
)
def test_a_module_that_is_not_installed(module: str, commands: list[str], repository: Scratch) -> None:
    hidden = repository.root / "hidden"
    hidden.mkdir()
    text = f"raise ModuleNotFoundError(\"No module named '{module}'\", name='{module}')"
    (hidden / f"{module}.py").write_text(text)
    unary = repository.root / "declarations" / "native_functions.unary.yaml"
    unary.write_text(f"{unary.read_text()}# so that there is something to do\n")
    path = os.pathsep.join((str(hidden), repository.environment["PYTHONPATH"]))
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "tengen.codegen.cli", *CALLS.get(command, [command])]
            + (["mylib"] if command == "init" else []),
            cwd=repository.root,
            env={**repository.environment, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2, (command, done.stdout, done.stderr)
        assert done.stderr.startswith(f'the module "{module}" is not installed: '), (command, done.stderr)
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [["diff"], ["verify", "--all", "-j", "2"], ["gen"]])
def test_ctrl_c(command: list[str], repository: Scratch, tmp_path: Path) -> None:
    """Whenever it comes: the processes that a command has started end with it."""
    if command[0] == "verify":  # with few operators none can be run, and it has ended before
        repository = copy_project(tmp_path / "whole")
    unary = repository.root / "declarations" / "native_functions.unary.yaml"
    unary.write_text(f"{unary.read_text()}# so that there is something to do\n")
    take = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    call = f"{take}; from tengen.codegen.cli import main; print('on', flush=True); raise SystemExit(main())"
    for delay in (0.1, 0.7, 2.5) if command[0] == "verify" else (0.2,):
        process = subprocess.Popen(
            [sys.executable, "-c", call, *command],
            cwd=repository.root,
            env={**repository.environment, "TMPDIR": str(repository.root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None and process.stdout.readline() == "on\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=60)[0]
        assert process.returncode == 130 and told.endswith("interrupted\n"), told
        assert "Traceback" not in told
        assert not list(repository.root.glob("tengen-*"))


# -- what errors suggest, and what `tengen fix` does of it ---------------------------------------


def test_slips() -> None:
    for wrong in ("varaints", "vriants", "varriants", "variamts", "Variants", "variants"):
        assert is_slip(wrong, "variants")
    for wrong in ("variation", "varianst_", "tnairavs", "v", ""):
        assert not is_slip(wrong, "variants")


def test_suggestions_name_all_that_are_as_near() -> None:
    assert suggestion("atan3", ["atan", "atan2", "tan", "tanh"]) == 'did you mean "atan" or "atan2"?'
    assert suggestion("mull", ["mul", "mul_", "matmul"]) == 'did you mean "mul"?'
    assert suggestion("mull_", ["mul", "mul_", "matmul"]) == 'did you mean "mul_"?'
    assert suggestion("pointwisely", ["pointwise", "other"]) == 'did you mean "pointwise"?'
    assert suggestion("q", ["a", "b"]) == ""


def test_fix_does_only_what_is_certain(scratch: Scratch, tengen: Command) -> None:
    path = scratch.root / "declarations" / "native_functions.unary.yaml"
    good = path.read_text()
    head = "- func: exp2(Tensor self) -> Tensor\n  variants: function, method\n"
    assert good.count(head) == 1
    # A key that is there already; one whose value is wrong, too; one that is far from any.
    spoilt = (
        head.replace("variants: function", "varaints: functoin") + "  tagz: [core]\n  dokumentation: none\n"
    )
    path.write_text(good.replace(head, spoilt))
    dry = tengen("fix", "--dry-run")
    assert path.read_text() == good.replace(head, spoilt)
    done = tengen("fix")
    assert dry.stdout == done.stdout and dry.returncode == done.returncode == 1
    assert '"varaints" -> "variants"' in done.stdout
    assert '"functoin" -> "function"' in done.stdout, "the mistake that the second round finds"
    assert 'unknown key "tagz"' in done.stdout and "tagz: [core]" in path.read_text()
    assert 'unknown key "dokumentation"' in done.stdout and "2 mistakes are left" in done.stdout
    assert path.read_text() == good.replace(head, f"{head}  tagz: [core]\n  dokumentation: none\n")
