"""Matching a call's arguments to a schema: types, defaults, and what to say when none fits.

The rules are those of PyTorch's Python argument parser: a Scalar takes Python and NumPy
numbers and 0-d tensors, an ``int[]`` takes loose ints when it comes first, an ``int[2]``
takes one int for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Final

import numpy as np

from ..core.device import device as Device
from ..core.error_notes import public_name
from ..core.function_dispatch import Overridden, overrides, plain
from ..core.memory_format import layout, memory_format
from ..core.scalar_type import dtype
from ..core.sym_int import SymInt
from ..core.tensor_base import TensorBase
from .binding_support import MISSING

Number = bool | int | float | complex


class Rejected(Exception):
    """A call that does not fit a schema; the text says why."""


class Parameter:
    """One parameter of a schema, as the binding sees it."""

    __slots__ = ("convert", "default", "kwarg_only", "name", "required", "type", "variadic", "with_numbers")

    def __init__(self, row: tuple[str, str, bool, Any, bool], numbers: bool) -> None:
        """``row``: name, type, required, default, keyword-only, as in ``generated/operators.py``."""
        self.name, self.type, self.required, self.default, self.kwarg_only = row
        type_ = self.type
        if type_ == "ScalarType?" and self.default:
            self.default = dtype.registry[self.default]  # which the table names: it is plain data
        if self.default == () and type_.startswith(("int[", "SymInt[")):
            type_ += "|None"
        if type_ == "Tensor[]" and self.name == "out":
            type_ = "Tensor[]!"
        self.convert = converter(type_)
        # An operator that is one of Python's takes numbers for tensors: 2 - x, 2 ** x.
        takes_number = numbers and type_ == "Tensor" and self.name != "out"
        self.with_numbers = converter("Tensor|Scalar" if takes_number else type_)
        #: Whether loose ints may stand for it: x.view(2, 3).
        self.variadic = type_.rstrip("?") in ("int[]", "SymInt[]")


class Mismatch(Exception):
    """A value that a type does not take."""


def _tensor(value: Any) -> Any:
    if value.__class__ in plain:
        return value
    if isinstance(value, TensorBase):
        return _unless_overriding(value)
    raise Mismatch


def _unless_overriding(value: Any) -> Any:
    """A tensor of a subclass, where that does not take over the function that it is an argument of."""
    if overrides(value):
        raise Overridden
    return value


def _tensor_or_number(value: Any) -> Any:
    return _tensor(value) if isinstance(value, TensorBase) else _scalar(value)


def _scalar(value: Any) -> Any:
    if value.__class__ in (int, float, bool, complex):
        return value
    if isinstance(value, TensorBase):
        _tensor(value)
        if value._array.ndim or value._requires_grad:
            raise Mismatch
        return value.item()
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:  # NumPy's scalars
        return _python_number(value)
    if isinstance(value, (int, float, complex)):
        return value
    raise Mismatch


def _python_number(value: Any) -> Any:
    """A scalar of NumPy's as a number of Python's, of which those of long doubles are none by themselves."""
    number = value.item()
    if isinstance(number, np.inexact):
        return complex(number) if number.dtype.kind == "c" else float(number)
    if value.dtype.kind in "mMUS" or not isinstance(number, (int, float, complex)):  # dates, texts
        raise Mismatch
    return number


def _int(value: Any) -> Any:
    if value.__class__ is int:
        return value
    if isinstance(value, (bool, float)) or (isinstance(value, TensorBase) and value._array.ndim):
        raise Mismatch
    try:
        return index(value)
    except TypeError:
        raise Mismatch from None


def _sym_int(value: Any) -> Any:
    return value if value.__class__ is SymInt else _int(value)


def _float(value: Any) -> Any:
    if value.__class__ is float:
        return value
    number = _scalar(value)
    if isinstance(number, complex):
        raise Mismatch
    return float(number)


def _bool(value: Any) -> Any:
    if value.__class__ is bool:
        return value
    if type(value).__name__ in ("bool", "bool_") and hasattr(value, "item"):
        return bool(value)
    raise Mismatch


def _str(value: Any) -> Any:
    if isinstance(value, str):
        return value
    raise Mismatch


def _dtype(value: Any) -> Any:
    if isinstance(value, dtype):
        return value
    if value is float or value is int or value is bool or value is complex:
        return dtype.of_python(value)
    raise Mismatch


def _device(value: Any) -> Any:
    if isinstance(value, Device):
        return value
    if isinstance(value, str) or value.__class__ is int:
        return Device(value)
    raise Mismatch


def _generator(value: Any) -> Any:
    if type(value).__name__ == "Generator":
        return value
    raise Mismatch


def _layout(value: Any) -> Any:
    if isinstance(value, layout):
        return value
    raise Mismatch


def _memory_format(value: Any) -> Any:
    if value is None or isinstance(value, memory_format):  # None is how the default, contiguous, is handed on
        return value
    raise Mismatch


def _anything(value: Any) -> Any:
    return value


_SIMPLE: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor,
    "Scalar": _scalar,
    "Tensor|Scalar": _tensor_or_number,
    "int": _int,
    "SymInt": _sym_int,
    "float": _float,
    "bool": _bool,
    "str": _str,
    "ScalarType": _dtype,
    "Device": _device,
    "Generator": _generator,
    "Layout": _layout,
    "MemoryFormat": _memory_format,
}


def _behind_first(value: Any) -> Any:
    """An element of a list of ints: as PyTorch, only the first one tells that bools are none."""
    return int(value) if value.__class__ is bool else _sym_int(value)


#: What converts the elements of a list of ints.
_INTS: Final = (_int, _sym_int)


def _list(element: Callable[[Any], Any], size: int | None) -> Callable[[Any], Any]:
    rest = _behind_first if element in _INTS else element

    def convert(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            if size is not None and size > 1 and len(value) == 1:
                return (element(value[0]),) * size
            return (element(value[0]), *map(rest, value[1:])) if value else ()
        if isinstance(value, TensorBase) and element in _INTS and value._array.ndim == 1:
            return tuple(map(element, value.tolist()))
        if size is not None and not isinstance(value, str):
            return (element(value),) * size
        raise Mismatch

    return convert


def _tensors(element: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            if plain.issuperset(map(type, value)):
                return tuple(value)
            return tuple(map(element, value))
        raise Mismatch

    return convert


def _some_tensors(element: Callable[[Any], Any], count: int | None) -> Callable[[Any], Any]:
    """A list or tuple of so many tensors, or any number: what several results are written into."""

    def convert(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or count not in (None, len(value)):
            raise Mismatch
        return tuple(map(element, value))

    return convert


def _optional(element: Callable[[Any], Any], absent: Any = None) -> Callable[[Any], Any]:
    """Takes None, which stands for ``absent``: as in PyTorch, for a list that is empty by default."""

    def convert(value: Any) -> Any:
        return absent if value is None else element(value)

    return convert


_converters: dict[str, Callable[[Any], Any]] = {}


def converter(type_: str) -> Callable[[Any], Any]:
    """The function that checks and converts a value for a schema type, raising Mismatch."""
    found = _converters.get(type_)
    if found is None:
        found = _converters[type_] = _build(type_)
    return found


def _build(type_: str) -> Callable[[Any], Any]:
    if type_.endswith("?"):
        return _optional(converter(type_[:-1]))
    if type_.endswith("|None"):
        return _optional(converter(type_.removesuffix("|None")), ())
    if type_.endswith("[]!"):
        return _some_tensors(converter(type_.removesuffix("[]!")), None)
    if type_.endswith("]"):
        element, _, size = type_[:-1].rpartition("[")
        if element.rstrip("?") == "Tensor":
            return _some_tensors(converter(element), int(size)) if size else _tensors(converter(element))
        return _list(converter(element), int(size) if size else None)
    return _SIMPLE.get(type_, _anything)


def bind_arguments(
    parameters: Sequence[Parameter],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    numbers: bool = False,
) -> list[Any]:
    """The converted arguments in the schema's order; Rejected when they do not fit.

    With ``numbers`` Python numbers may stand for tensors where the operator allows it.
    """
    bound: list[Any] = []
    used = 0
    given = len(arguments)
    positional = sum(not p.kwarg_only for p in parameters)
    for position, p in enumerate(parameters):
        if not p.kwarg_only and position < given:
            value = arguments[position]
            # Loose elements are taken where a list is all that may come: x.view(2, 3).
            leads = position + 1 == positional and (position == 0 or parameters[0].name == "self")
            if (
                p.variadic
                and leads
                and not isinstance(value, (list, tuple))
                and _loose(p, arguments[position:])
            ):
                value, given = arguments[position:], position + 1
            if shown(p) in keywords:
                raise Rejected(f"got multiple values for argument '{shown(p)}'")
        elif shown(p) in keywords:
            value = keywords[shown(p)]
            used += 1
        elif p.required:
            raise Rejected(f"missing required argument '{shown(p)}' (pos {position + 1})")
        else:
            bound.append(p.default)
            continue
        try:
            bound.append(p.with_numbers(value) if numbers else p.convert(value))
        except Mismatch:
            if value is MISSING:
                raise Rejected(f"missing required argument '{shown(p)}' (pos {position + 1})") from None
            where = f"argument '{shown(p)}' (position {position + 1})"
            raise Rejected(f"{where} must be {_named(p.type)}, not {_came(value)}") from None
    if given > positional:
        raise Rejected(
            f"takes {positional} positional argument{'s' if positional != 1 else ''} but {given} were given"
        )
    if used < len(keywords):
        known = {shown(p) for p in parameters}
        extra = next((k for k in keywords if k not in known), next(iter(keywords)))
        raise Rejected(f"got an unexpected keyword argument '{extra}'")
    return bound


#: What ``bind_positional`` says where ``bind_arguments`` must decide.
UNDECIDED: list[Any] = []


def bind_positional(parameters: Sequence[Parameter], arguments: tuple[Any, ...]) -> list[Any] | None:
    """As ``bind_arguments``, for calls without keywords, and None where they do not fit."""
    given = len(arguments)
    if given > len(parameters):
        return UNDECIDED
    bound: list[Any] = []
    try:
        for p, value in zip(parameters, arguments, strict=False):
            if p.variadic or p.kwarg_only:
                return UNDECIDED
            bound.append(p.convert(value))
    except Mismatch:
        return None
    for p in parameters[given:]:
        if p.required:
            return None
        bound.append(p.default)
    return bound


def _loose(parameter: Parameter, values: tuple[Any, ...]) -> bool:
    """Whether these are the elements of the list that the parameter takes."""
    try:
        _sym_int(values[0])
        for v in values[1:]:
            _behind_first(v)
    except Mismatch:
        return False
    return True


def shown(p: Parameter) -> str:
    """The name by which users give an argument; a list of tensors keeps that of the schema."""
    return "input" if p.name == "self" and p.type != "Tensor[]" else p.name


def _named(type_: str) -> str:
    plain = {
        "Scalar": "Number",
        "int[]": "tuple of ints",
        "Tensor[]": "tuple of Tensors",
        "ScalarType": "tengen.dtype",
        "Device": "tengen.device",
        "Layout": "tengen.layout",
        "MemoryFormat": "tengen.memory_format",
    }
    bare = type_.rstrip("?")
    if bare.startswith("Tensor[") and bare != "Tensor[]":
        return f"tuple of {bare[len('Tensor[') : -1]} Tensors"
    return plain.get(bare, bare.replace("SymInt", "int"))


def _came(value: Any) -> str:
    if isinstance(value, (list, tuple)) and value:
        return f"{type(value).__name__} of {len(value)} {type(value[0]).__name__}"
    return type(value).__name__


def describe_call(
    function: str,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    rejected: Sequence[tuple[Any, Rejected]],
) -> TypeError:
    """The TypeError of a call that no overload takes."""
    own = function
    if own.startswith("_"):  # an overload that is called by its name keeps that
        function = public_name(own)
    if len(rejected) == 1:
        return TypeError(f"{function}(): {rejected[0][1]}")
    came = ", ".join([_came(a) for a in arguments] + [f"{k}={_came(v)}" for k, v in keywords.items()])
    lines = [
        f"{function}() received an invalid combination of arguments - got ({came}), but expected one of:"
    ]
    for operator, reason in rejected:
        schema = f"{function}{operator.schema.removeprefix(own)}"
        lines.append(f" * {schema}\n      {reason}")
    return TypeError("\n".join(lines))
