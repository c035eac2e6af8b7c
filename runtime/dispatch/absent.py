"""What stands in a Type for operators that it does not have, or not as methods of its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import getattr_static
from typing import Any, TypeVar

from ..core.error_notes import note_operator, public_name
from .operator import by_method, operator
from .type import Type

C = TypeVar("C", bound=type[Any])


class Absent:
    """Stands in a Type class for an operator that it has not: whoever asks for it is told."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Type | None, owner: type[Type]) -> Any:
        if instance is None:
            return self
        raise unsupported(instance, self.name)


class Promoted:
    """Stands in a Type class for an operator that takes its tensors to another Type, which has it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Type | None, owner: type[Type]) -> Any:
        return self if instance is None else operator(self.name)


def lacks(methods: str) -> Callable[[C], C]:
    """The decorator of a Type class that has not the methods of these names, though its bases may."""

    def marked(cls: C) -> C:
        for name in methods.split():
            setattr(cls, name, Absent(name))
        return cls

    return marked


def keeps(methods: str) -> Callable[[C], C]:
    """The decorator of a Type class that has of its base's methods only those of these names, and its own."""

    def marked(cls: C) -> C:
        kept = {*methods.split(), *vars(cls)}
        for name in vars(cls.__base__):
            if name not in kept and not (name.startswith("__") and name.endswith("__")):
                setattr(cls, name, Absent(name))
        return cls

    return marked


@cache
def has_operator(T: Type, method: str) -> bool:
    """Whether a Type has the operator whose method has this name, for its own dtype."""
    return not isinstance(getattr_static(T.recorded(False).__class__, method), Absent | Promoted)


def unsupported(T: Type, method: str) -> Exception:
    """The error of an operator that a Type does not have."""
    found = by_method(method)
    if found is None:
        return AttributeError(f"{T.name} has no operator {method!r}")
    text = (found.refuse or {}).get(T.scalar_type.category)
    what, name = f"{T.scalar_type.type_name!r} ({T.backend.name})", public_name(found.function)
    error: Exception = NotImplementedError(f'"{name}" not implemented for {what}')
    if text is not None:
        error = RuntimeError(f"{name}: {text}")
    note_operator(error, found.name)
    return error
