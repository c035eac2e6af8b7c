"""Emit: the forms of operators that are contractions."""

from __future__ import annotations

from ...ir.contractions import Contraction
from ...ir.expressions import Call, Name
from ..model.source import OutputFile
from ..read.functions import FunctionIndex, alias, module_path
from .page import TemplateRenderer, import_lines
from .scope import Scope

_KERNELS = "tengen.kernels"
_MODULE = "contractions"


def contraction_files(
    templates: TemplateRenderer, scope: Scope, functions: FunctionIndex
) -> list[OutputFile]:
    """The file of all forms, if there are some."""
    modules = {alias(_MODULE): module_path(_KERNELS, _MODULE)}
    forms = []
    for variant in scope.variants:
        operator = variant.operator
        if operator.contraction is not None and variant.base is None:
            words = _words_of(operator.contraction, functions, modules)
            text = repr(operator.contraction.text())
            forms.append((operator.name.method, str(operator.schema), ", ".join([text, *words])))
    if not forms:
        return []
    imports = import_lines(modules)
    return [templates.page("contractions.py", "contractions.py.jinja", imports=imports, forms=sorted(forms))]


def _words_of(contraction: Contraction, functions: FunctionIndex, modules: dict[str, str]) -> list[str]:
    """The function that words the errors of shapes, noted for import."""
    match contraction.shapes:
        case Call(Name(name)):
            module = functions.find(name)[0].module
            modules[alias(module)] = module_path(_KERNELS, module)
            return [f"{alias(module)}.{name}"]
    return []
