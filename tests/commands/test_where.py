"""What generated files define is found by the indents of lines, as Python's parser finds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tengen.codegen.commands.where import Definition, definitions

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = [PROJECT / "generated", PROJECT / "examples" / "ops_library" / "splines" / "generated"]
FILES = [
    path for folder in FOLDERS for path in sorted(folder.glob("*.py*")) if path.suffix in (".py", ".pyi")
]


def parsed(node: ast.AST, file: str, prefix: str = "") -> Iterator[Definition]:
    """Functions and classes, and the rows of tables by their keys."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            assert child.end_lineno is not None
            yield Definition(file, child.lineno, child.end_lineno, prefix + child.name)
            yield from parsed(child, file, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and isinstance(child.value, ast.Dict):
            for key, value in zip(child.value.keys, child.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    assert value.end_lineno is not None
                    yield Definition(file, key.lineno, value.end_lineno, f"[{key.value}]")


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parts[-3]}-{p.name}" for p in FILES])
def test_as_the_parser(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert definitions(path, path.parent) == list(parsed(tree, path.name))


def test_there_is_much() -> None:
    found = [d for path in FILES for d in definitions(path, path.parent)]
    assert len(found) > 15_000
    assert {"MulBackward0.apply_graph", "[mul.Tensor]", "mul"} <= {d.name for d in found}
