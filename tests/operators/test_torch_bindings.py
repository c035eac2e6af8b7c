"""Under which names users have the operators: methods, functions, in-place and out forms, as PyTorch's."""

from __future__ import annotations

import functools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from yaml_files import read_yaml

import tengen
from tengen.codegen.model.operators import Operator
from tengen.codegen.model.schema import Schema
from tengen.codegen.parse.schema import parse_schema
from tengen.testing import declared
from tengen.testing.declared import declared_operators

torch = pytest.importorskip("torch")
pytest.importorskip("torchgen")
pytestmark = pytest.mark.oracle

OPERATORS = {n: o for n, o in declared_operators().items() if not o.name.inplace}


@functools.cache
def theirs() -> dict[str, tuple[Schema, dict[str, Any]]]:
    """PyTorch's declarations by name."""
    spec = find_spec("torchgen")
    assert spec is not None and spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "packaged/ATen/native/native_functions.yaml"
    schemas = [(parse_schema(e["func"]), e) for e in read_yaml(path)]
    return {str(s.name): (s, e) for s, e in schemas}


def signature(schema: Schema) -> tuple[Any, ...]:
    """What an operator and its in-place and out forms have in common."""
    arguments = ((a.name, str(a.type).replace("SymInt", "int")) for a in schema.arguments)
    return schema.name.base, *arguments


@functools.cache
def by_signature() -> dict[tuple[Any, ...], list[Schema]]:
    """PyTorch's schemas that are forms of one operator."""
    found: dict[tuple[Any, ...], list[Schema]] = {}
    for schema, _ in theirs().values():
        found.setdefault(signature(schema), []).append(schema)
    return found


def related(operator: Operator) -> list[Schema]:
    """PyTorch's forms of an operator."""
    return by_signature().get(signature(operator.schema), [])


def home(operator: Operator) -> Any:
    """The module that users find the function in."""
    module = operator.python_module
    if module is None:
        return tengen
    return tengen.nn.functional if module == "nn" else getattr(tengen, module)


@pytest.mark.parametrize("name", [n for n in OPERATORS if n in theirs() and not n.startswith("_")])
def test_methods_and_functions(name: str) -> None:
    operator = OPERATORS[name]
    base = operator.name.base
    _, entry = theirs()[name]
    assert operator.python_module == entry.get("python_module")
    variants = entry.get("variants", "function")
    if "method" in variants and hasattr(torch.Tensor, base):
        assert hasattr(tengen.Tensor, base)
    if "function" in variants and hasattr(torch, base):
        assert hasattr(home(operator), base)


def test_in_place_forms() -> None:
    """Where PyTorch has one, users have it: as a method, or a function of nn. What is internal has none."""
    missing = []
    for operator in [o for o in OPERATORS.values() if "internal" not in o.tags]:
        for schema in related(operator) if str(operator.name) in theirs() else ():
            if schema.name.inplace:
                known = str(schema.name) in declared.variants() or hasattr(
                    tengen.Tensor, schema.name.function
                )
                missing += [] if known else [str(schema.name)]
    assert not missing


def test_out_forms() -> None:
    """Where functions of PyTorch take ``out``, ours do."""
    with_out = {str(v.base) for v in declared.variants().values() if v.kind == "out"}
    public = [
        n for n, o in OPERATORS.items() if not n.startswith(("_", "native_")) and o.python_module != "nn"
    ]
    missing = []
    for name in public:
        schemas = related(OPERATORS[name]) if name in theirs() else []
        if hasattr(torch, OPERATORS[name].name.base) and any(s.out for s in schemas) and name not in with_out:
            missing.append(name)
    assert not missing
