"""The page of helpers: which functions formulas, kernels, batching rules and symbolics can call by name.

Which these are is asked where the generator asks, so the page has what a declaration may name, and no more.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import import_module
from typing import Any

import yaml
from api_model import place_of, signature
from prose import markdown

import tengen.testing.declared as declared
from tengen.codegen.check.names import BUILTINS, SPECIAL_FUNCTIONS, TENSOR_BUILTINS
from tengen.codegen.gen import declarations_dir, runtime_dir
from tengen.codegen.model.source import Place
from tengen.codegen.read.functions import FunctionIndex, module_path
from tengen.codegen.read.libraries import index

#: From a place of the project to the address it is linked to, from this page.
Linker = Callable[[Place], str]

_INTRODUCTION = """\
What expressions in declarations can call by name. All of these are ordinary functions of the project; one
that is missing is added beside them. [Declarations](declarations.md) says what else an expression may use:
arguments, methods of operators, and functions of operators.
"""


@dataclass(frozen=True)
class Helper:
    """A function that declarations can name."""

    name: str
    module: str  # "tengen.formulas.reduction"
    signature: str
    doc: str
    place: Place | None


@dataclass(frozen=True)
class Vocabulary:
    """Functions of one kind."""

    title: str
    text: str
    modules: dict[str, list[Helper]]  # by module


def vocabularies() -> list[Vocabulary]:
    """Every kind of function there is, in the order of the page."""
    formulas = index(runtime_dir(), "formulas", None)
    batching = {m for m in formulas.modules if m.startswith("batching")}
    functions = index(runtime_dir(), "kernels", None)
    found = [
        Vocabulary(
            "Formulas",
            "For derivatives (`derivatives.yaml`), and composites that are expressions: functions over "
            f"Tensors, differentiable themselves. {_also(TENSOR_BUILTINS | SPECIAL_FUNCTIONS)}",
            _helpers(formulas, "formulas", {*formulas.modules} - batching),
        ),
        Vocabulary(
            "Batching rules",
            "For `batching`, together with those of formulas: functions over values of what `vmap` batches.",
            _helpers(formulas, "formulas", batching),
        ),
    ]
    own = [
        b for b in declared.declarations().backends if not b.runs_generically
    ]  # a group's bear the CPU's names
    for backend in sorted(own, key=lambda b: b.name != "Meta"):
        text = f"For `dispatch: {{{backend.name}: ...}}`: functions over arrays. {_also(BUILTINS)}"
        found.append(
            Vocabulary(f"Kernels of {backend.name}", text, _helpers(functions, "kernels", {*backend.kernels}))
        )
    symbolics = index(runtime_dir(), "onnx", None, "symbolics*.py")
    text = "For `symbolic`, and `onnx` of primitives: functions over the values of an ONNX graph."
    found.append(Vocabulary("Symbolics", text, _helpers(symbolics, "onnx", {*symbolics.modules})))
    return found


def _also(names: frozenset[str]) -> str:
    words = sorted(n for n in names if n not in ("True", "False", "None"))
    return f"Beside them: {', '.join(f'`{w}`' for w in words)}."


def _helpers(functions: FunctionIndex, package: str, modules: set[str]) -> dict[str, list[Helper]]:
    """The functions of some modules of an index, by the modules that define them."""
    found: dict[str, list[Helper]] = {}
    for name in sorted(functions.names(frozenset(modules))):
        for function in functions.find(name, frozenset(modules)):
            home = f"tengen.{module_path(package, function.module)}"
            value = getattr(import_module(home), name)
            if callable(value) and not isinstance(value, type) and not _is_type(value):
                doc = inspect.getdoc(value) or ""
                found.setdefault(home, []).append(
                    Helper(name, home, signature(value, name), doc, place_of(value))
                )
    return dict(sorted(found.items()))


def _is_type(value: Any) -> bool:
    """Whether it is what annotations are made of: ``Array = np.ndarray[Any, Any]``."""
    return bool(getattr(value, "__origin__", None)) or not hasattr(value, "__name__")


@cache
def kernels_of() -> Mapping[str, list[str]]:
    """By functions, in full, the operators of whose kernels they are part."""
    found: dict[str, list[str]] = {}
    for operator in declared.declarations().operators:
        for kernel in operator.kernels.values():
            for called in {kernel.function or "", *kernel.calls.values()}:
                found.setdefault(f"tengen.kernels.{called}", []).append(str(operator.name))
    return found


def primitives() -> tuple[list[str], list[str], list[str]]:
    """The functions of ``xp``: those for pointwise expressions, as calls, constants, and all others."""
    tables = yaml.safe_load((declarations_dir() / "primitives.yaml").read_text(encoding="utf-8"))
    calls = [f"{n}({', '.join('xyz'[: p['arguments']])})" for n, p in sorted(tables["pointwise"].items())]
    return calls, sorted(tables["constants"]), sorted(tables["array"])


def page(linker: Linker) -> str:
    """The page as Markdown."""
    lines = ["# Helpers", "", _INTRODUCTION]
    for vocabulary in vocabularies():
        lines += [f"## {vocabulary.title}", "", vocabulary.text, ""]
        for module, helpers in vocabulary.modules.items():
            summary = sentence(inspect.getdoc(import_module(module)) or "")
            lines += [
                f"### {module.removeprefix('tengen.')}",
                "",
                markdown(summary),
                "",
                '<dl class="helpers">',
            ]
            lines += [_row(h, linker) for h in helpers]
            lines += ["</dl>", ""]
    pointwise, constants, array = map(_codes, primitives())
    lines += [
        "## The array namespace",
        "",
        f"What kernels that are expressions may use of `xp`. {_NAMESPACE}",
        "",
    ]
    lines += [
        f"For pointwise operators: {pointwise}.",
        "",
        f"Constants: {constants}.",
        "",
        f"Others: {array}.",
    ]
    return "\n".join(lines) + "\n"


_NAMESPACE = "It is `primitives.yaml`, which also has the derivatives of the first kind."


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _row(helper: Helper, linker: Linker) -> str:
    call = re.sub(r"\s*\n\s*", " ", helper.signature).replace("( ", "(").replace(", )", ")")
    shown = f"<code>{escape(call)}</code>"
    if helper.place is not None:
        shown = f'<a href="{escape(linker(helper.place))}">{shown}</a>'
    return f"<dt>{shown}</dt><dd>{in_html(says(helper))}</dd>"


def says(helper: Helper) -> str:
    """A sentence about a function: its docstring's, or which operators' kernels it is part of."""
    operators = kernels_of().get(f"{helper.module}.{helper.name}", ())
    named = f"Of the kernel of {', '.join(f'``{n}``' for n in operators)}." if operators else ""
    return sentence(helper.doc) or named


def in_html(text: str) -> str:
    """Text with code in it as HTML."""
    return re.sub(r"``(.+?)``", r"<code>\1</code>", escape(text, quote=False))


def sentence(doc: str) -> str:
    """The first sentence of a docstring."""
    first = doc.split("\n\n")[0].replace("\n", " ")
    found = re.match(r"(.*?\.)(?:\s+[A-Z`]|\s*$)", first)
    return found[1] if found else first
