"""Emit: the forms of operators that move elements, or show them: functions of shapes and arguments."""

from __future__ import annotations

from ...ir.expressions import Attribute, Call, Expr, Lambda, Name, rewritten
from ...ir.moves import INTEGERS
from ...ir.writer import write
from ..model.operators import Operator
from ..model.source import OutputFile
from ..read.functions import FunctionIndex, alias, module_path
from .contractions import contraction_files
from .page import TemplateRenderer, import_lines
from .scope import Scope

#: What is said of the forms of each module.
_MODULES = {
    "moves": "The forms of operators that move elements: of shapes and arguments, where what is from.",
    "views": "The forms of views: of shapes and arguments the dims of results, and what these show.",
}


def form_files(templates: TemplateRenderer, scope: Scope, functions: FunctionIndex) -> list[OutputFile]:
    """The files of all forms, if there are some."""
    said = [v.operator for v in scope.variants if v.base is None and not v.operator.transposes]
    forms = {
        "moves": [(o, o.move.form()) for o in said if o.move is not None],
        "views": [(o, o.view.form()) for o in said if o.view is not None],
    }
    files = [_file(templates, functions, name, found) for name, found in forms.items() if found]
    return [*files, *contraction_files(templates, scope, functions)]


def _file(
    templates: TemplateRenderer, functions: FunctionIndex, name: str, forms: list[tuple[Operator, Lambda]]
) -> OutputFile:
    modules: dict[str, str] = {}
    written = sorted([_form(operator, form, functions, modules) for operator, form in forms])
    return templates.page(
        f"{name}.py", "forms.py.jinja", doc=_MODULES[name], imports=import_lines(modules), forms=written
    )


def _form(
    operator: Operator, form: Lambda, functions: FunctionIndex, modules: dict[str, str]
) -> tuple[str, str, str, str]:
    """What a form is called, its parameters, the schema, and the expression that it gives."""

    def change(part: Expr) -> Expr:
        match part:
            case Call(Name(name), arguments) if name not in INTEGERS and (found := functions.find(name)):
                module = found[0].module
                modules[alias(module)] = module_path("tengen.kernels", module)
                return Call(Attribute(Name(alias(module)), name), arguments)
        return part

    parameters = ", ".join([f"{p.name}: Any" for p in form.parameters])
    return operator.name.method, parameters, str(operator.schema), write(rewritten(form.body, change))
