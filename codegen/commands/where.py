"""From an operator to the generated code and back: which definition is whose.

Generated text has no line numbers of declarations in it; what belongs to which operator follows
from the names.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..derive.derived import Derived
from ..model.source import Place
from ..read.functions import module_of

#: How the names of files with classes of ``tengen.nn`` end.
MODULES = "_modules.py"


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, method or class of a generated file, or a row of a table."""

    file: str
    line: int
    end: int
    name: str  # "MulBackward0.apply_graph", "CPUFloatType.mul_Tensor", "mul"


def definitions(path: Path, root: Path) -> list[Definition]:
    """Everything that a generated file defines, outer before inner."""
    if path.suffix not in (".py", ".pyi"):
        return []
    return list(_definitions(module_of(path), path.relative_to(root).as_posix(), ""))


def _definitions(node: ast.AST, file: str, prefix: str) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield Definition(file, child.lineno, child.end_lineno or child.lineno, prefix + child.name)
            yield from _definitions(child, file, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and isinstance(child.value, ast.Dict):
            yield from _rows(child.value, file)


def _rows(table: ast.Dict, file: str) -> Iterator[Definition]:
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield Definition(file, key.lineno, value.end_lineno or key.lineno, f"[{key.value}]")


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
