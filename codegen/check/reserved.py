"""Check: the names that generated code uses itself, and what a schema may therefore not call its own.

An argument is a variable of the generated functions, by its own name. Were it also the name of something else
there, a call would fail, or compute with the wrong value. A test looks through all that is generated for
names that are missing here.
"""

from __future__ import annotations

import keyword
import re

from ..model.annotations import parameter_name
from ..model.names import ELEMENTS_GRADIENT
from ..model.runtime_names import ALL, BINDINGS, FUNCTIONS, called
from ..model.schema import Schema

#: Python's own, as far as generated code calls it.
_BUILTIN = frozenset({
    "Exception", "RuntimeError", "any", "bool", "complex", "enumerate", "float", "frozenset", "globals",
    "int", "len", "object", "str", "super", "tuple",
})  # fmt: skip
#: What modules of generated code import, or define.
_GLOBAL = called(*ALL) | {
    "Any", "F", "Generator", "Number", "Sequence", "TensorMethods", "prod", "return_types", "rules", "xp",
}  # fmt: skip
#: What is a variable, or a parameter, of generated functions.
_LOCAL = frozenset({
    "T", "args", "asked", "edges", "error", "fewer", "fold", "given", "i", "keywords", "more", "node", "o",
    "out", "outs", "requires_grad", "scan", "spare", "storage", "storage_", "t", "wide",
})  # fmt: skip
#: What derivative formulas are given.
_FORMULA = frozenset(
    {"grad", ELEMENTS_GRADIENT, "grad_input_mask", "grads", "original_self", "result", "retain_variables"}
)
#: What a Node keeps for itself in slots that begin with an underscore.
_SLOT = frozenset({"input_metadata", "sequence_nr"})

RESERVED = _BUILTIN | _GLOBAL | _LOCAL | _FORMULA | _SLOT
#: Names that generated code counts, and those with which it begins names.
_COUNTED = re.compile(r"(?:g|grad|grad_part|k|out|part|result|s|t)[0-9]+|_.*", re.S)
#: What follows an argument's name in the names of its tangent, of its value and of the version that is saved.
_PARTS = ("p", "t", "version")


def is_reserved(name: str) -> bool:
    """Whether generated code uses a name for something else than an argument."""
    return name in RESERVED or _COUNTED.fullmatch(name) is not None


def is_called(name: str) -> bool:
    """Whether generated code may put this name into an expression of a declaration."""
    return name in _BUILTIN or name in _GLOBAL or name in ("T", "node") or name.startswith("_")


def argument_problem(name: str, schema: Schema) -> str:
    """Why an argument of the schema cannot have its name; nothing if it can."""
    if is_reserved(name):
        return f'generated code uses the name "{name}" itself'
    if name in {r.name for r in schema.returns}:
        return "a result has the same name"
    return _of_another(name, schema)


def _of_another(name: str, schema: Schema) -> str:
    """Why a name that is made of another argument's, or stands for it, cannot be an argument's."""
    stem, _, part = name.rpartition("_")
    if part not in _PARTS and part:
        return _beside_self(name, schema)
    for other in schema.arguments:
        if other.name == stem and part and other.is_tensor_like:
            return f'generated code uses the name "{name}" for what it keeps of "{stem}"'
        if other.name == stem and name == parameter_name(stem):
            return f'generated code uses the name "{name}" for "{stem}"'
    return _beside_self(name, schema)


def _beside_self(name: str, schema: Schema) -> str:
    if name == "input" and schema.positional and schema.positional[0].name == "self":
        return 'functions use the name "input" for "self"'
    return ""


def result_problem(name: str) -> str:
    """Why a result cannot have its name; nothing if it can."""
    if keyword.iskeyword(name):
        return f'"{name}" is a word of Python\'s language'
    # The tuple of the results has them as attributes, and the single result is called so anyway.
    if name != "result" and is_reserved(name):
        return f'generated code uses the name "{name}" itself'
    return ""


def function_problem(name: str) -> str:
    """Why an operator cannot have the name of its function; nothing if it can."""
    if keyword.iskeyword(name):
        return f'"{name}" is a word of Python\'s language'
    if name in _OF_BINDINGS:
        return f'generated code uses the name "{name}" itself'
    return ""


#: What the module of functions, in which an operator's name is one of it, calls by its name.
_OF_BINDINGS = called(BINDINGS, FUNCTIONS) | {
    "Any", "bool", "float", "frozenset", "globals", "int", "len", "return_types", "tuple",
}  # fmt: skip
