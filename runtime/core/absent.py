"""Stand-ins for names of PyTorch's that are not available: programs import them, and may never use them."""

from __future__ import annotations

import sys
from dis import get_instructions
from inspect import CO_OPTIMIZED
from typing import Any


class Absent(type):
    """The class of a stand-in: RuntimeError with its ``reason`` for who calls it, or what it has.

    ``isinstance`` of one is False, it can be a base class and be subscripted, and what it has can be named.
    What is called in a class body, as a decorator, or for its value by a module that is being imported, is
    a stand-in again: the use of that is refused.
    """

    reason: str

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if _defines(sys._getframe(1), args, keywords):
            return absent(cls.__module__, cls.__qualname__, cls.reason)
        raise RuntimeError(f"{cls.__module__}.{cls.__qualname__} is not available: {cls.reason}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.__module__}.{cls.__qualname__}", name, cls.reason)

    def __getitem__(cls, item: Any) -> Any:
        return cls

    __iter__: Any = None  # what can be subscripted could else be iterated


def _defines(frame: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether the call defines something: in a class body, in a module's import, or as a decorator.

    A program's own decorator may make it: of a function whose module is being imported.
    """
    if _drops_result(frame):
        return False  # a statement that wants the effect
    decorates = len(args) == 1 and not keywords and hasattr(args[0], "__qualname__")
    if frame.f_code.co_flags & CO_OPTIMIZED:
        return decorates and _is_imported(getattr(args[0], "__globals__", {}))
    if "__qualname__" in frame.f_locals and frame.f_locals is not frame.f_globals:
        return True
    return decorates or _is_imported(frame.f_globals)


def _is_imported(names: dict[str, Any]) -> bool:
    """Whether the module that has these names is being imported."""
    return bool(getattr(names.get("__spec__"), "_initializing", False))


def _drops_result(frame: Any) -> bool:
    after = (i for i in get_instructions(frame.f_code) if i.offset > frame.f_lasti and i.opname != "CACHE")
    return next(after).opname == "POP_TOP"


def absent(module: str, name: str, reason: str) -> type:
    """The stand-in for a name of a module."""
    return Absent(name, (), {"__module__": module, "__qualname__": name, "reason": reason})
