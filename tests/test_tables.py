"""Every table stands in one place: no second module lists what it lists."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pytest

from tengen.codegen.model.metadata import METADATA, SLOTS
from tengen.codegen.model.names import BINARY_OPERATORS, CATEGORIES, NUMPY_NAMES, TENSOR_OPTIONS
from tengen.codegen.parse.schema import parse_schema
from tengen.core.numbers import NUMBERS
from tengen.dispatch.operator import operator
from tengen.generated import operators

PROJECT = Path(__file__).resolve().parent.parent
#: A table's members, and the module that lists them.
TABLES: dict[str, tuple[Collection[str], str]] = {
    "binary operators": (BINARY_OPERATORS, "codegen/model/names.py"),
    "the names of Types by category": (CATEGORIES.values(), "codegen/model/names.py"),
    "NumPy's names": ([n for names in NUMPY_NAMES.values() for n in names], "codegen/model/names.py"),
    "options of factories": (TENSOR_OPTIONS, "codegen/model/names.py"),
    "metadata": (METADATA, "codegen/model/metadata.py"),
    "what Nodes keep of a tensor": (SLOTS, "codegen/model/metadata.py"),
}


def displays(path: Path) -> Iterator[tuple[int, set[str]]]:
    """The strings that each display of a module lists; of a dict the keys, and the values."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            yield node.lineno, words(node.keys)
            yield node.lineno, words(node.values)
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            yield node.lineno, words(node.elts)


def words(items: Iterable[ast.expr | None]) -> set[str]:
    """The strings among the items of a display."""
    return {i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_stands_once(table: str) -> None:
    members, home = TABLES[table]
    found = {
        str(path.relative_to(PROJECT)): line
        for folder in ("codegen", "runtime")
        for path in sorted((PROJECT / folder).rglob("*.py"))
        for line, listed in displays(path)
        if listed >= set(members) and "testing" not in path.parts
    }
    others = {path: line for path, line in found.items() if path != home}
    assert home in found or table == "NumPy's names"  # which stand in several tuples of one dict
    assert not others


def test_the_classes_of_numbers_stand_once() -> None:
    """As a set: tuples of classes are for isinstance."""
    found = [
        str(path.relative_to(PROJECT))
        for path in sorted((PROJECT / "runtime").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Set) and {ast.unparse(e) for e in node.elts} == {c.__name__ for c in NUMBERS}
    ]
    assert found == ["runtime/core/numbers.py"]


def test_the_runtime_has_the_tables_of_the_generator() -> None:
    assert operators.TENSOR_OPTIONS == TENSOR_OPTIONS
    assert {n: name for name, names in NUMPY_NAMES.items() for n in names} == operators.NUMPY_NAMES


def test_factories_have_their_options_in_the_order_of_the_table() -> None:
    made = operator("zeros")
    assert tuple(p.name for p in made.parameters[made.options :][: len(TENSOR_OPTIONS)]) == TENSOR_OPTIONS


@pytest.mark.parametrize("name", BINARY_OPERATORS)
def test_every_binary_operator_has_an_in_place_form_in_schemas(name: str) -> None:
    """As ``__iand__``, which PyTorch declares; and no other special method is in place."""
    assert parse_schema(f"__i{name}__(Tensor(a!) self, Tensor other) -> Tensor(a!)").name.inplace
    assert not parse_schema(f"__{name}__(Tensor self, Tensor other) -> Tensor").name.inplace
