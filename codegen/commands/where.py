"""From an operator to the generated code and back: which definition is whose.

Generated text has no line numbers of declarations in it; what belongs to which operator follows
from the names.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..derive.derived import Derived
from ..model.source import Place
from ..read.functions import source_of

#: How the names of files with classes of ``tengen.nn`` end.
MODULES = "_modules.py"
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)":')


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, method or class of a generated file, or a row of a table."""

    file: str
    line: int
    end: int
    name: str  # "MulBackward0.apply_graph", "CPUFloatType.mul_Tensor", "mul"


def definitions(path: Path, root: Path) -> list[Definition]:
    """Everything that a generated file defines, outer before inner.

    By the indents of its lines, in a twentieth of the time that Python's parser takes.
    """
    if path.suffix not in (".py", ".pyi"):
        return []
    return _Reader(path.relative_to(root).as_posix()).read(source_of(path))


@dataclass(slots=True)
class _Open:
    """What began at a line and has not ended."""

    indent: int
    line: int
    name: str
    place: int  # among the definitions


class _Reader:
    """Reads the lines of a generated file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Definition] = []
        self.open: list[_Open] = []  # functions and classes, the innermost last; in a table its last row
        self.table: int | None = None  # the indent of the rows of the table that lines are in

    def read(self, text: str) -> list[Definition]:
        """The definitions of the text."""
        last = 0
        for number, line in enumerate(text.split("\n"), 1):
            code = line.lstrip(" ")
            if not code or code.startswith("#"):
                continue
            indent = len(line) - len(code)
            if not code.startswith((")", "]", "}")):  # these end nothing that begins with their indent
                self._end(indent, last)
                self._begin(indent, code, number)
            elif self.table is not None and indent < self.table:
                self._end(self.table, last)
                self.table = None
            last = number
        self._end(0, last)
        return self.found

    def _begin(self, indent: int, code: str, line: int) -> None:
        if self.table == indent:
            key = _KEY.match(code)
            name = None if key is None else f"[{key[1]}]"
        elif code.startswith(("def ", "class ")):
            prefix = f"{self.open[-1].name}." if self.open else ""
            name = prefix + code.split(" ", 1)[1].lstrip().partition("(")[0].partition(":")[0]
        else:
            name = None
            if not self.open and code.endswith(" = {"):
                self.table = indent + 4
        if name is not None:
            self.open.append(_Open(indent, line, name, len(self.found)))
            self.found.append(Definition(self.file, line, line, name))

    def _end(self, indent: int, last: int) -> None:
        """What is indented so, or more, ended at the line before."""
        while self.open and indent <= self.open[-1].indent:
            ended = self.open.pop()
            self.found[ended.place] = Definition(self.file, ended.line, last, ended.name)


class Index:
    """The definitions of a generated folder, and the operators they belong to."""

    def __init__(self, output: Path, derived: Derived) -> None:
        self.output = output
        self.derived = derived
        self.methods = {v.name.method: str(v.name) for v in derived.variants}
        self.functions: dict[str, list[str]] = {}
        self.special: dict[str, list[str]] = {}
        for v in derived.variants:
            for function in dict.fromkeys((v.name.function, v.name.called)):
                self.functions.setdefault(function, []).append(str(v.name))
            for name in v.operator.operators:
                self.special.setdefault(name, []).append(str(v.name))
        self.nodes = {node.name: str(node.operator.name) for node in derived.all_nodes()}

    @functools.cached_property
    def all(self) -> list[Definition]:
        """Every definition of the folder."""
        paths = sorted(p for p in self.output.glob("*.py*") if p.suffix in (".py", ".pyi"))
        return [d for path in paths for d in definitions(path, self.output)]

    def operators_of(self, definition: Definition) -> list[str]:
        """The full names of the operators that a definition belongs to."""
        parts = definition.name.split(".")
        if definition.name.startswith("["):
            return self._of_row(definition.name[1:-1])
        for part in parts:
            if part in self.nodes:
                return [self.nodes[part]]
        last = parts[-1]
        file = definition.file
        if last in self.special and "methods" in file:
            return self.special[last]
        if last in self.methods and ("types" in file or "default" in file or "jvps" in file):
            return [self.methods[last]]
        return self.functions.get(last, [self.methods[last]] if last in self.methods else [])

    def _of_row(self, key: str) -> list[str]:
        return [key] if key in self.places else self.functions.get(key, [])

    @functools.cached_property
    def places(self) -> Mapping[str, Place]:
        """Where each operator is declared; a variant where the operator is that it is derived from."""
        return {str(v.name): v.operator.place for v in self.derived.variants}

    def of_operator(self, name: str) -> list[Definition]:
        """The definitions that belong to an operator alone, classes before what is in them."""
        found = [d for d in self.all if name in (owners := self.operators_of(d)) and len(owners) <= _FEW]
        classes = {(d.file, d.name) for d in found}
        return [d for d in found if (d.file, d.name.rpartition(".")[0]) not in classes]

    def of_module(self, name: str) -> list[Definition]:
        """Where a class of ``tengen.nn`` is generated."""
        return [d for d in self.all if d.name == name and d.file.endswith(MODULES)]

    def at(self, file: str, line: int) -> Definition | None:
        """The innermost definition at a line that belongs to an operator."""
        here = [d for d in definitions(self.output / file, self.output) if d.line <= line <= d.end]
        for definition in reversed(here):
            if self.operators_of(definition):
                return definition
        return None


_FEW = 12  # overloads that one function may have
