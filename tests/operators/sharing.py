"""Operands over one memory: what is written, and an argument that shares a part of it, or all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tengen
from tengen.testing.declared import calls, kind_of, operators, variants, working_dtypes
from tengen.testing.samples import Call

#: Of an in-place or out variant, by its name: its kind, and the functional operator.
PARTNERS = {
    str(v.name): (kind_of(v), str(v.base))
    for v in variants().values()
    if kind_of(v) in ("inplace", "out") and str(v.base) in operators()
}


def named(kind: str) -> list[str]:
    """The variants of a kind."""
    return [name for name, (found, _) in PARTNERS.items() if found == kind]


@dataclass(frozen=True)
class Place:
    """A tensor among the arguments: the number of the argument, and the place in a list."""

    argument: int
    item: int | None

    def get(self, values: list[Any]) -> Any:
        """The tensor there."""
        value = values[self.argument]
        return value if self.item is None else value[self.item]

    def put(self, values: list[Any], tensor: Any) -> list[Any]:
        """The arguments with another tensor there."""
        if self.item is not None:
            listed = list(values[self.argument])
            listed[self.item] = tensor
            tensor = listed
        return [*values[: self.argument], tensor, *values[self.argument + 1 :]]


def places(values: list[Any], library: Any = tengen) -> Iterator[Place]:
    """The tensors among the arguments."""
    for i, value in enumerate(values):
        if isinstance(value, library.Tensor):
            yield Place(i, None)
        elif isinstance(value, (list, tuple)):
            yield from (Place(i, j) for j, t in enumerate(value) if isinstance(t, library.Tensor))


def together(a: Any, b: Any, whole: bool, library: Any = tengen) -> tuple[Any, Any] | None:
    """Two tensors without gaps over one memory, which has the values of ``b`` in its place.

    They share one element, or ``whole`` all; None where they cannot.
    """
    if a.dtype != b.dtype or not a.numel() or not b.numel():
        return None
    if whole:
        memory = library.clone(b.reshape(-1))
        return (memory.view(a.shape), memory.view(b.shape)) if a.shape == b.shape else None
    if a.numel() == b.numel() == 1:
        return None
    memory = library.cat([a.reshape(-1)[:-1], b.reshape(-1)])
    return memory[: a.numel()].view(a.shape), memory[a.numel() - 1 :].view(b.shape)


def samples(name: str) -> Iterator[tuple[Call, Any]]:
    """The calls of a variant's operator with a dtype each, int64 among these: indices are of that."""
    for call in calls(PARTNERS[name][1]):
        extra = [tengen.int64] if call.takes(tengen.int64) else []
        yield from ((call, kind) for kind in dict.fromkeys([*working_dtypes(call), *extra]))
