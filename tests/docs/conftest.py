"""Follows a document: what it says to write is written, what it says to run is run, in a scratch copy.

The fenced blocks of a document are its steps, in order:

- a block with ``title="FILE"`` is the whole of that file; with ``append="FILE"`` it is added to it;
  with ``in="FILE"`` it is quoted from it;
- a ``diff`` block with ``title="FILE"`` changes it: its unchanged and removed lines must stand there,
  once, in this order;
- a ``console`` block has commands (``$ python -m tengen.codegen.gen``), each with the output it must
  give, in which a line ``...`` stands for any lines, and ``...`` in a line for anything. With
  ``fails`` behind ``console`` the block's last command must fail, otherwise none may;
- a ``pycon`` block is a session of a new interpreter, checked by ``doctest``.

Blocks of other languages are for reading only.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Scratch

PROJECT = Path(__file__).resolve().parents[2]
if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))
_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Step:
    """A fenced block: its language, what stands behind that, its text, and where it is."""

    language: str
    words: str
    text: str
    place: str

    @property
    def attributes(self) -> dict[str, str]:
        return dict(_ATTRIBUTE.findall(self.words))


def steps(document: str) -> Iterator[Step]:
    """The blocks of a document of the project."""
    source = (PROJECT / document).read_text(encoding="utf-8")
    for found in _FENCE.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        yield Step(found[1], found[2].strip(), found[3], f"{document}:{line}")


def perform(step: Step, scratch: Scratch) -> None:
    """Do what a block says."""
    attributes = step.attributes
    if step.language == "diff" and "title" in attributes:
        change(scratch.root / attributes["title"], step)
    elif "title" in attributes:
        path = scratch.root / attributes["title"]
        assert not path.exists(), f"{step.place}: {attributes['title']} exists"
        path.write_text(step.text, encoding="utf-8")
    elif "append" in attributes:
        path = scratch.root / attributes["append"]
        path.write_text(f"{path.read_text(encoding='utf-8')}\n{step.text}", encoding="utf-8")
    elif "in" in attributes:
        quoted = scratch.root / attributes["in"]
        if step.text not in quoted.read_text(encoding="utf-8"):
            pytest.fail(f"{step.place}: not in {attributes['in']}:\n{step.text}", pytrace=False)
    elif step.language == "console":
        type_in(step, scratch)
    elif step.language == "pycon":
        session = scratch.root / "session.txt"
        session.write_text(step.text, encoding="utf-8")
        done = scratch.python("-m", "doctest", "-o", "ELLIPSIS", session.name)
        if done.returncode:
            pytest.fail(f"{step.place}:\n{done.stdout}", pytrace=False)


def change(path: Path, step: Step) -> None:
    """Apply a ``diff`` block to a file."""
    lines = step.text.splitlines(True)
    old = "".join(line[1:] for line in lines if line[0] in " -")
    new = "".join(line[1:] for line in lines if line[0] in " +")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{step.place}: {text.count(old)} times in {path.name}:\n{old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def type_in(step: Step, scratch: Scratch) -> None:
    """Run the commands of a ``console`` block."""
    parts = re.split(r"^\$ (.*)\n", step.text, flags=re.MULTILINE)
    assert not parts[0], f"{step.place}: output before the first command"
    commands = list(zip(parts[1::2], parts[2::2], strict=True))
    for number, (command, expected) in enumerate(commands, 1):
        done = scratch.run(command, shell=True)
        shown = f"{step.place}: $ {command}\n{done.stdout}"
        fails = step.words == "fails" and number == len(commands)
        if (done.returncode != 0) != fails:
            pytest.fail(f"status {done.returncode} of {shown}", pytrace=False)
        if not pattern(expected).fullmatch(done.stdout):
            pytest.fail(f"not what is written there: {shown}", pytrace=False)


def pattern(expected: str) -> re.Pattern[str]:
    """What an output with ``...`` in it matches."""
    lines = (
        r"(?:.*\n)*?" if line == "...\n" else ".*".join(map(re.escape, line.split("...")))
        for line in expected.splitlines(True)
    )
    return re.compile("".join(lines))


@pytest.fixture
def follow(scratch: Scratch) -> Callable[[str], None]:
    """Follows the document of the given path."""

    def follow(document: str) -> None:
        for step in steps(document):
            perform(step, scratch)

    return follow


@pytest.fixture(scope="module")
def generator() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of the documentation's generator."""
    folder = PROJECT / "docs" / "generator"
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.syspath_prepend(str(folder))
        yield importlib.import_module
    for name in set(sys.modules) - before:
        if (folder / f"{name}.py").exists():
            del sys.modules[name]
