"""An extension that was built from other sources is not used: what it is given may have changed.

Nor is there one for a free-threaded Python. And the sources say what of Python's they repeat.
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import setuptools

from tengen import c_accelerator


def test_the_extension_is_of_these_sources() -> None:
    machine = c_accelerator._state.machine
    assert machine.sources == c_accelerator._sources(machine.sources)


def test_other_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_accelerator._state.machine, "sources", 1)
    assert c_accelerator._load() == (
        None,
        "the extension was built from other sources: install tengen anew",
    )


def test_a_free_threaded_python_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "abiflags", "t", raising=False)
    found, reason = c_accelerator._load()
    assert found is None and "free-threaded" in reason


@pytest.mark.parametrize("free_threaded", [0, 1])
def test_for_which_python_it_is_built(free_threaded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **settings: given.update(settings))
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": free_threaded}.get)
    setup = Path(__file__).resolve().parents[2] / "setup.py"
    runpy.run_path(str(setup))
    assert len(given["ext_modules"]) == 1 - free_threaded


# -- what of Python's the sources repeat ---------------------------------------------------

FOLDER = Path(c_accelerator.__file__).parent
#: What a comment says of the function behind it: which functions of the runtime's files it does the work of,
#: and which tests of this folder compare the two ways.
REPEATS = re.compile(r"Repeats (\S+\.py): ([\w., ]+)\. Compared by (\w+\.py): ([\w, ]+)\. \*/")
#: The machine itself, and what it knows of its objects: programs, classes, kernels, threads.
MACHINERY = {
    "callable.c",
    "kernels.c",
    "layout.c",
    "machine.c",
    "module.c",
    "program.c",
    "tests.c",
    "threads.c",
}


def comments(source: str) -> list[str]:
    """The comments of a C file that say of Python's functions that they are repeated, each as one line."""
    found = [" ".join(comment.split()) for comment in re.findall(r"/\*.*?\*/", source, re.DOTALL)]
    return [comment for comment in found if re.search("Repeats|Compared by", comment)]


def defined(path: Path) -> set[str]:
    """The functions of a module, and the methods of its classes; of a file that is not there none."""
    body = ast.parse(path.read_text(encoding="utf-8")).body if path.is_file() else []
    methods = [(f"{owner.name}.", f) for owner in body if isinstance(owner, ast.ClassDef) for f in owner.body]
    functions = [*[("", node) for node in body], *methods]
    return {owner + node.name for owner, node in functions if isinstance(node, ast.FunctionDef)}


def unknown_names(source: str) -> list[str]:
    """The names in the comments of a C file that nothing has, and comments that are not of the form."""
    wrong = []
    for comment in comments(source):
        said = REPEATS.search(comment)
        if said is None:
            wrong.append(comment)
            continue
        module, functions, tests, compared = said.groups()
        of_tests = {name for name in defined(Path(__file__).parent / tests) if name.startswith("test_")}
        for path, names, known in (
            (module, functions, defined(FOLDER.parent / module)),
            (tests, compared, of_tests),
        ):
            wrong += [f"{path}: {name}" for name in names.split(", ") if name not in known]
    return wrong


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.c")), ids=lambda path: path.name)
def test_what_repeats_python_says_so(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert unknown_names(source) == []
    assert bool(comments(source)) == (path.name not in MACHINERY)


def test_names_that_nothing_has_are_found() -> None:
    right = "/* Repeats native/views.py: view. Compared by test_leaves.py: test_as_in_python. */"
    assert unknown_names(right) == []
    assert unknown_names(right.replace(": view", ": viewed")) == ["native/views.py: viewed"]
    assert unknown_names(right.replace("views.py", "no.py")) == ["native/no.py: view"]
    assert unknown_names(right.replace("test_as_in_python", "leaf")) == ["test_leaves.py: leaf"]
    assert unknown_names("/* Repeats native/views.py: view. */") == ["/* Repeats native/views.py: view. */"]
