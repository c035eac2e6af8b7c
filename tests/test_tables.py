"""Every table stands in one place: no second module lists what it lists."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import pytest
from syntax_trees import nodes, tree

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


@functools.cache
def displays(path: Path) -> tuple[tuple[int, set[str]], ...]:
    """The strings that each display of a module lists; of a dict the keys, and the values."""
    return tuple(_displays(path))


def _displays(path: Path) -> Iterator[tuple[int, set[str]]]:
    for node in nodes(path):
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
        for folder in ("codegen", "ir", "runtime")
        for path in sorted((PROJECT / folder).rglob("*.py"))
        for line, listed in displays(path)
        if listed >= set(members) and "testing" not in path.parts
    }
    others = {path: line for path, line in found.items() if path != home}
    assert home in found or table == "NumPy's names"  # which stand in several tuples of one dict
    assert not others


#: Listed twice: kinds of values as expressions see them, for each of the names that schemas have.
TWICE = {frozenset({"Scalar", "SymInt", "bool", "float", "int"})}


def listings(path: Path) -> Iterator[tuple[bool, frozenset[str], int]]:
    """The displays of four strings or more and nothing else: whether of a dict, whose keys they are."""
    exported: list[ast.expr] = []  # the names that a module has, which are no table
    for node in nodes(path):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            exported.append(node.value)
        if node in exported:
            continue
        items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        listed = frozenset(words(items))
        if len(listed) >= 4 and len(listed) == len(items):
            yield isinstance(node, ast.Dict), listed, node.lineno


def listed_twice(paths: Iterable[Path]) -> dict[frozenset[str], list[str]]:
    """What a list, tuple or set has that stands elsewhere too, in whatever order, or as a dict's keys.

    Dicts with the same keys say different things of them.
    """
    found: dict[frozenset[str], list[tuple[bool, str]]] = {}
    for path in paths:
        for is_dict, listed, line in listings(path):
            found.setdefault(listed, []).append((is_dict, f"{path.name}:{line}"))
    return {
        listed: [place for _, place in places]
        for listed, places in found.items()
        if len(places) > 1 and not all(is_dict for is_dict, _ in places)
    }


def test_nothing_is_listed_twice() -> None:
    paths = [p for folder in ("codegen", "ir", "runtime") for p in sorted((PROJECT / folder).rglob("*.py"))]
    found = listed_twice(p for p in paths if "testing" not in p.parts)
    assert {listed: places for listed, places in found.items() if listed not in TWICE} == {}


def test_what_is_listed_twice_is_found(tmp_path: Path) -> None:
    """In another order, as another kind of display, as keys; two dicts are two tables."""
    texts = {
        "a": "x = ('a', 'b', 'c', 'd')\ny = {'e': 1, 'f': 1, 'g': 1, 'h': 1}\n__all__ = ['i', 'j', 'k', 'l']",
        "b": "x = frozenset({'d', 'c', 'b', 'a'})\ny = {'e': 2, 'f': 2, 'g': 2, 'h': 2}",
        "c": "y = ['h', 'g', 'f', 'e']\n__all__ = ['i', 'j', 'k', 'l']",
    }
    paths = [tmp_path / f"{name}.py" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    assert listed_twice(paths) == {
        frozenset("abcd"): ["a.py:1", "b.py:1"],
        frozenset("efgh"): ["a.py:2", "b.py:2", "c.py:1"],
    }
    assert len(listed_twice(paths[:2])) == 1


def test_the_classes_of_numbers_stand_once() -> None:
    """As a set: tuples of classes are for isinstance."""
    found = [
        str(path.relative_to(PROJECT))
        for path in sorted((PROJECT / "runtime").rglob("*.py"))
        for node in nodes(path)
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


# -- costs -----------------------------------------------------------------------------------------


def constants(path: Path) -> Iterator[str]:
    """The numbers that a module gives names."""
    for node in tree(path).body:
        value = getattr(node, "value", None)
        parts = () if value is None else ast.walk(value)
        if not any(isinstance(p, ast.Constant) and p.value.__class__ is int for p in parts):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for name in (n for t in targets if t is not None for n in ast.walk(t)):
            if isinstance(name, ast.Name) and name.id.isupper():
                yield name.id.lstrip("_")


def test_costs_stand_in_one_table() -> None:
    """No other module has a number of its own for what is large, small, a block's or worth a thread."""
    table = PROJECT / "runtime" / "core" / "costs.py"
    words = {"ALONE", "CHUNK", "FEW", "GRAIN", "LARGE", "SHORT", "SMALL"}
    found = [
        f"{path.relative_to(PROJECT)}: {name}"
        for path in sorted((PROJECT / "runtime").rglob("*.py"))
        if path != table and "testing" not in path.parts
        for name in constants(path)
        if words & set(name.split("_"))
    ]
    # Bytes of a file that are read at a time.
    assert found == ["runtime/serialization/weights_unpickler.py: CHUNK"]


def test_every_cost_is_used() -> None:
    used = {
        alias.name
        for path in (PROJECT / "runtime").rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("core.costs")
        for alias in node.names
    }
    assert used == set(constants(PROJECT / "runtime" / "core" / "costs.py"))


def test_one_module_shares_work_out_among_threads() -> None:
    found = {
        path.name
        for path in (PROJECT / "runtime").rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("parallel_for")
    }
    assert found == {"parallel.py"}
