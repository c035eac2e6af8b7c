"""Emit: the forms of operators that move elements, functions of shapes and arguments that give plans."""

from __future__ import annotations

from ...ir.expressions import Attribute, Call, Expr, Name, rewritten
from ...ir.moves import Move
from ...ir.windows import Window
from ...ir.writer import write
from ..model.operators import Operator
from ..model.source import OutputFile
from ..read.functions import FunctionIndex, alias, module_path
from .page import TemplateRenderer, import_lines
from .scope import Scope


def moves_files(templates: TemplateRenderer, scope: Scope, functions: FunctionIndex) -> list[OutputFile]:
    """The file of all forms, if there are some."""
    modules: dict[str, str] = {}
    forms = []
    for variant in scope.variants:
        operator = variant.operator
        if operator.move is not None and not operator.transposes and variant.base is None:
            forms.append(_form(operator, operator.move, functions, modules))
    if not forms:
        return []
    return [templates.page("moves.py", "moves.py.jinja", imports=import_lines(modules), forms=sorted(forms))]


def _form(
    operator: Operator, move: Move | Window, functions: FunctionIndex, modules: dict[str, str]
) -> tuple[str, str, str, str]:
    """What a form is called, its parameters, the schema, and the expression that it gives."""

    def change(part: Expr) -> Expr:
        match part:
            case Call(Name(name), arguments) if found := functions.find(name):
                module = found[0].module
                modules[alias(module)] = module_path("tengen.kernels", module)
                return Call(Attribute(Name(alias(module)), name), arguments)
        return part

    form = move.form()
    parameters = ", ".join([f"{p.name}: Any" for p in form.parameters])
    return operator.name.method, parameters, str(operator.schema), write(rewritten(form.body, change))
