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

from tengen import fast_paths


def test_the_extension_is_of_these_sources() -> None:
    machine = fast_paths._state.machine
    assert machine.sources == fast_paths._sources(machine.sources)


def test_other_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_paths._state.machine, "sources", 1)
    assert fast_paths._load() == (
        None,
        "the extension was built from other sources: install tengen anew",
    )


def test_a_free_threaded_python_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "abiflags", "t", raising=False)
    found, reason = fast_paths._load()
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

FOLDER = Path(fast_paths.__file__).parent
#: What a comment says of the function behind it: which functions of the runtime's files it does the work of,
#: and which tests of this folder compare the two ways.
OF_FILE = r"\S+\.py: [\w., ]+"
REPEATS = re.compile(rf"Repeats ({OF_FILE}(?:; {OF_FILE})*)\. Compared by (\w+\.py: [\w, ]+)\. \*/")
#: The machine itself, and what it knows of its objects: fast paths, classes, kernels, threads.
MACHINERY = {
    "callable.c",
    "kernels.c",
    "layout.c",
    "machine.c",
    "module.c",
    "fast_path.c",
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
        repeated, compared = said.groups()
        for of_file in repeated.split("; "):
            path, names = of_file.split(": ")
            wrong += [f"{path}: {name}" for name in unknown(names, defined(FOLDER.parent / path))]
        path, names = compared.split(": ")
        tests = {name for name in defined(Path(__file__).parent / path) if name.startswith("test_")}
        wrong += [f"{path}: {name}" for name in unknown(names, tests)]
    return wrong


def unknown(names: str, known: set[str]) -> list[str]:
    return [name for name in names.split(", ") if name not in known]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.c")), ids=lambda path: path.name)
def test_what_repeats_python_says_so(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert unknown_names(source) == []
    assert bool(comments(source)) == (path.name not in MACHINERY)


def test_names_that_nothing_has_are_found() -> None:
    right = "/* Repeats kernels/views.py: view. Compared by test_leaves.py: test_as_in_python. */"
    assert unknown_names(right) == []
    assert unknown_names(right.replace(": view.", ": view; kernels/no.py: f.")) == ["kernels/no.py: f"]
    assert unknown_names(right.replace(": view", ": viewed")) == ["kernels/views.py: viewed"]
    assert unknown_names(right.replace("views.py", "no.py")) == ["kernels/no.py: view"]
    assert unknown_names(right.replace("test_as_in_python", "leaf")) == ["test_leaves.py: leaf"]
    assert unknown_names("/* Repeats kernels/views.py: view. */") == ["/* Repeats kernels/views.py: view. */"]
