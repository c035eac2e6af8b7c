"""What type checkers say of typical uses: nothing of right ones, and of wrong ones what is written there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from checkers import mypy_cache

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
_ERROR = re.compile(r"# error: ([\w, -]+) \| ([\w, ]+)$", re.M)
_MYPY = re.compile(r"^(?:.*[/\\])?(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", re.M)
#: What a checker says: the codes of the errors in each line of each file.
Said = dict[str, dict[int, set[str]]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which ``tengen`` is a package that checkers can follow."""
    package = tmp_path_factory.mktemp("library") / "tengen"
    package.mkdir()
    for path in (PROJECT / "runtime").iterdir():
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    for name in ("codegen", "declarations", "generated", "ir", "templates"):
        (package / name).symlink_to(PROJECT / name)
    return package.parent


@pytest.fixture(scope="module")
def mypy(library: Path) -> Said:
    """What ``mypy --strict`` says of the files beside this one."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    cache = mypy_cache(library / "mypy")
    options = ["--strict", "--config-file", str(PROJECT / "pyproject.toml"), "--cache-dir", str(cache)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, files())],
        env={**os.environ, "MYPYPATH": str(library)},
        cwd=library,
        capture_output=True,
        text=True,
    )
    assert done.returncode < 2, done.stdout + done.stderr
    said: Said = {}
    for name, line, code in _MYPY.findall(done.stdout):
        said.setdefault(name, {}).setdefault(int(line), set()).add(code)
    assert said, done.stdout
    return said


@pytest.fixture(scope="module")
def pyright(library: Path) -> Said:
    """What pyright says of them."""
    if importlib.util.find_spec("pyright") is None or shutil.which("node") is None:
        pytest.skip("pyright is not installed, or node, which it needs")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *map(str, files())],
        env={**os.environ, "PYTHONPATH": str(library)},
        cwd=library,
        capture_output=True,
        text=True,
    )
    if not done.stdout.lstrip().startswith("{"):
        pytest.skip(f"pyright does not run: {done.stderr.strip()[-200:]}")
    said: Said = {}
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        if found["severity"] == "error":
            lines = said.setdefault(Path(found["file"]).name, {})
            lines.setdefault(found["range"]["start"]["line"] + 1, set()).add(found.get("rule", "?"))
    assert said, done.stdout
    return said


def files() -> list[Path]:
    return [HERE / "right.py", HERE / "wrong.py"]


def expected(group: int) -> dict[int, str]:
    """The lines of wrong.py that are wrong, and the code of the error."""
    text = (HERE / "wrong.py").read_text(encoding="utf-8")
    return {text.count("\n", 0, m.start()) + 1: m[group] for m in _ERROR.finditer(text)}


@pytest.mark.parametrize("checker, group", [("mypy", 1), ("pyright", 2)])
def test_right_and_wrong_uses(checker: str, group: int, request: pytest.FixtureRequest) -> None:
    said: Said = request.getfixturevalue(checker)
    assert said.get("right.py", {}) == {}
    wrong, wanted = said.get("wrong.py", {}), expected(group)
    assert sorted(wrong) == sorted(wanted), "other lines are wrong than those that say so"
    other = {
        line: (wanted[line], sorted(codes))
        for line, codes in wrong.items()
        if codes.isdisjoint(wanted[line].split(", "))
    }
    assert other == {}, "line: (expected, said)"


def test_right_uses_run() -> None:
    exec(compile((HERE / "right.py").read_text(encoding="utf-8"), "right.py", "exec"), {"__name__": "right"})


def _wrong_lines() -> list[str]:
    lines = (HERE / "wrong.py").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if _ERROR.search(line) and not re.match(r"\w+: ", line)]


@pytest.mark.parametrize("line", _wrong_lines())
def test_wrong_uses_fail(line: str) -> None:
    """What checkers refuse is refused when it runs; annotations alone are not."""
    import tengen
    from tengen.nn import functional as F

    names = {"tengen": tengen, "F": F, "x": tengen.ones(2, 3), "y": tengen.ones(2, 3)}
    with pytest.raises((TypeError, AttributeError, RuntimeError, ValueError, IndexError)):
        exec(line, names)


def test_every_public_function_and_method_has_a_stub(library: Path) -> None:
    import ast

    def names(path: Path, inside: Callable[[ast.Module], list[ast.stmt]]) -> set[str]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        return {n.name for n in inside(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}

    def methods(tree: ast.Module) -> list[ast.stmt]:
        return next(n.body for n in tree.body if isinstance(n, ast.ClassDef))

    generated = PROJECT / "generated"
    for stem, inside, others in (
        ("functions", lambda tree: tree.body, ("internal_functions",)),
        ("return_types", lambda tree: tree.body, ()),
        ("tensor_methods", methods, ()),
    ):
        found = set[str]().union(*[names(generated / f"{s}.py", inside) for s in (stem, *others)])
        assert found - {"__getattr__"} == names(generated / f"{stem}.pyi", inside), stem


def test_stubs_tell_defaults() -> None:
    """Editors show what a parameter is where it is left out; only a dtype has no literal."""
    import ast

    for stem in ("functions", "tensor_methods"):
        tree = ast.parse((PROJECT / "generated" / f"{stem}.pyi").read_text(encoding="utf-8"))
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            positional = [*function.args.posonlyargs, *function.args.args]
            given = function.args.defaults
            pairs = [*zip(positional[len(positional) - len(given) :], given, strict=True)]
            pairs += zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
            untold = {a.arg for a, d in pairs if d is not None and ast.unparse(d) == "..."}
            assert untold <= {"dtype", "memory_format"}, function.name
