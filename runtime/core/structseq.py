"""StructSequence: the named tuples that operators return, as ``tengen.return_types.max``."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, ClassVar

from .package_name import package


def field(index: int) -> Any:
    """The property of the item ``index``."""
    return property(itemgetter(index))


class StructSequence(tuple[Any, ...]):
    """A tuple whose items have names; made of one sequence, as in PyTorch."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        items = ",\n".join(f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True))
        return f"{package.name}.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)
