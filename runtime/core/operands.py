"""The tensors among the arguments of a call, or in its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .tensor_base import TensorBase


def tensors_in(values: Iterable[Any]) -> list[Any]:
    """The tensors among values and in the lists and tuples among them, in order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_in(value)
    return found


def map_tensors(function: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """Values with ``function`` applied to the tensors among them; lists and tuples become tuples."""
    return [
        function(value)
        if isinstance(value, TensorBase)
        else tuple(map_tensors(function, value))
        if value.__class__ in (list, tuple)
        else value
        for value in values
    ]
