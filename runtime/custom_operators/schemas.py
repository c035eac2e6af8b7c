"""Schemas that are written at run time: their text as PyTorch takes it, and what users see of them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from tengen.codegen.model import schema as model
from tengen.codegen.parse.schema import SchemaError, SchemaParser

from ..core.device import device
from ..core.memory_format import CONSTANTS
from ..core.scalar_type import dtype
from ..dispatch.arguments import Mismatch
from .conversions import conversion

#: A quoted string.
_STRING = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")
#: Where the canonical text has no blank, and where it has one.
_TIGHT = re.compile(r"\s*([()=\[\]?!|.]|::)\s*")
_COMMA = re.compile(r"\s*,\s*")
_ARROW = re.compile(r"\)\s*->\s*")
#: C++'s names of dtypes.
_SCALAR_TYPES = {"long": "int64", "int": "int32", "double": "float64", "float": "float32"}
#: Names of numbers that a default may have.
_REDUCTIONS = {"=Mean": "=1", "=Sum": "=2"}
_REDUCTION = re.compile(r"=(?:Mean|Sum)\b")


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """Which memory an argument or result shares, and whether it is written to."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a schema, or a result, which has no default."""

    name: str
    type: str
    default_value: Any = None
    has_default: bool = False
    kwarg_only: bool = False
    alias_info: AliasInfo | None = None

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.has_default

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def holds_tensors(self) -> bool:
        """Whether it is a Tensor, or a list of Tensors."""
        return self.type.startswith("Tensor")


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """What an operator takes and gives; ``str(schema)`` is how it is written."""

    name: str  # "ns::foo"
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    #: Whether the results come as a tuple: of several, or of one that is written ``((Tensor))``.
    is_tuple: bool
    text: str
    #: Whether it is an operator that writes its results to arguments given for that, ``Tag.out``.
    out_variant: bool = False

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def full_name(self) -> str:
        """``ns::foo.overload``."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to an argument."""
        return any([a.is_write for a in self.arguments])

    @property
    def is_view(self) -> bool:
        """Whether a result shares memory with an argument that is not written to."""
        return any([r.alias_info is not None and not r.is_write for r in self.returns])

    @property
    def is_functional(self) -> bool:
        """Whether it has results, which are new, and writes to nothing."""
        return bool(self.returns) and not self.is_mutable and not self.is_view


class _Parser(SchemaParser):
    """The grammar of declarations, with PyTorch's names of aliases (``a0!``) and all defaults that have
    values.
    """

    alias_pattern = re.compile(
        r"([a-z][a-z0-9_]*(?:\|[a-z][a-z0-9_]*)*)(!?)(?: -> (\*|[a-z][a-z0-9_]*(?:\|[a-z][a-z0-9_]*)*))?\Z"
    )

    def fits(self, text: str, kind: model.Type) -> bool:
        try:
            value_of(text, str(kind))
        except (Mismatch, ValueError, SyntaxError, KeyError, RuntimeError):
            return False
        return True


def parse(namespace: str, text: str) -> FunctionSchema:
    """The schema ``foo.overload(Tensor x) -> Tensor`` of an operator of a namespace.

    RuntimeError, with the place, for a text that is none.
    """
    given = text
    text = _canonical(text)
    prefix, colons, _ = text.partition("(")[0].partition("::")
    if colons:
        if prefix != namespace:
            raise RuntimeError(
                f"Explicitly provided namespace ({prefix}) in schema string does not match namespace of the "
                f"library {namespace}"
            )
        text = text[len(prefix) + 2 :]
    if "(" not in text:
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    text, single = _without_inner_parentheses(text)
    try:
        parsed = _Parser(text).schema()
    except SchemaError as error:
        marks = " " * error.offset + "~" * max(error.length, 1)
        reason = f"{error.message}; expected {error.expected}" if error.expected else error.message
        raise RuntimeError(f"{reason}:\n{text}\n{marks} <--- HERE") from None
    keywords = sorted((*parsed.kwarg_only, *parsed.out), key=lambda a: a.offset)
    arguments = tuple([_argument(a) for a in (*parsed.positional, *keywords)])
    names = [a.name for a in arguments]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise RuntimeError(f"the schema has two arguments called {twice!r}: {given}")
    returns = tuple([Argument(r.name or "", str(r.type), alias_info=_alias(r.alias)) for r in parsed.returns])
    shown = f"{namespace}::{text}"
    if single:
        head, _, tail = shown.rpartition(" -> ")
        shown = f"{head} -> ({tail})"
    function, _, overload = str(parsed.name).partition(".")
    return FunctionSchema(
        f"{namespace}::{function}", overload, arguments, returns, single or len(returns) > 1, shown
    )


def _canonical(text: str) -> str:
    """The text with blanks where declarations have them; strings are left alone."""
    parts = _STRING.split(text.strip())
    for i in range(0, len(parts), 2):
        part = re.sub(r"\s+", " ", parts[i])
        part = _TIGHT.sub(r"\1", part)
        part = _COMMA.sub(", ", part)
        part = _ARROW.sub(") -> ", part)
        part = _REDUCTION.sub(lambda found: _REDUCTIONS[found[0]], part)
        # ``Tensor(a!) x`` and ``int[] y``: a name follows.
        parts[i] = re.sub(r"([)\]?])(?=[A-Za-z_])", r"\1 ", part)
    return "".join(parts)


def _without_inner_parentheses(text: str) -> tuple[str, bool]:
    """The text with ``-> ((Tensor))``, a tuple of one result, as ``-> (Tensor)``, and whether it was."""
    head, arrow, returns = text.rpartition(" -> ")
    if arrow and returns.startswith("((") and returns.endswith("))"):
        return f"{head} -> {returns[1:-1]}", True
    return text, False


def _argument(given: model.Argument) -> Argument:
    kind = str(given.type)
    value = None if given.default is None else value_of(given.default, kind)
    return Argument(given.name, kind, value, given.default is not None, given.kwarg_only, _alias(given.alias))


def _alias(given: model.Alias | None) -> AliasInfo | None:
    if given is None:
        return None
    return AliasInfo(frozenset(given.before), frozenset(given.after or given.before), given.write)


def value_of(text: str, kind: str) -> Any:
    """The value of a default's text; ValueError, KeyError or Mismatch for one that is not of the type."""
    if kind.endswith("?"):
        return None if text == "None" else value_of(text, kind[:-1])
    if text.startswith("[") and kind.endswith("]"):
        element = kind[:-1].rpartition("[")[0]
        inner = text[1:-1].strip()
        return [value_of(item.strip(), element) for item in inner.split(",")] if inner else []
    if kind == "ScalarType":
        return dtype.registry[_SCALAR_TYPES.get(text, text)]
    if kind == "MemoryFormat":
        return CONSTANTS[text]
    if kind == "Device":
        return device(ast.literal_eval(text) if text[0] in "\"'" else text)
    value = float(text) if kind == "float" and text in ("inf", "nan") else ast.literal_eval(text)
    if kind.startswith("Tensor") or isinstance(value, str) is not (kind == "str"):
        raise ValueError(text)
    found = conversion(kind)(value)
    return list(found) if isinstance(found, tuple) else found
