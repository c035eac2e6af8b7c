"""What the suite needs to be collected: what the extra ``test`` installs, and nothing else. And its order."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
#: By name: the modules of the project itself that tests import.
OWN = {
    path.parent.name if path.stem == "__init__" else path.stem: path
    for folder in ("tests", "docs", "benchmarks", "examples")
    for path in (TESTS.parent / folder).rglob("*.py")
}


def when_imported(body: list[ast.stmt]) -> Iterator[str]:
    """What the statements of a module import as it is imported: not what functions import.

    Nothing behind a ``pytest.importorskip``, with which a module says that it can be left out.
    """
    for statement in body:
        match statement:
            case ast.Import(names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case ast.Expr(ast.Call(function)) | ast.Assign(value=ast.Call(function)):
                if ast.unparse(function) == "pytest.importorskip":
                    return
            case ast.If(test, found, others):
                yield from when_imported(
                    others if ast.unparse(test) == "TYPE_CHECKING" else [*found, *others]
                )


def reached(path: Path) -> dict[str, Path]:
    """By name: what is imported as a test module is collected, and the module of the suite that does."""
    found: dict[str, Path] = {}
    waiting, seen = [path], set()
    while waiting:
        if (here := waiting.pop()) in seen:
            continue
        seen.add(here)
        for name in when_imported(ast.parse(here.read_text(encoding="utf-8")).body):
            found.setdefault(name, here)
            if name in OWN:
                waiting.append(OWN[name])
    return found


def installed_by(extra: str) -> set[str]:
    """The names of the modules of what the project and an extra ask for."""
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"][extra], "tengen"]
    wanted = {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", a)[0]).lower() for a in asked}  # type: ignore[index]
    return {
        module
        for module, distributions in packages_distributions().items()
        if wanted & {re.sub(r"[-_.]+", "-", d).lower() for d in distributions}
    }


def test_collecting_takes_no_more_than_the_extra_installs() -> None:
    """torch above all: where it is not installed the comparisons with it are left out, not the suite."""
    allowed = {*sys.stdlib_module_names, *OWN, *installed_by("test")}
    found = {path: reached(path) for path in sorted(TESTS.rglob("test_*.py"))}
    assert {
        (path.name, n, by.name)
        for path, names in found.items()
        for n, by in names.items()
        if n not in allowed
    } == set()


def test_what_is_imported_is_found() -> None:
    text = "import torch.nn\nif x:\n    from jax.numpy import y\n"
    text += (
        "if TYPE_CHECKING:\n    import mypy\ndef f():\n    import cupy\npytest.importorskip('z')\nimport z"
    )
    assert [*when_imported(ast.parse(text).body)] == ["torch", "jax"]


def test_only_the_rules_of_the_house_stand_beside_the_folders() -> None:
    """A test has a folder for its concern, and so has what tests import."""
    beside = {path.name for path in TESTS.iterdir() if path.is_file()}
    assert beside == {"conftest.py", "test_layers.py", "test_ratchets.py", "test_tables.py"}
