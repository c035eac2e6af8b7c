"""``tengen explain`` lists what is written by hand about an operator: all that a search for it finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tengen.codegen.commands.explain import Explainer
from tengen.codegen.commands.workspace import Workspace
from tengen.codegen.gen import declarations_dir, output_dir, runtime_dir, templates_dir
from tengen.codegen.model.derived import Variant
from tengen.codegen.model.diagnostics import Report
from tengen.codegen.model.source import Located
from tengen.codegen.read.entries import mechanism_of, read_entries
from tengen.testing.declared import declarations

PROJECT = Path(__file__).resolve().parents[2]
#: The keys whose values are no expressions.
WORDS = {"func", "name", "doc", "samples", "errors", "expected", "tags", "variants", "differs", "autogen"}


class ByHand(Explainer):
    """Leaves out what is generated, which takes the longest."""

    def _generated(self, variant: Variant) -> Iterator[str]:
        yield from ()


@cache
def explainer() -> Explainer:
    workspace = Workspace(declarations_dir(), runtime_dir(), templates_dir(), output_dir())
    return ByHand(workspace, declarations())


@cache
def report(function: str) -> str:
    texts = []
    for name in [str(o.name) for o in explainer().declared.operators if o.name.function == function]:
        lines = explainer().explain(name)
        assert not isinstance(lines, str), lines
        texts.append("\n".join(lines))
    return "\n".join(texts)


@cache
def functions() -> list[str]:
    return sorted({o.name.function for o in explainer().declared.operators})


@cache
def written() -> dict[str, list[tuple[str, str]]]:
    """The functions that declarations may name: by name, the package and "file:line" of each."""
    found: dict[str, list[tuple[str, str]]] = {}
    places = [(p, runtime_dir() / p, "*.py") for p in ("kernels", "composite", "formulas")]
    places += [
        ("onnx", runtime_dir() / "onnx", "symbolics*.py"),
        ("tests", PROJECT / "tests" / "references", "*.py"),
    ]
    for package, folder, pattern in places:
        for path in sorted(folder.rglob(pattern)):
            for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
                match = re.match(r"def (\w+)\(|([a-z]\w*) = ", line)
                if match is not None:
                    place = f"{path.relative_to(PROJECT).as_posix()}:{number}"
                    found.setdefault(match[1] or match[2], []).append((package, place))
    return found


def texts(located: Located) -> Iterator[str]:
    """The strings of a value."""
    value = located.value
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from texts(each)


@cache
def entries() -> dict[str, list[tuple[str, str]]]:
    """By function, the keys and expressions of its entries."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(declarations_dir().iterdir()):
        mechanism = mechanism_of(path)
        for entry in read_entries(path, path.name, mechanism, Report()) if mechanism else ():
            head = str((entry.fields.get("func") or entry.fields["name"]).value)
            function = re.match(r"[\w:]+", head)
            assert function is not None
            for key, located in entry.fields.items():
                if key not in WORDS:
                    found.setdefault(function[0], []).extend((key, text) for text in texts(located))
    return found


#: Where a key's functions are.
PACKAGES = {
    "dispatch": {"kernels", "composite"},
    "body": {"kernels"},
    "backward_dispatch": {"kernels"},
    "symbolic": {"onnx"},
    "batching": {"formulas"},
    "backward_batching": {"formulas"},
    "reference": {"tests"},
    "write_back": {"formulas"},
    "flops": {"formulas"},
    "backward_flops": {"formulas"},
}
#: What the language of bodies has, and kernels call otherwise.
OF_BODIES = {"count", "product", "reduced"}


@cache
def named_in_tests() -> dict[str, set[str]]:
    """By name, the modules of tests that call it on something, or have it in quotes."""
    found: dict[str, set[str]] = {}
    called, quoted = re.compile(r"[\w)\]]\.(\w+)\("), re.compile(r"[\"'](?=(\w+)(?:\.\w+)?[\"'])")
    for path in sorted((PROJECT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name in {*called.findall(text), *quoted.findall(text)}:
            found.setdefault(name, set()).add(path.relative_to(PROJECT).as_posix())
    return found


def declared_but_not_listed(function: str, listed: str) -> Iterator[str]:
    """Functions that are called in an expression of the entries, and not listed at their lines."""
    operators = set(functions())
    for key, text in entries().get(function, ()):
        names = set(re.findall(r"(?<![\w.])([A-Za-z_]\w*)\(", text))
        names |= {text} if re.fullmatch(r"[a-z_]\w*", text) else set()
        packages = PACKAGES.get(key, {"formulas"})
        names -= OF_BODIES if key == "body" else set()
        for name in sorted(names):
            places = [place for package, place in written().get(name, ()) if package in packages]
            if places and name not in operators and not any(f"{name}: {place}" in listed for place in places):
                yield f"{key}: {name} ({', '.join(places)})"
    # The functions of the group of array libraries are named by no declaration: they go by CPU's names.
    for kernels in [o.kernels for o in explainer().declared.operators if o.name.function == function]:
        kernel = None if "ArrayAPI" in kernels else kernels.get("CPU")
        name = "" if kernel is None else (kernel.function or "").rpartition(".")[2]
        for _, place in written().get(name, ()):
            if "/array_api/" in place and f"{name}: {place}" not in listed:
                yield f"{name}: {place}"


def of_its_name_but_not_listed(function: str, listed: str) -> Iterator[str]:
    """Functions of its name stand in the runtime's packages of functions, and in the modules of names."""
    for name in (function, f"meta_{function}", f"{function}_jvp", f"{function}_each", f"{function}_backward"):
        for package, place in written().get(name, ()):
            its_own = package != "tests" and (name == function or name not in functions())
            if its_own and f"{name}: {place}" not in listed:
                yield f"{name}: {place}"


@pytest.mark.parametrize("function", functions())
def test_what_names_it_is_listed(function: str) -> None:
    """What its declarations name, the functions of its name, and the tests that name it."""
    listed = report(function)
    missing = [*declared_but_not_listed(function, listed), *of_its_name_but_not_listed(function, listed)]
    missing += [path for path in sorted(named_in_tests().get(function, ())) if f"{path}:" not in listed]
    assert not missing


def test_modules_are_listed() -> None:
    """Each class of tengen.nn that is declared stands where the function that it calls is explained."""
    names = set(functions())
    for module in explainer().declared.modules:
        function = module.function.called.rpartition(".")[2]
        place = f"{module.name}: {module.place.file}:{module.place.line}"
        assert function not in names or place in report(function)
    assert "generated/pooling_modules.py" in report("max_pool2d")


def test_tables_of_tests_are_listed() -> None:
    assert "tests/mutants/kernels.yaml:" in report("index_put")


def test_places_are_right() -> None:
    """Of some operators each line that is told has the name that is told with it."""
    for function in ("layer_norm", "mul", "max_pool2d", "index_put", "view_as_real"):
        found = re.findall(r" (\w+): ((?:runtime|tests)/[\w/]+\.py):(\d+)$", report(function), re.M)
        assert found or function == "mul"
        for name, file, number in found:
            line = (PROJECT / file).read_text(encoding="utf-8").split("\n")[int(number) - 1]
            assert name in line or function in line, (name, file, line)
    text = report("layer_norm")
    for name in (
        "layer_norm_backward_jvp: runtime/formulas/",
        "layer_norm: runtime/nn/normalization.py",
        "layer_norm: tests/references/nn.py",
        "layer_norm_symbolic: runtime/onnx/",
    ):
        assert name in text
