"""SymInt: a size that is not one number, as that of a ragged dimension."""

from __future__ import annotations

from itertools import count
from typing import Any, Final
from weakref import WeakValueDictionary, finalize

from .error_notes import running_composite

_numbers: Final = count(1)


class RaggedSizeError(RuntimeError):
    """A number was asked for, and a size is ragged."""


def ragged_size(name: str, dim: int, size: Any) -> RaggedSizeError:
    """The error of an operator that needs one number as the size of a dimension."""
    return RaggedSizeError(
        f"{name}: not supported for a nested tensor on dim={dim}, of the ragged size {size}"
    )


class SymInt:
    """The size of a ragged dimension, shown as ``j1``: one number for each part.

    Two are equal if they are of the same parts. A multiple, as strides have, is shown as ``3*j1``.
    """

    __module__ = "tengen"
    __slots__ = ("__weakref__", "_base", "_factor", "_name")

    def __init__(self, name: str = "", base: Any = None, factor: int = 1) -> None:
        self._base: Any = self if base is None else base
        self._factor = factor
        self._name = name or f"j{next(_numbers)}"

    def __repr__(self) -> str:
        return self._name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SymInt):
            return False
        return self._base is other._base and self._factor == other._factor

    def __hash__(self) -> int:
        return hash((id(self._base), self._factor))

    def __bool__(self) -> bool:
        return True

    def __mul__(self, factor: int) -> SymInt:
        if isinstance(factor, (list, tuple)):
            self._no_number()
        if factor.__class__ is not int:
            return NotImplemented
        if factor == 1:
            return self
        total = self._factor * factor
        return SymInt(f"{total}*{self._base._name}", self._base, total)

    __rmul__ = __mul__

    def _no_number(self, *_: Any) -> Any:
        name = running_composite()
        raise RaggedSizeError(
            f"{name and name + ': '}the size {self} of a ragged dimension is not one number: what needs that "
            "is not supported on this dimension of a nested tensor"
        )

    def _no_order(self, relation: str) -> Any:
        if running_composite():
            self._no_number()
        raise ValueError(f"{relation}: relation is indeterminate")

    __neg__ = __add__ = __radd__ = __rmod__ = __sub__ = __rsub__ = __floordiv__ = __rfloordiv__ = _no_number
    __truediv__ = __rtruediv__ = __mod__ = __rmod__ = __divmod__ = __pow__ = __index__ = __int__ = (
        __float__
    ) = _no_number

    def __ge__(self, other: Any) -> bool:
        """A ragged size may be any: all that is known is that it is no special one, as 0 and 1 are."""
        if self == other or (other.__class__ is int and other <= 2 and self._factor > 0):
            return True
        return bool(self._no_order("ge"))

    def __gt__(self, other: Any) -> bool:
        if self == other:
            return False
        if other.__class__ is int and other <= 1 and self._factor > 0:
            return True
        return bool(self._no_order("gt"))

    def __lt__(self, other: Any) -> bool:
        return not self.__ge__(other)

    def __le__(self, other: Any) -> bool:
        return not self.__gt__(other)


_of_arrays: Final[dict[tuple[int, int], SymInt]] = {}
_of_sizes: Final[WeakValueDictionary[tuple[int, ...], SymInt]] = WeakValueDictionary()


def of_arrays(offsets: Any, lengths: Any = None) -> SymInt:
    """The size that offsets, and lengths, stand for: one for each pair, as long as there are these arrays."""
    key = id(offsets), id(lengths)
    found = _of_arrays.get(key)
    if found is None:
        found = _of_arrays[key] = SymInt()
        for array in (offsets, lengths):
            if array is not None:
                finalize(array, _of_arrays.pop, key, None)
    return found


def of_sizes(sizes: tuple[int, ...]) -> SymInt:
    """The size that is another one in each part; it is shown as these."""
    found = _of_sizes.get(sizes)
    if found is None:
        found = _of_sizes[sizes] = SymInt(repr(sizes))
    return found
