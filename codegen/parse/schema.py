"""Parse: signatures such as ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``.

The grammar is PyTorch's schema language::

    schema   = name "(" [argument {", " argument}] ")" " -> " returns
    name     = ["__"] word ["_"] ["__"] ["." overload]
    argument = "*" | type name ["=" default]
    type     = base ["(" alias ")"] {"[" [size] "]" | "?"}
    alias    = letters ["!"] [" -> " letters]          letters: a, a|b, *
    default  = number | True | False | None | word | string | "[" [default {"," default}] "]"
    returns  = return | "(" [return {", " return}] ")"
    return   = type [name]

``str`` of a parsed schema is the string that was read.
"""

from __future__ import annotations

import re

from ...ir.reader import read_value
from ..model.annotations import DTYPE_WORDS
from ..model.diagnostics import one_of, suggestion
from ..model.names import BINARY_OPERATORS
from ..model.schema import (
    Alias,
    Argument,
    BaseType,
    ListType,
    OperatorName,
    OptionalType,
    Return,
    Schema,
    Type,
)

BASE_TYPES = (
    "Tensor",
    "Scalar",
    "int",
    "SymInt",
    "float",
    "bool",
    "SymBool",
    "str",
    "ScalarType",
    "Device",
    "DeviceIndex",
    "Layout",
    "MemoryFormat",
    "Generator",
    "Storage",
    "Stream",
    "QScheme",
    "Dimname",
    "ConstQuantizerPtr",
)

# The words that may be a default, by the type they are of.
ENUMERATORS = {
    "int": ("Mean", "Sum", "None"),
    "ScalarType": tuple(DTYPE_WORDS),
    "MemoryFormat": ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"),
    "Layout": ("strided",),
}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OVERLOAD = re.compile(r"[A-Za-z0-9_]+")
_ALIAS = re.compile(r"([a-z](?:\|[a-z])*)(!?)(?: -> (\*|[a-z](?:\|[a-z])*))?\Z")
_NUMBER = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 40
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
#: With "idiv", which PyTorch has kept from Python 2.
_INPLACE_DUNDERS = frozenset([f"i{name}" for name in (*BINARY_OPERATORS, "div")])


#: What may follow a type's name: ``?``, ``[]``, ``[2]?`` ..., in characters.
_MOST_SUFFIXES = 12


class SchemaError(Exception):
    """A signature that is not one: what, at which character, and what was expected."""

    def __init__(
        self, message: str, offset: int, length: int = 1, expected: str = "", help: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.offset, self.length = message, offset, length
        self.expected, self.help = expected, help


def parse_schema(text: str) -> Schema:
    """The schema that ``text`` writes; raises SchemaError."""
    return SchemaParser(text).schema()


def parse_name(text: str) -> OperatorName:
    """``add_.Tensor`` as a name; raises SchemaError."""
    parser = SchemaParser(text)
    name = parser.operator_name()
    if parser.at != len(text):
        raise SchemaError(
            "text after an operator's name", parser.at, len(text) - parser.at, 'a name as "add.Tensor"'
        )
    return name


class SchemaParser:
    """Reads one signature. Schemas that users write at run time are read by a class derived from this."""

    #: What an alias annotation is, without its parentheses.
    alias_pattern = _ALIAS

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    # -- helpers

    def take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def need(self, token: str, after: str) -> None:
        if not self.take(token):
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            shown = f'"{token}"' if token != " " else "a blank"
            raise SchemaError(f"expected {shown} after {after}, found {found}", self.at, 1, shown)

    def word(self, what: str, pattern: re.Pattern[str] = _NAME) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
            raise SchemaError(f"expected {what}, found {found}", self.at, 1, what)
        self.at = match.end()
        return match.group()

    # -- grammar

    def operator_name(self) -> OperatorName:
        start = self.at
        base = self.word("an operator's name")
        overload = ""
        if self.take("."):
            overload = self.word("an overload's name", _OVERLOAD)
        if base.startswith("__") and base.endswith("__") and len(base) > 4:
            return OperatorName(base, base[2:-2] in _INPLACE_DUNDERS, True, overload)
        if base.endswith("_") and base.strip("_"):
            return OperatorName(base[:-1], True, False, overload)
        if not base.strip("_"):
            raise SchemaError("an operator's name is a word", start, len(base), "a name")
        return OperatorName(base, False, False, overload)

    def schema(self) -> Schema:
        name = self.operator_name()
        self.need("(", "the operator's name")
        positional: list[Argument] = []
        kwarg_only: list[Argument] = []
        out: list[Argument] = []
        starred = False
        if not self.take(")"):
            while True:
                start = self.at
                if self.text.startswith(("*,", "*)"), self.at):
                    if starred:
                        raise SchemaError(
                            'a second "*"', start, 1, 'one "*" before the keyword-only arguments'
                        )
                    starred = True
                    self.at += 1
                    if self.text.startswith(")", self.at):
                        raise SchemaError('no argument follows "*"', start, 1, "keyword-only arguments")
                else:
                    argument = self.argument(starred)
                    if starred and argument.alias is not None and argument.alias.write:
                        out.append(argument)
                    elif starred:
                        kwarg_only.append(argument)
                    else:
                        positional.append(argument)
                if self.take(")"):
                    break
                self.separator("an argument")
        self.arrow()
        returns, parenthesised = self.returns()
        if self.at != len(self.text):
            rest = self.text[self.at :]
            raise SchemaError("text after the end of the signature", self.at, len(rest), "nothing more")
        return Schema(name, tuple(positional), tuple(kwarg_only), tuple(out), returns, parenthesised)

    def separator(self, what: str) -> None:
        comma = self.at
        self.need(",", what)
        if self.text.startswith((")", " )"), self.at):
            raise SchemaError("a trailing comma", comma, 1, f'another {what.split()[-1]} or ")"')
        self.need(" ", "a comma")

    def arrow(self) -> None:
        if not self.take(" -> "):
            raise SchemaError(
                'expected " -> " and what the operator returns', self.at, 1, '" -> Tensor", for instance'
            )

    def argument(self, kwarg_only: bool) -> Argument:
        offset = self.at
        kind, alias = self.type()
        if not self.take(" "):
            self.need(" ", f'the type "{kind}"')
        name = self.word("an argument's name")
        default = None
        if self.take("="):
            default = self.default(kind)
        return Argument(name, kind, default, alias, kwarg_only, offset)

    def type(self) -> tuple[Type, Alias | None]:
        start = self.at
        base = self.word("a type")
        if base not in BASE_TYPES:
            raise SchemaError(
                f'unknown type "{base}"', start, len(base), one_of(BASE_TYPES), suggestion(base, BASE_TYPES)
            )
        result: Type = BaseType(base)
        alias = None
        suffixes = self.at
        if self.text.startswith("(", self.at):
            alias = self.alias(base)
        while True:
            if self.at - suffixes > _MOST_SUFFIXES:
                raise SchemaError("the type is nested too deeply", start, 1, "a list, or an optional value")
            if self.take("?"):
                result = OptionalType(result)
            elif self.take("["):
                size = None
                if not self.text.startswith("]", self.at):
                    at = self.at
                    digits = self.word("a list's length", re.compile("[0-9]+"))
                    if len(digits) > 2:
                        raise SchemaError("a list's length has two digits", at, len(digits), "at most 99")
                    size = int(digits)
                self.need("]", "a list's length")
                result = ListType(result, size)
            else:
                return result, alias

    def alias(self, base: str) -> Alias:
        start = self.at
        end = self.text.find(")", start)
        inside = self.text[start + 1 : end] if end >= 0 else self.text[start + 1 :]
        match = self.alias_pattern.match(inside)
        if match is None or end < 0:
            raise SchemaError(
                f'"({inside})" is not an alias annotation', start, len(inside) + 2, "(a), (a!) or (a -> *)"
            )
        if base != "Tensor":
            raise SchemaError(
                f'a "{base}" shares no memory', start, len(inside) + 2, "an alias annotation on a Tensor"
            )
        self.at = end + 1
        after = tuple(match[3].split("|")) if match[3] else ()
        return Alias(tuple(match[1].split("|")), bool(match[2]), after)

    def returns(self) -> tuple[tuple[Return, ...], bool]:
        if not self.take("("):
            return (self.result(),), False
        results: list[Return] = []
        if not self.take(")"):
            while True:
                results.append(self.result())
                if self.take(")"):
                    break
                self.separator("a result")
        return tuple(results), True

    def result(self) -> Return:
        kind, alias = self.type()
        name = self.word("a result's name") if self.take(" ") else None
        return Return(kind, name, alias)

    # -- defaults

    def default(self, kind: Type) -> str:
        """The text of a default, which must be a value of ``kind``."""
        start = self.at
        for pattern in (_STRING, _NUMBER, _NAME):
            match = pattern.match(self.text, start)
            if match is not None:
                self.at = match.end()
                break
        else:
            if not self.text.startswith("[", start):
                raise SchemaError("expected a default value", start, 1, _describe(kind))
            end = self.text.find("]", start)
            if end < 0:
                raise SchemaError('this "[" is never closed', start, len(self.text) - start, '"]"')
            self.at = end + 1
        text = self.text[start : self.at]
        if not self.fits(text, kind):
            raise SchemaError(
                f"the default {text} is not of the type {kind}",
                start,
                len(text),
                _describe(kind),
                _default_help(text, kind),
            )
        return text

    def fits(self, text: str, kind: Type) -> bool:
        """Whether a default's text is a value of the type."""
        return fits(text, kind)


def fits(text: str, kind: Type) -> bool:
    """Whether a default's text is a value of the type."""
    if isinstance(kind, OptionalType):
        return text == "None" or fits(text, kind.element)
    if isinstance(kind, ListType):
        if text.startswith("["):
            items = [item.strip() for item in text[1:-1].split(",")] if text != "[]" else []
            return all(fits(item, kind.element) for item in items)
        # ``int[2] stride=1`` means that number for each element.
        return kind.size is not None and fits(text, kind.element)
    name = kind.name
    if len(text) > _LONGEST_NUMBER and _NUMBER.fullmatch(text):
        return False
    if text[0] in "\"'":
        return name == "str" and isinstance(read_value(text), str)
    if name in ("bool", "SymBool"):
        return text in ("True", "False")
    if name == "float":
        return _NUMBER.fullmatch(text) is not None
    if name in ("int", "SymInt", "DeviceIndex"):
        return re.fullmatch("-?[0-9]{1,19}", text) is not None or (name == "int" and text in ("Mean", "Sum"))
    if name == "Scalar":
        return _NUMBER.fullmatch(text) is not None or text in ("True", "False")
    return text in ENUMERATORS.get(name, ())


def _describe(kind: Type) -> str:
    """What a default of the type looks like."""
    if isinstance(kind, OptionalType):
        return f"None or {_describe(kind.element)}"
    if isinstance(kind, ListType):
        same = f" or {_describe(kind.element)} for all of them" if kind.size is not None else ""
        return f"a list as [] or [1,2]{same}"
    descriptions = {
        "int": "an integer",
        "SymInt": "an integer",
        "float": "a number",
        "Scalar": "a number",
        "bool": "True or False",
        "str": "a quoted string",
        "Tensor": "no default (a Tensor has none; write Tensor? for an optional one)",
    }
    if kind.name in ENUMERATORS and kind.name != "int":
        return one_of(ENUMERATORS[kind.name])
    return descriptions.get(kind.name, f"no default (a {kind.name} has none)")


def _default_help(text: str, kind: Type) -> str:
    if text == "None":
        return f'write "{kind}?" for an argument that may be None'
    return suggestion(text, ("True", "False", "None")) if _NAME.fullmatch(text) else ""
