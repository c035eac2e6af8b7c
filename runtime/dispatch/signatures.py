"""What ``inspect.signature`` shows of generated functions: the signatures in their docstrings.

A generated function takes more than its signature says, NumPy's words for arguments among it, and some take
``*args`` for overloads. The docstring begins with the signatures as users know them, one for each overload.
They are read when somebody asks.
"""

from __future__ import annotations
import __future__

import inspect
from collections.abc import Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any

from .binding_support import MISSING

_EMPTY = inspect.Parameter.empty
_ANNOTATIONS = __future__.annotations.compiler_flag


class DocumentedSignature(inspect.Signature):
    """The signature that the docstring of a function tells, read when its parameters are first asked for."""

    __slots__ = ("_function", "_read")

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._read: inspect.Signature | None = None

    def _told(self) -> inspect.Signature:
        if self._read is None:
            self._read = merged(overloads(self._function))
        return self._read

    @property
    def parameters(self) -> MappingProxyType[str, inspect.Parameter]:
        return self._told().parameters

    @property
    def return_annotation(self) -> Any:
        return _EMPTY

    @property
    def overloads(self) -> list[inspect.Signature]:
        """The signatures of the overloads."""
        return overloads(self._function)

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        return self._told().replace(**changes)

    def __reduce__(self) -> Any:
        return self._told().__reduce__()


def document(namespace: Mapping[str, Any]) -> None:
    """Give the functions among these their signatures."""
    for value in namespace.values():
        if value.__class__ is FunctionType and value.__name__[:2] != "__":
            value.__dict__["__signature__"] = DocumentedSignature(value)


def overloads(function: Any) -> list[inspect.Signature]:
    """The signatures that a generated function's docstring begins with, one for each overload.

    Without docstrings (``python -OO``) it is what its code takes.
    """
    text = inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0]
    is_method = "." in function.__qualname__ and function.__code__.co_varnames[:1] == ("self",)
    first = ["self"] if is_method else []
    found = [_signature(line, first) for line in text.splitlines() if ") -> " in line]
    return found or [inspect.signature(_bare(function))]


def _bare(function: FunctionType) -> FunctionType:
    """The function without its attributes."""
    made = FunctionType(function.__code__, {}, argdefs=function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _signature(line: str, first: list[str]) -> inspect.Signature:
    given = line[line.index("(") + 1 : line.rindex(") -> ")]
    source = f"def f({', '.join([*first, *([given] if given else [])])}): ..."
    scope: dict[str, Any] = {}
    exec(compile(source, "<docstring>", "exec", flags=_ANNOTATIONS, dont_inherit=True), scope)
    plain = [p.replace(annotation=_EMPTY) for p in inspect.signature(scope["f"]).parameters.values()]
    return inspect.Signature(plain)


def merged(signatures: Iterable[inspect.Signature]) -> inspect.Signature:
    """One signature for all overloads: what the longest has at each place, then the names of the others.

    A parameter that only some have may be left out, which ``<missing>`` says where these have no default.
    Loose sizes go before the list that they stand for. What the first takes as a keyword only, all do.
    """
    ways = [list(s.parameters.values()) for s in signatures]
    if len(ways) == 1:
        return inspect.Signature(ways[0])
    keywords = {p.name for p in ways[0] if p.kind is inspect.Parameter.KEYWORD_ONLY}
    for way in ways:
        way[:] = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) if p.name in keywords else p for p in way]
    ways.sort(key=_length, reverse=True)
    made: dict[str, inspect.Parameter] = {}
    following = ways
    while following := [way for way in following if len(way) > len(made) and _is_positional(way[len(made)])]:
        chosen = following[0][len(made)]
        same = [way for way in following if way[len(made)].name == chosen.name]
        chosen = next((p for way in same if (p := way[len(made)]).default is not _EMPTY), chosen)
        made[chosen.name] = chosen if len(same) == len(ways) else _optional(chosen)
        following = same
    rest = [p for way in ways for p in way if p.name not in made]
    for p in sorted(rest, key=_is_out):
        everywhere = all(any(q.name == p.name for q in way) for way in ways)
        named = p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        made.setdefault(p.name, named if everywhere else _optional(named))
    return inspect.Signature(_in_order(list(made.values())))


def _length(way: list[inspect.Parameter]) -> tuple[bool, int]:
    """Loose sizes count for more than any number of positional parameters."""
    loose = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in way)
    return loose, sum(map(_is_positional, way))


def _is_out(parameter: inspect.Parameter) -> bool:
    return parameter.name == "out"


def _is_positional(parameter: inspect.Parameter) -> bool:
    return parameter.kind is not inspect.Parameter.KEYWORD_ONLY


def _optional(parameter: inspect.Parameter) -> inspect.Parameter:
    if parameter.default is not _EMPTY or parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return parameter
    return parameter.replace(default=MISSING)


def _in_order(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """The same with a default wherever one before has one."""
    missing = False
    for i, p in enumerate(parameters):
        if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            parameters[i] = _optional(p) if missing else p
            missing = missing or parameters[i].default is not _EMPTY
    return parameters
