"""The shape of a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

from .package_name import package
from .sym_int import SymInt


class Size(tuple[int, ...]):
    """A tuple of ints, ``tengen.Size([2, 3])``. Slices, sums and products of it are again Sizes."""

    __module__ = "tengen"
    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        values = []
        for index, value in enumerate(sizes):
            if value.__class__ is SymInt:
                values.append(value)
                continue
            try:
                values.append(value.__index__())
            except (AttributeError, TypeError):
                raise TypeError(
                    f"tengen.Size() takes an iterable of 'int' (item {index} is '{type(value).__name__}')"
                ) from None
        return tuple.__new__(cls, values)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"{package.name}.Size([{', '.join([str(n) for n in self])}])"

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Size: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> int | Size:
        if isinstance(index, slice):
            return of_shape(tuple.__getitem__(self, index))
        return tuple.__getitem__(self, index)

    def __add__(self, other: object, /) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to tengen.Size")
        return Size((*self, *other))

    def __radd__(self, other: object, /) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size((*other, *self))

    def __mul__(self, count: SupportsIndex, /) -> Size:
        return of_shape(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def of_shape(shape: tuple[int, ...]) -> Size:
    """``shape``, known to be ints, as a Size."""
    return tuple.__new__(Size, shape)
