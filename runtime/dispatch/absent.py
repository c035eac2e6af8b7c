"""What stands in a Type for an operator that it does not have."""

from __future__ import annotations

from typing import Any

from ..core.error_notes import note_operator
from .operator import by_method
from .type import Type


class Absent:
    """Stands in a Type class for an operator that it has not: whoever asks for it is told."""

    __slots__ = ("name",)

    name: str

    def __set_name__(self, owner: type[Type], name: str) -> None:
        self.name = name

    def __get__(self, instance: Type | None, owner: type[Type]) -> Any:
        if instance is None:
            return self
        raise unsupported(instance, self.name)


def unsupported(kind: Type, method: str) -> Exception:
    """The error of an operator that a Type does not have."""
    operator = by_method(method)
    if operator is None:
        return AttributeError(f"{kind.name} has no operator {method!r}")
    text = (operator.refuse or {}).get(kind.scalar_type.category)
    what = f"{kind.scalar_type.type_name!r} ({kind.backend.name})"
    error: Exception = NotImplementedError(f'"{operator.function}" not implemented for {what}')
    if text is not None:
        error = RuntimeError(f"{operator.function}: {text}")
    note_operator(error, operator.name)
    return error
