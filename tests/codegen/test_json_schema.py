"""The schemas for editors: they take every declaration, and find what is misspelt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from yaml_files import read_yaml

from tengen.codegen.gen import declarations_dir, output_dir
from tengen.codegen.read.entries import mechanism_of

jsonschema = pytest.importorskip("jsonschema")

NAMES = {"native": "native_functions", "nn": "nn", "derivatives": "derivatives", "optimizers": "optimizers"}
FILES = [p for p in sorted(declarations_dir().iterdir()) if mechanism_of(p) in NAMES]


def validator(mechanism: str | None) -> Any:
    schema = json.loads((output_dir() / f"{NAMES[str(mechanism)]}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", FILES, ids=[p.name for p in FILES])
def test_every_declaration_is_valid(path: Path) -> None:
    errors = [e.message for e in validator(mechanism_of(path)).iter_errors(read_yaml(path))]
    assert not errors


GOOD = {
    "func": "f(Tensor self) -> Tensor",
    "variants": "function, method",
    "dispatch": {"CPU": "xp.exp(self)"},
}


@pytest.mark.parametrize(
    "change",
    [
        {"varients": "function"},
        {"variants": "function, methods"},
        {"tags": "pointwize"},
        {"tags": ["pointwise", "coer"]},
        {"promote": "defualt"},
        {"promote": {"kind": "default", "argz": "self"}},
        {"python_module": "lin"},
        {"samples": "[3]"},
        {"opmath": []},
    ],
    ids=str,
)
def test_mistakes_are_found(change: dict[str, Any]) -> None:
    check = validator("native")
    assert check.is_valid([GOOD])
    assert not check.is_valid([GOOD | change])
    assert not check.is_valid([{k: v for k, v in GOOD.items() if k != "func"}])


def test_optimizers_are_checked() -> None:
    check, declared = validator("optimizers"), read_yaml(declarations_dir() / "optimizers.yaml")
    assert check.is_valid(declared)
    assert not check.is_valid([declared[0] | {"choises": {}}])
    assert not check.is_valid([{"name": "SGD"}])


def test_keys_are_described() -> None:
    schema = validator("derivatives").schema
    assert all(p["description"] for p in schema["items"]["properties"].values())
    assert validator("derivatives").is_valid(
        [{"name": "mul.Tensor", "self": "grad * other", "result": "auto_linear"}]
    )
