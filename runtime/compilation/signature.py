"""Signatures: the kind of a call, by its arguments and the modes of tengen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.grad_mode import grad_mode
from ..core.scalar_type import get_default_dtype
from ..core.tensor_base import TensorBase
from .state import described


class Signature:
    """The kind of a call: of its tensors what programs are made for, of all else the values."""

    __slots__ = ("default", "enabled", "inference", "numbers", "plain", "repeated", "spec", "tensors")

    def __init__(self, leaves: Sequence[Any], spec: Any) -> None:
        self.spec = spec
        self.plain: list[tuple[int, Any]] = []
        #: Where tensors stand, each once; and where one stands again that stands at another place.
        self.numbers: list[int] = []
        self.repeated: list[tuple[int, int]] = []
        seen: dict[int, int] = {}
        for number, leaf in enumerate(leaves):
            if not isinstance(leaf, TensorBase):
                self.plain.append((number, leaf))
            elif id(leaf) in seen:
                self.repeated.append((number, seen[id(leaf)]))
            else:
                seen[id(leaf)] = number
                self.numbers.append(number)
        self.tensors = [described(leaves[number]) for number in self.numbers]
        self.enabled, self.inference = grad_mode.enabled, grad_mode.inference
        self.default = get_default_dtype()

    @property
    def is_flat(self) -> bool:
        """Whether the arguments are tensors, each once."""
        return isinstance(self.spec, int) and not self.plain and not self.repeated

    def inputs(self, leaves: Sequence[Any]) -> list[Any]:
        """The tensors among the leaves of a call, each once."""
        return [leaves[number] for number in self.numbers]

    def has_modes(self) -> bool:
        """Whether the modes of tengen are those of the call."""
        modes = grad_mode.enabled is self.enabled and grad_mode.inference is self.inference
        return modes and get_default_dtype() is self.default

    def fits(self, leaves: Sequence[Any], spec: Any) -> bool:
        """Whether a call is of this kind."""
        if spec != self.spec or not self.has_modes():
            return False
        for number, value in self.plain:
            leaf = leaves[number]
            if leaf is not value and not alike(leaf, value):
                return False
        for number, expected in zip(self.numbers, self.tensors, strict=True):
            if not isinstance(leaves[number], TensorBase) or described(leaves[number]) != expected:
                return False
        return all([leaves[number] is leaves[first] for number, first in self.repeated])


def alike(leaf: Any, value: Any) -> bool:
    """Whether two arguments that are no tensors are the same."""
    if type(leaf) is not type(value) or not isinstance(value, int | float | complex | str | bytes):
        return False
    return repr(leaf) == repr(value)
