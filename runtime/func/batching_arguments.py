"""The tensors among the arguments of an operator, those in lists too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensors.tensor import Tensor

Arguments = Sequence[Any]


def map_tensors(function: Callable[[Any], Any], arguments: Arguments) -> list[Any]:
    """The arguments with ``function`` applied to the tensors among them, those in lists too."""
    return [
        function(a)
        if isinstance(a, Tensor)
        else tuple(map_tensors(function, a))
        if a.__class__ in (list, tuple)
        else a
        for a in arguments
    ]


def tensors_of(arguments: Arguments) -> list[Any]:
    """The tensors among the arguments, and in lists among them."""
    found: list[Any] = []
    for a in arguments:
        if isinstance(a, Tensor):
            found.append(a)
        elif a.__class__ in (list, tuple):
            found += tensors_of(a)
    return found
