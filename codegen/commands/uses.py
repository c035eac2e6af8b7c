"""Which names of modules use which: what a change of one reaches, by imports, not by how names are spelt.

A module is called as it stands below the folder of its package, ``kernels.shape``; what it defines or
imports, ``kernels.shape.flip``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...ir.reader import read_module
from ..read.functions import source_of


def changed_names(before: str, now: str) -> set[str]:
    """The names that a module defines or imports otherwise than before."""
    try:
        a, b = (_dumped(text) for text in (before, now))
    except SyntaxError:
        return set()
    return {name for name in {*a, *b} if a.get(name) != b.get(name)}


def _dumped(text: str) -> dict[str, str]:
    return {name: ast.dump(node) for name, node in definitions(text).items()}


def definitions(text: str) -> dict[str, ast.stmt]:
    """The statements of a module that define or import names, by name; of an import of several, its part."""
    found: dict[str, ast.stmt] = {}
    for node in read_module(text).body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found[node.name] = node
            case ast.Assign() | ast.AnnAssign():
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {
                    t.id: node for target in targets for t in ast.walk(target) if isinstance(t, ast.Name)
                }
            case ast.Import():
                for alias in node.names:
                    found[alias.asname or alias.name.partition(".")[0]] = ast.Import([alias])
            case ast.ImportFrom():
                for alias in node.names:
                    found[alias.asname or alias.name] = ast.ImportFrom(node.module, [alias], node.level)
    return found


@dataclass
class Uses:
    """The names of all modules below a folder, each with those that it uses."""

    folder: Path
    package: str  # as it is imported: "tengen"
    names: dict[str, set[str]] = field(default_factory=dict)

    def read(self, subfolder: str) -> None:
        """Add the modules of a folder below."""
        for path in sorted((self.folder / subfolder).rglob("*.py")):
            self.add(module_at(path, self.folder, self.package), source_of(path))

    def add(self, module: Module, text: str) -> None:
        """Add a module."""
        for name, used in module.uses(text).items():
            self.names.setdefault(name, set()).update(used)

    def reached(self, changed: set[str]) -> set[str]:
        """The names that are changed, or use one that is, or one that uses such a one ..."""
        users: dict[str, set[str]] = {}
        for name, used in self.names.items():
            for each in used:
                users.setdefault(each, set()).add(name)
        found, waiting = set(changed), set(changed)
        while waiting:
            waiting = {user for name in waiting for user in users.get(name, ())} - found
            found |= waiting
        return found


@dataclass(frozen=True)
class Module:
    """A module, by the parts of its name below the package's folder."""

    parts: tuple[str, ...]
    is_package: bool
    package: str

    def uses(self, text: str) -> dict[str, set[str]]:
        """What each name of the module uses: names of its own, and of modules that it imports."""
        try:
            defined = definitions(text)
        except SyntaxError:
            return {}
        imported = {name: self.target(node) for name, node in defined.items()}
        here = ".".join(self.parts)
        found: dict[str, set[str]] = {}
        for name, node in defined.items():
            target = imported[name]
            used = {target} if target is not None else set(self._used(node, defined, imported))
            found[f"{here}.{name}"] = used
        return found

    def _used(
        self, node: ast.stmt, defined: dict[str, ast.stmt], imported: dict[str, str | None]
    ) -> Iterator[str]:
        here = ".".join(self.parts)
        for part in without_annotations(node):
            if isinstance(part, ast.Name) and part.id in defined:
                yield f"{here}.{part.id}"
            elif isinstance(part, ast.Attribute) and (path := dotted(part)):
                target = imported.get(path[0])
                yield from ([".".join((target, *path[1:]))] if target is not None else [])
                yield from filter(None, [self._below_package(path)])

    def _below_package(self, path: tuple[str, ...]) -> str | None:
        """``tengen.kernels.shape.flip`` below the package ``tengen``."""
        package = tuple(self.package.split("."))
        return ".".join(path[len(package) :]) if path[: len(package)] == package and path != package else None

    def target(self, node: ast.stmt) -> str | None:
        """What an import names, below the folder; None for what is no import, or of another package."""
        if isinstance(node, ast.Import):
            alias = node.names[0]
            path = tuple(alias.name.split(".")) if alias.asname else tuple(alias.name.split(".")[:1])
            return self._below_package(path)
        if not isinstance(node, ast.ImportFrom):
            return None
        module = tuple(node.module.split(".")) if node.module else ()
        name = node.names[0].name
        if node.level:
            up = node.level - (1 if self.is_package else 0)
            base = self.parts[: len(self.parts) - up] if up <= len(self.parts) else ()
            return ".".join((*base, *module, name))
        return self._below_package((*module, name))


def module_at(path: Path, folder: Path, package: str) -> Module:
    """The module of a file below the folder of a package."""
    parts = path.relative_to(folder).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    return Module(parts[:-1] if is_package else parts, is_package, package)


def dotted(node: ast.expr) -> tuple[str, ...]:
    """``a.b.c`` as its names; () for attributes of something else."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return (*before, node.attr) if before else ()
    return ()


def without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    """All of a tree but its annotations, which nothing that is computed depends on."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from without_annotations(child)
