"""Schema types and defaults as Python writes them."""

from __future__ import annotations

import keyword

from ...ir.reader import read_value
from .schema import Argument, BaseType, ListType, OptionalType, Return, Type

_ANNOTATIONS = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Device": "device",
    "Generator": "Generator",
}
#: What a caller may pass, where that is more than the library hands on.
_CALLER = {
    **_ANNOTATIONS,
    "ScalarType": "DType",
    "Device": "device | str",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
}

#: Words that schemas use as defaults, by the value they stand for.
_WORDS = {"None": "None", "True": "True", "False": "False", "Mean": "1", "Sum": "2"}
#: Of the words that schemas have for dtypes, the dtypes.
DTYPE_WORDS = {"long": "int64", "float": "float32", "double": "float64", "int": "int32", "bool": "bool_"}


def parameter_name(name: str) -> str:
    """An argument's name, with an underscore behind it where Python needs one."""
    return f"{name}_" if keyword.iskeyword(name) else name


def users_name(argument: Argument) -> str:
    """An argument's name in a function, as users give it; a list keeps the name of the schema."""
    if argument.name == "self" and not argument.is_tensor_list:
        return "input"
    return parameter_name(argument.name)


def annotation(type_: Type, caller: bool = False) -> str:
    """The annotation of a parameter inside the library, where arguments are complete.

    With ``caller`` it is what a caller may pass: one value, too, for a list of fixed length.
    """
    match type_:
        case BaseType(name):
            return (_CALLER if caller else _ANNOTATIONS).get(name, "Any")
        case OptionalType(element):
            inner = annotation(element, caller)
            return inner if inner == "Any" else f"{inner} | None"
        case ListType(element, size):
            inner = annotation(element, caller)
            one = f"{inner} | " if caller and size is not None else ""
            return f"{one}Sequence[{inner}]"


def return_annotation(returns: tuple[Return, ...], structure: str | None = None) -> str:
    """The annotation of what an operator returns; ``structure`` names its named tuple."""
    if structure is not None:
        return structure
    if not returns:
        return "None"
    if len(returns) == 1:
        text = annotation(returns[0].type)
        return (
            text.replace("Sequence[", "tuple[").replace("]", ", ...]")
            if text.startswith("Sequence")
            else text
        )
    return f"tuple[{', '.join(annotation(r.type) for r in returns)}]"


def default(argument: Argument) -> str | None:
    """The default as a Python expression; None when the argument is required."""
    text = argument.default
    if text is None:
        return None
    base = str(argument.type).rstrip("?")
    if base == "ScalarType" and text in DTYPE_WORDS:
        return repr(DTYPE_WORDS[text])
    if base == "int" and text == "None":  # the enumerator Reduction::None
        return "None" if argument.type.is_optional else "0"
    if text in _WORDS:
        return _WORDS[text]
    if isinstance(argument.type, ListType) or isinstance(getattr(argument.type, "element", None), ListType):
        return _list_default(argument.type, text)
    if base in ("MemoryFormat", "Layout"):
        return "None"
    return text


def _list_default(type_: Type, text: str) -> str:
    if isinstance(type_, OptionalType):
        type_ = type_.element
    assert isinstance(type_, ListType)
    if text.startswith("["):
        inner = [_WORDS.get(item.strip(), item.strip()) for item in text[1:-1].split(",") if item.strip()]
        return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
    value = _WORDS.get(text, text)
    size = type_.size or 1
    return f"({', '.join([value] * size)}{',' if size == 1 else ''})"


def default_value(argument: Argument) -> object:
    """The default as a value, for tables."""
    text = default(argument)
    return None if text is None else read_value(text)
