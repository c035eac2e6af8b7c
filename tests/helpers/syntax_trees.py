"""The syntax trees of the project's modules, and what they import. Each is read once in a process."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from scratch import PROJECT


@functools.cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that the syntax tree of a module is made of."""
    return tuple(ast.walk(tree(path)))


@functools.cache
def modules(folder: str) -> tuple[Path, ...]:
    """The Python files below a folder of the project."""
    return tuple(sorted((PROJECT / folder).rglob("*.py")))


@functools.cache
def imported(path: Path, for_types: bool = False) -> tuple[str, ...]:
    """The full names of all that a module imports, wherever in it; what is for type checkers if asked for."""
    found: list[str] = []
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        if not for_types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            found += [f"{module}.{alias.name}" for alias in node.names]
        else:  # statements are in lists alone: of expressions, which are most of a tree, none is looked at
            waiting += [part for name in _BLOCKS for part in getattr(node, name, ())]
    return tuple(found)


#: The fields of a syntax tree that have statements.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def absolute(path: Path, node: ast.ImportFrom) -> str:
    """The module of a ``from`` import, relative ones too."""
    if not node.level:
        return node.module or ""
    folders = path.relative_to(PROJECT).parent.parts
    package = ("tengen", *(folders[1:] if folders[0] == "runtime" else folders))
    parts = package[: len(package) - node.level + 1]
    return ".".join((*parts, *([node.module] if node.module else [])))
