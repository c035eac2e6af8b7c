"""How much is generated: what no type needs fast is not written out, and a backend costs little."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from tengen.generated import cpu_nodes, cpu_types, cpu_variable_types
from tengen.generated.backends import BACKENDS
from tengen.generated.operators import OPERATORS
from tengen.testing.declared import operators
from tengen.testing.differentiable import nodes

GENERATED = Path(__file__).resolve().parents[2] / "generated"
#: 70,000 lines for the 1,400 operators and variants for which that was asked.
LINES_PER_OPERATOR = 50
#: What a backend that computes nothing flat may add for each, were it to have all of them: then 2,000.
LINES_PER_BACKEND = 2000 / 1400


def lines(*paths: Path) -> int:
    """The lines of Python and of stubs; links are not followed."""
    return sum(len(p.read_text(encoding="utf-8").split("\n")) - 1 for p in paths)


def test_all() -> None:
    found = lines(*GENERATED.rglob("*.py"), *GENERATED.rglob("*.pyi"))
    assert found <= LINES_PER_OPERATOR * len(OPERATORS), f"{found} lines for {len(OPERATORS)} operators"


@pytest.mark.parametrize("backend", [name for name, row in BACKENDS.items() if not row["data"]])
def test_a_backend_without_flat_methods(backend: str) -> None:
    stem = f"{backend.lower()}_"
    assert lines(*GENERATED.glob(f"{stem}*.py")) < LINES_PER_BACKEND * len(OPERATORS)


def test_what_records_is_written_once() -> None:
    """Beside VariableType only flat methods record, and what has a derivative of one backend alone."""
    recorded = [
        node
        for path in (GENERATED / "variable_types.py", *GENERATED.glob("*_variable_types.py"))
        for node in set(re.findall(r"= record_node\(_nodes\.(\w+)", path.read_text(encoding="utf-8")))
    ]
    assert recorded
    assert [node for node, n in Counter(recorded).items() if n > 1] == []


def test_what_is_cold_has_short_methods() -> None:
    """One statement for each, which the floating and the reduced types share, and no Node over arrays."""
    cold = {name: o.name.method for name, o in operators().items() if "cold" in o.tags}
    assert cold
    assert not {nodes()[name].name for name in cold if name in nodes()} & vars(cpu_nodes).keys()
    for module in (cpu_types, cpu_variable_types):
        for owner in [c for c in vars(module).values() if getattr(c, "__module__", "") == module.__name__]:
            written = {n: m.__code__ for n, m in vars(owner).items() if isinstance(m, FunctionType)}
            assert not [n for n in cold.values() if n in written and _variables(written[n])], owner


def _variables(code: CodeType) -> tuple[str, ...]:
    """What a method keeps in variables of its own."""
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount :]
