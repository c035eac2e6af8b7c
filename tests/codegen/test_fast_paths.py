"""The C machine's fast paths: what has none says why."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tengen.codegen.model.methods import CallMethod, KernelMethod
from tengen.codegen.model.results import Cast, Result
from tengen.codegen.specialise.fast_paths import FastPaths, Without, of_method
from tengen.ir.expressions import Name
from tengen.ir.reader import read_expression

GENERATED = Path(__file__).resolve().parents[2] / "generated"


def functions(file: str, module: str) -> list[str]:
    """The functions of a module that a file has fast paths or reasons for."""
    found = json.loads((GENERATED / file).read_text(encoding="utf-8"))
    return [name for names in found[module].values() for name in names.split()]


def methods(module: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The methods of a generated module's classes, by their qualified names."""
    for owner in ast.parse((GENERATED / f"{module}.py").read_text(encoding="utf-8")).body:
        if isinstance(owner, ast.ClassDef):
            for node in owner.body:
                if isinstance(node, ast.FunctionDef):
                    yield f"{owner.name}.{node.name}", node


@pytest.mark.parametrize("module", ["cpu_types", "type_default"])
def test_each_method_has_a_fast_path_or_a_reason(module: str) -> None:
    """And no method has both, or comes twice."""
    found = [*functions("fast_paths.json", module), *functions("without_fast_paths.json", module)]
    assert sorted(found) == sorted(name for name, _ in methods(module))


def test_reasons() -> None:
    out = Result("r", "out", Name("T"))
    given = "f", "f", (("self", "Tensor"),), "Tensor"
    plain = KernelMethod(*given, read_expression("xp.exp(self._array)"), (out,))
    cast = KernelMethod(*given, plain.call, (Result("r", "out", Name("T"), cast=Cast.ALWAYS),))
    chosen = CallMethod(*given, read_expression("[self.f() for _ in self]"))
    found = FastPaths()
    written = {"plain": of_method(plain), "cast": of_method(cast), "chosen": of_method(chosen)}
    assert found.note("m", written.items()) == {"plain"}
    assert isinstance(written["plain"], str)
    assert written["cast"] == Without("a result that is a list, cast, or may be absent")
    assert written["chosen"] == Without("what it returns is no call, or one with keywords")
    assert {name for names in found.without["m"].values() for name in names} == {"cast", "chosen"}
