"""Imports of generated modules: where the runtime defines a name, and what is said where it does not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tengen.codegen.model import runtime_names
from tengen.codegen.model.diagnostics import CommandError
from tengen.codegen.read.homes import Homes

GENERATED = Path(__file__).parents[2] / "generated"
SPECIALISE = GENERATED.parent / "codegen" / "specialise"


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    """Of a runtime of three modules."""
    for name, text in {
        "core/size": "class Size(tuple):\n    inner = 1\nLARGE: int = 3\n",
        "core/__init__": "version = 1\n",
        "autograd/node": "def made():\n    local = 2\n    return local == 1\nLARGE = 4\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text)
    return Homes(tmp_path)


def test_a_line_for_each_module_in_the_order_of_first_names(homes: Homes) -> None:
    assert homes.imports(("made", "Size as Shape"), ("node.LARGE", "version", "made")) == [
        "from tengen.autograd.node import made, LARGE",
        "from tengen.core.size import Size as Shape",
        "from tengen.core import version",
    ]


@pytest.mark.parametrize("name", ["inner", "local", "nothing", "node.Size", "ode.made"])
def test_a_name_that_is_defined_nowhere(homes: Homes, name: str) -> None:
    with pytest.raises(CommandError, match=f"generated code imports {name}, .* but none does"):
        homes.home(name)


def test_a_name_that_several_modules_define(homes: Homes) -> None:
    with pytest.raises(CommandError, match=r"imports LARGE, .* these do: autograd.node, core.size"):
        homes.home("LARGE")


def test_each_name_that_is_listed_is_used() -> None:
    """In what is generated for tengen, or as a call that the generator writes where a library asks for it."""
    used = {
        node.id
        for path in GENERATED.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name)
    }
    written = "".join(path.read_text(encoding="utf-8") for path in SPECIALISE.glob("*.py"))
    unused = runtime_names.called(*runtime_names.ALL) - used
    assert not [name for name in unused if f'"{name}"' not in written]
