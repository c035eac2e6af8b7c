"""Emit: the forms of operators that move elements, show them, or make tensors: functions of arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...ir.expressions import Attribute, Call, Expr, Lambda, Name, rewritten
from ...ir.factories import Factory
from ...ir.moves import INTEGERS
from ...ir.writer import write
from ..model.operators import Operator, Primitive
from ..model.source import OutputFile
from ..read.functions import FunctionIndex, alias, module_path
from .contractions import contraction_files
from .page import TemplateRenderer, import_lines, lazy_modules
from .scope import Scope

#: What is said of the forms of each module.
_MODULES = {
    "moves": "The forms of operators that move elements: of shapes and arguments, where what is from.",
    "views": "The forms of views: of shapes and arguments the dims of results, and what these show.",
    "factories": "The forms of operators that make tensors: of arguments shapes, and what elements are.",
}
#: What the forms import that compute numbers.
_OF_NUMBERS = ("import numpy as xp", "", "from tengen.autograd.node_support import LazyModule", "")


class _Form(NamedTuple):
    """What a form is called, its parameters, the schema, assignments, and the expression that it gives."""

    name: str
    parameters: str
    schema: str
    lines: list[tuple[str, str]]
    body: str


def form_files(templates: TemplateRenderer, scope: Scope, functions: FunctionIndex) -> list[OutputFile]:
    """The files of all forms, if there are some."""
    said = [v.operator for v in scope.variants if v.base is None and not v.operator.transposes]
    forms = {
        "moves": [(o, o.move.form()) for o in said if o.move is not None],
        "views": [(o, o.view.form()) for o in said if o.view is not None],
        "factories": [
            (o, o.said.form()) for o in said if isinstance(o.said, Factory) and o.said.filled() is None
        ],
    }
    primitives = scope.declared.primitives
    files = [_file(templates, functions, primitives, name, found) for name, found in forms.items() if found]
    return [*files, *contraction_files(templates, scope, functions)]


def _file(
    templates: TemplateRenderer,
    functions: FunctionIndex,
    primitives: Mapping[str, Primitive],
    name: str,
    forms: list[tuple[Operator, Lambda]],
) -> OutputFile:
    modules: dict[str, str] = {}

    def change(part: Expr) -> Expr:
        match part:
            case Call(Name(name), arguments) if name in primitives and (own := primitives[name].function):
                module, _, function = own.partition(":")
            case Call(Name(name), arguments) if name not in INTEGERS and (found := functions.find(name)):
                module, function = module_path("tengen.kernels", found[0].module), name
            case _:
                return part
        short = alias(module.removeprefix("tengen.kernels."))
        modules[short] = module
        return Call(Attribute(Name(short), function), arguments)

    def written(expr: Expr) -> str:
        return write(rewritten(expr, change))

    found = []
    for operator, form in forms:
        lines = operator.said.lines if isinstance(operator.said, Factory) else ()
        texts = [(write(names), written(value)) for names, value in lines]
        parameters = ", ".join([f"{p.name}: Any" for p in form.parameters])
        found.append(_Form(operator.name.method, parameters, str(operator.schema), texts, written(form.body)))
    computed = name == "factories"  # with functions of libraries that are imported when one is called
    imports = [*_OF_NUMBERS, *lazy_modules(modules)] if computed else import_lines(modules)
    return templates.page(
        f"{name}.py", "forms.py.jinja", doc=_MODULES[name], imports=imports, forms=sorted(found)
    )
