"""State: what a function read of Python's objects, by which a later call knows that it would do the same.

Globals, cells, defaults and attributes that the code of the program names are compared: simple values by
what they are, containers by what is in them, all else by identity.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from ..core.device import device
from ..core.scalar_type import dtype
from ..core.tensor_base import TensorBase
from ..nn.modules.base import ModuleBase
from .watch import is_program

#: Stands for what is not there.
MISSING = object()
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), enum.Enum, dtype, device, range, slice)
#: The most that is compared in a call: a function that reaches more is called as it is.
MOST = 20_000


class TooMuch(Exception):
    """A function reaches more objects than are worth comparing."""


class State:
    """What was read of objects, and whether it is still so."""

    def __init__(self) -> None:
        #: (namespace or class, name, value): of globals, instances and classes.
        self.named: list[tuple[Any, Any, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.functions: list[tuple[Any, Any, Any, Any]] = []
        self.lists: list[tuple[Any, tuple[Any, ...]]] = []
        self.dicts: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = []
        self.sets: list[tuple[Any, frozenset[Any]]] = []
        self._seen: dict[int, Any] = {}

    @property
    def reached(self) -> list[Any]:
        """The tensors among what was reached."""
        return [value for value in self._seen.values() if isinstance(value, TensorBase)]

    def difference(self) -> str:
        """What is no longer as it was; "" if all is."""
        for space, name, value in self.named:
            now = (vars(space) if isinstance(space, type) else space).get(name, MISSING)
            if now is not value and not _same(now, value):
                return f"{name!r} was {_shown(value)} and is {_shown(now)}"
        for cell, value in self.cells:
            now = _content(cell)
            if now is not value and not _same(now, value):
                return f"a variable of an outer function was {_shown(value)} and is {_shown(now)}"
        for function, code, defaults, keywords in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return f"{function.__qualname__} has another body or other defaults"
            if function.__kwdefaults__ is not keywords:
                return f"{function.__qualname__} has other defaults"
        for found, elements in self.lists:
            if len(found) != len(elements) or not all(map(_alike, found, elements)):
                return f"a list of {len(elements)} elements has others"
        for found, keys, values in self.dicts:
            if len(found) != len(keys) or not all(map(_alike, found, keys)):
                return "a dict has other keys"
            if not all(map(_alike, found.values(), values)):
                return "a dict has other values"
        for group, members in self.sets:
            if group != members:
                return "a set has other elements"
        return ""

    # -- what is reached

    def reach(self, roots: Collection[Any], codes: Collection[CodeType]) -> None:
        """Take in what code reads, from these objects on. TooMuch where that is too much."""
        names = frozenset([name for code in codes for name in code.co_names])
        waiting = list(roots)
        while waiting:
            value = waiting.pop()
            if _is_simple(value) or id(value) in self._seen:
                continue
            if len(self._seen) > MOST:
                raise TooMuch
            self._seen[id(value)] = value
            waiting += self._parts(value, names, codes)

    def _parts(self, value: Any, names: frozenset[str], codes: Collection[CodeType]) -> Iterator[Any]:
        """Note what is read of an object; the objects that it leads to."""
        if isinstance(value, FunctionType):
            yield from self._of_function(value, codes)
        elif isinstance(value, MethodType):
            yield value.__func__
            yield value.__self__
        elif isinstance(value, list):
            self.lists.append((value, tuple(value)))
            yield from value
        elif isinstance(value, tuple):
            yield from value
        elif isinstance(value, dict):
            self.dicts.append((value, tuple(value), tuple(value.values())))
            yield from value.values()
        elif isinstance(value, set | frozenset):
            self.sets.append((value, frozenset(value)))
        elif isinstance(value, ModuleType):
            if is_program(_NO_CODE, value.__name__) and getattr(value, "__file__", None):
                yield from self._of_names(vars(value), names & vars(value).keys())
        elif isinstance(value, ModuleBase):
            yield from self._of_module(value, names, codes)
        elif isinstance(value, type):
            yield from self._of_class(value, names, codes)
        elif not isinstance(value, TensorBase | BuiltinFunctionType):
            yield from self._of_instance(value, names, codes)

    def _of_names(self, space: dict[str, Any], names: Collection[str]) -> Iterator[Any]:
        for name in names:
            value = space.get(name, MISSING)
            self.named.append((space, name, value))
            if value is not MISSING:
                yield value

    def _of_function(self, function: FunctionType, codes: Collection[CodeType]) -> Iterator[Any]:
        code = function.__code__
        self.functions.append((function, code, function.__defaults__, function.__kwdefaults__))
        if code not in codes:  # it did not run: who reads it compares it alone
            yield from [getattr(function, "__wrapped__", None)]
            return
        inner = [code, *_inner(code)]
        space = function.__globals__
        builtins = space.get("__builtins__", {})
        known = builtins if isinstance(builtins, dict) else vars(builtins)
        names = frozenset([name for each in inner for name in each.co_names])
        yield from self._of_names(space, [n for n in names if n in space or n in known])
        for cell in function.__closure__ or ():
            content = _content(cell)
            self.cells.append((cell, content))
            if content is not MISSING:
                yield content
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        yield getattr(function, "__wrapped__", None)

    def _of_module(self, module: Any, names: frozenset[str], codes: Collection[CodeType]) -> Iterator[Any]:
        space = vars(module)
        for name, value in space.items():
            if _is_simple(value) or name in names:
                self.named.append((space, name, value))
                yield value
            elif isinstance(value, dict):
                self.dicts.append((value, tuple(value), tuple(value.values())))
                yield from value.values()
        self.named += [(space, n, MISSING) for n in names if n not in space and hasattr(type(module), n)]
        yield type(module)

    def _of_class(self, cls: type, names: frozenset[str], codes: Collection[CodeType]) -> Iterator[Any]:
        for base in cls.__mro__:
            if not is_program(_NO_CODE, base.__module__):
                continue
            for name, value in vars(base).items():
                function = _function(value)
                if name in names or (function is not None and function.__code__ in codes):
                    self.named.append((base, name, value))
                    yield value if function is None else function

    def _of_instance(self, value: Any, names: frozenset[str], codes: Collection[CodeType]) -> Iterator[Any]:
        space = getattr(value, "__dict__", None)
        if not is_program(_NO_CODE, type(value).__module__):
            return
        if isinstance(space, dict):
            yield from self._of_names(space, [n for n in names if n in space or hasattr(type(value), n)])
        yield type(value)


def _function(value: Any) -> FunctionType | None:
    """The function of a method, property or the like."""
    for each in (value, getattr(value, "__func__", None), getattr(value, "fget", None)):
        if isinstance(each, FunctionType):
            return each
    return None


def _inner(code: CodeType) -> Iterator[CodeType]:
    """The code of functions that code makes."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _inner(each)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return MISSING


def _is_simple(value: Any) -> bool:
    return isinstance(value, _SIMPLE)


def _alike(now: Any, value: Any) -> bool:
    return now is value or _same(now, value)


def _same(now: Any, value: Any) -> bool:
    """Whether two simple values are equal, and of one type; tuples of them by their elements."""
    if type(now) is not type(value):
        return False
    if isinstance(value, tuple):
        return len(now) == len(value) and all(map(_alike, now, value))
    if isinstance(value, MethodType):
        return now.__func__ is value.__func__ and now.__self__ is value.__self__
    return _is_simple(value) and repr(now) == repr(value)


def _shown(value: Any) -> str:
    if value is MISSING:
        return "not there"
    return repr(value) if _is_simple(value) else f"a {type(value).__name__}"


_NO_CODE = compile("", "program", "exec")
