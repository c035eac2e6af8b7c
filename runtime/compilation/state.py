"""State: what a function read of Python's objects, by which a later call knows that it would do the same.

Globals, cells, defaults and attributes that the code of the program names are compared: simple values by
what they are, containers by what is in them, all else by identity.
"""

from __future__ import annotations

import dis
import enum
import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..core.device import device
from ..core.scalar_type import dtype
from ..core.tensor_base import TensorBase
from ..nn.modules import global_hooks
from ..nn.modules.base import ModuleBase
from ..optim import optimizer
from ..optim.elementwise import computed_options
from .watch import is_program

#: Stands for what is not there.
MISSING = object()
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), enum.Enum, dtype, device, range, slice)
#: The most that is compared in a call: a function that reaches more is called as it is.
MOST = 20_000


#: Names that tell that attributes are read by others than those that code names.
_ANY_NAME = frozenset(
    ("getattr", "hasattr", "setattr", "delattr", "attrgetter", "__dict__", "__getattribute__")
)
#: Names by which programs read the options of optimisers.
_GROUPS = frozenset(("param_groups", "defaults", "state_dict"))
#: The flag of types whose attributes nobody sets.
_IMMUTABLE = 1 << 8
#: The hooks that all modules call.
HOOKS = [
    hooks
    for name, hooks in vars(global_hooks).items()
    if isinstance(hooks, dict) and not name.startswith("__")
]
#: Those that all steps of optimisers call.
STEP_HOOKS = [
    hooks for name, hooks in vars(optimizer).items() if name.startswith("_global") and isinstance(hooks, dict)
]
#: Types whose objects are what their C code makes them: what they give is not compared.
_HIDDEN = (functools._lru_cache_wrapper,)


class TooMuch(Exception):
    """A function reaches more than is worth comparing, or what cannot be compared; the message names it."""


class State:
    """What was read of objects, and whether it is still so."""

    def __init__(self) -> None:
        #: (namespace, name, value): of globals and instances, whose namespace is a dict, and of classes.
        self.named: list[tuple[Any, Any, Any]] = []
        self.cells: list[tuple[Any, Any]] = []
        self.functions: list[tuple[Any, Any, Any, Any]] = []
        self.lists: list[tuple[Any, tuple[Any, ...]]] = []
        self.dicts: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = []
        #: (tensor, what it is): of tensors, whose elements may change.
        self.tensors: list[tuple[Any, tuple[Any, ...]]] = []
        #: (object, class): of instances, whose class can be another.
        self.kinds: list[tuple[Any, Any]] = []
        #: (object, what reads it, what that gave).
        self.others: list[tuple[Any, Callable[[Any], Any], Any]] = []
        self._seen: dict[int, Any] = {}

    @property
    def reached(self) -> list[Any]:
        """The tensors among what was reached."""
        return [value for value in self._seen.values() if isinstance(value, TensorBase)]

    def has(self, value: Any) -> bool:
        """Whether an object was reached."""
        return id(value) in self._seen

    def difference(self) -> str:
        """What is no longer as it was; "" if all is."""
        for space, name, value in self.named:
            now = (space if type(space) is dict else vars(space)).get(name, MISSING)
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
        for tensor, seen in self.tensors:
            if described(tensor) != seen:
                return f"a tensor of shape {tuple(tensor.shape)} is of another kind"
        for value, kind in self.kinds:
            if type(value) is not kind:
                return f"a {kind.__name__} is a {type(value).__name__}"
        for value, read, content in self.others:
            if not _alike(read(value), content):
                return f"a {type(value).__name__} has another content"
        return ""

    # -- what is reached

    def reach(self, roots: Collection[Any], codes: Collection[CodeType]) -> None:
        """Take in what code reads, from these objects on. TooMuch where that is too much."""
        names = frozenset(
            [name for code in codes for each in (code, *_inner(code)) for name in each.co_names]
        )
        waiting = list(roots)
        while waiting:
            value = waiting.pop()
            if _is_simple(value) or id(value) in self._seen:
                continue
            if len(self._seen) > MOST:
                raise TooMuch("more objects than are worth comparing")
            self._seen[id(value)] = value
            waiting += self._parts(value, names, codes)

    def _parts(self, value: Any, names: frozenset[str], codes: Collection[CodeType]) -> Iterator[Any]:
        """Note what is read of an object; the objects that it leads to."""
        if type(value) is FunctionType:  # others say that they are one
            yield from self._of_function(value, names, codes)
        elif isinstance(value, MethodType):
            yield value.__func__
            yield value.__self__
        elif isinstance(value, ModuleType):
            if is_program(_NO_CODE, value.__name__):
                yield from self._of_names(vars(value), names & vars(value).keys())
            else:  # what others have put in the place of its functions
                found = [each for each in self._of_names(vars(value), names & vars(value).keys())]
                yield from [each for each in found if isinstance(each, ModuleType)]
        elif isinstance(value, ModuleBase):
            yield from self._of_module(value, names, codes)
        elif isinstance(value, optimizer.Optimizer):
            yield from self._of_optimiser(value, names)
        elif isinstance(value, type):
            yield from self._of_class(value, names, codes)
        elif isinstance(value, _HIDDEN):
            raise TooMuch(f"a {type(value).__name__}")
        elif isinstance(value, TensorBase):
            self.tensors.append((value, described(value)))
            yield from self._of_attributes(vars(value), None, names)
            yield from hooks_of(value)
        elif not isinstance(value, BuiltinFunctionType):
            yield from self._of_content(value)
            yield from self._of_instance(value, names)

    def _of_content(self, value: Any) -> Iterator[Any]:
        """Note what a container has. TooMuch for an object in C that cannot be compared."""
        kind = type(value)
        if kind is list:
            self.lists.append((value, tuple(value)))
            yield from value
        elif kind is tuple:
            yield from value
        elif kind is dict or (kind is OrderedDict and len(value) < 2):  # that has no order yet
            yield from self._of_dict(value)
        else:
            read = next((read for kinds, read in _CONTENTS if isinstance(value, kinds)), None)
            if read is not None:
                content = read(value)
                self.others.append((value, read, content))
                yield content
            elif hasattr(kind, "__setitem__") and not hasattr(value, "__dict__"):
                raise TooMuch(f"a {kind.__name__}")

    def _of_dict(self, value: dict[Any, Any]) -> Iterator[Any]:
        self.dicts.append((value, tuple(value), tuple(value.values())))
        yield from value.values()

    def _of_names(self, space: dict[str, Any], names: Collection[str]) -> Iterator[Any]:
        for name in names:
            value = space.get(name, MISSING)
            self.named.append((space, name, value))
            if value is not MISSING:
                yield value

    def _of_function(
        self, function: FunctionType, names: frozenset[str], codes: Collection[CodeType]
    ) -> Iterator[Any]:
        code = function.__code__
        self.functions.append((function, code, function.__defaults__, function.__kwdefaults__))
        yield from self._of_attributes(vars(function), function, names)
        if code not in codes:  # it did not run: who reads it compares it alone
            yield from [getattr(function, "__wrapped__", None)]
            return
        inner = [code, *_inner(code)]
        space = function.__globals__
        builtins = space.get("__builtins__", {})
        known = builtins if isinstance(builtins, dict) else vars(builtins)
        own = frozenset([name for each in inner for name in _globals_of(each)])
        yield from self._of_names(space, [n for n in own if n in space or n in known])
        for cell in function.__closure__ or ():
            content = _content(cell)
            self.cells.append((cell, content))
            if content is not MISSING:
                yield content
        yield from function.__defaults__ or ()
        yield function.__kwdefaults__
        yield getattr(function, "__wrapped__", None)

    def _of_module(self, module: Any, names: frozenset[str], codes: Collection[CodeType]) -> Iterator[Any]:
        space = vars(module)
        self.kinds.append((module, type(module)))
        names = names | {"forward"}  # which the library calls
        for name, value in space.items():
            if _is_simple(value) or name in names:
                self.named.append((space, name, value))
                yield value
            elif isinstance(value, dict):
                yield from self._of_content(value)
        self.named += [(space, n, MISSING) for n in names if n not in space and hasattr(type(module), n)]
        yield from HOOKS
        yield type(module)

    def _of_optimiser(self, value: Any, names: frozenset[str]) -> Iterator[Any]:
        """What steps are made of; not the numbers that are computed in each."""
        self.kinds.append((value, type(value)))
        each_call = () if names & _GROUPS else computed_options(type(value))
        for group in value.param_groups:
            options = [name for name in value.defaults if name not in each_call]
            yield from self._of_names(group, ["params", *options])
        self.lists.append((value.param_groups, tuple(value.param_groups)))
        self.named += [(vars(value), name, vars(value)[name]) for name in ("param_groups", "state")]
        yield from self._of_dict(value.state)
        yield from self._of_attributes(vars(value), value, names - _GROUPS - _ANY_NAME)
        own = [hooks for name, hooks in vars(value).items() if name.endswith("_hooks")]
        yield from (*own, *STEP_HOOKS)
        yield type(value)

    def _of_class(self, cls: type, names: frozenset[str], codes: Collection[CodeType]) -> Iterator[Any]:
        known = frozenset([name for base in cls.__mro__ for name in vars(base)])
        for base in cls.__mro__:
            if not is_program(_NO_CODE, base.__module__) or base.__flags__ & _IMMUTABLE:
                continue
            space = vars(base)
            ran = [n for n, v in space.items() if (f := _function(v)) is not None and f.__code__ in codes]
            for name in dict.fromkeys([*(names & known), *ran]):
                value = space.get(name, MISSING)
                self.named.append((base, name, value))
                if value is not MISSING:
                    yield _function(value) or value

    def _of_instance(self, value: Any, names: frozenset[str]) -> Iterator[Any]:
        if isinstance(value, functools.partial):
            yield from (value.func, value.args, value.keywords)
        kind = type(value)
        if kind.__module__ == "builtins" or not is_program(_NO_CODE, kind.__module__):
            return
        self.kinds.append((value, kind))
        yield from self._of_attributes(getattr(value, "__dict__", None), value, names)
        for base in kind.__mro__:
            for name, slot in vars(base).items():
                if isinstance(slot, MemberDescriptorType) and name in names:
                    content = _slot(value, slot)
                    self.others.append((value, functools.partial(_slot, slot=slot), content))
                    yield content
        yield kind

    def _of_attributes(self, space: Any, value: Any, names: frozenset[str]) -> Iterator[Any]:
        """Of an object's own attributes those that are named, or all where code may name others."""
        if not isinstance(space, dict):
            return
        if names & _ANY_NAME:
            yield from self._of_dict(space)
        yield from self._of_names(space, [n for n in names if n in space or hasattr(type(value), n)])


#: Containers that are compared by what they have, and what reads that.
_CONTENTS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (set | frozenset, frozenset),
    (deque | list | tuple, tuple),
    (OrderedDict | dict, lambda found: tuple([*found, *found.values()])),
    (np.ndarray, lambda found: (found.dtype.str, found.shape, found.tobytes())),
    (bytearray, bytes),
)


def described(tensor: Any) -> tuple[Any, ...]:
    """What a program is made for of a tensor."""
    array = tensor._array
    strides = getattr(array, "strides", None)
    return type(tensor), tensor._type, tuple(tensor.shape), strides, tensor._requires_grad


def hooks_of(tensor: Any) -> tuple[Any, ...]:
    """The hooks that a gradient meets at a leaf."""
    meta = tensor._meta
    if meta is None:
        return ()
    node, found = meta.live_accumulator(), []
    for extra in (meta.leaf_extra, None if node is None else node.extra):
        if extra is not None:
            found += [(extra.tensor_hooks or {}).get(0), extra.pre_hooks, extra.post_hooks]
            found += [extra.post_accumulate]
    return tuple([hook for hooks in found if hooks for hook in hooks.values()])


def _slot(value: Any, slot: Any) -> Any:
    """What an object has in a slot."""
    return slot.__get__(value, type(value)) if hasattr(value, slot.__name__) else MISSING


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


@functools.lru_cache(4096)
def _globals_of(code: CodeType) -> frozenset[str]:
    """The names that code reads or sets as globals; others are those of attributes."""
    kinds = ("GLOBAL", "_NAME")
    return frozenset(
        [str(i.argval) for i in dis.get_instructions(code) if any([kind in i.opname for kind in kinds])]
    )


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
    if isinstance(value, frozenset):
        return bool(now == value)
    if isinstance(value, MethodType):
        return now.__func__ is value.__func__ and now.__self__ is value.__self__
    return _is_simple(value) and repr(now) == repr(value)


def _shown(value: Any) -> str:
    if value is MISSING:
        return "not there"
    return repr(value) if _is_simple(value) else f"a {type(value).__name__}"


_NO_CODE = compile("", "program", "exec")
