"""The operators of ONNX that symbolics write are there, and have the attributes that they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")

import tengen.generated.symbolics as generated  # noqa: E402
import tengen.onnx as package  # noqa: E402
from tengen.onnx.export import OLDEST_OPSET, newest_opset  # noqa: E402

SOURCES = [Path(generated.__file__), *sorted(Path(package.__file__).parent.glob("symbolics*.py"))]


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every ``onnx.Name(...)``, and where it is."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            function = node.func if isinstance(node, ast.Call) else None
            if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "onnx":
                assert isinstance(node, ast.Call)
                yield f"{path.name}:{node.lineno} {function.attr}", node


def test_names_inputs_and_attributes() -> None:
    wrong = []
    for place, call in calls():
        name = place.rpartition(" ")[2]
        try:
            schema = onnx.defs.get_schema(name, newest_opset(), "")
        except onnx.defs.SchemaError:
            wrong.append(f"{place}: there is no such operator")
            continue
        if schema.deprecated:
            wrong.append(f"{place}: is deprecated")
        given = {k.arg for k in call.keywords if k.arg not in ("outputs", None)}
        wrong += [f"{place}: no attribute {a}" for a in sorted(given - set(schema.attributes))]  # type: ignore[type-var]
        missing = {a.name for a in schema.attributes.values() if a.required} - given
        wrong += [f"{place}: no {a}" for a in sorted(missing)]
        starred = any(isinstance(a, ast.Starred) for a in call.args)
        if not starred and not schema.min_input <= len(call.args) <= schema.max_input:
            wrong.append(f"{place}: takes {schema.min_input} to {schema.max_input} inputs")
    assert not wrong, "\n".join(wrong)


def test_something_is_looked_at() -> None:
    assert len({place.rpartition(" ")[2] for place, _ in calls()}) > 70


def test_the_oldest_opset_is_known() -> None:
    assert newest_opset() >= OLDEST_OPSET
