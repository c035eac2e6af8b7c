"""How views of arrays that cannot change are made, read anew and written back.

Such an array has no memory that a view could share. So a view remembers the operator that made it, and its
arguments. The operator's ``write_back`` rule says what a write to the view makes of the array.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..autograd.grad_mode import no_grad
from ..autograd.view import as_view
from ..autograd.writes import share_view
from ..core.device import as_device
from ..core.interception import active, layers_hidden
from ..core.scalar_type import int64
from ..core.tensor_base import TensorBase
from ..kernels.layout import may_overlap
from .legacy_type_dispatch import dataless_device, type_of
from .operator import by_method


class Operand:
    """What stands for a tensor where the method of a view operator is to give arrays."""

    __slots__ = ("_array", "_type")

    def __init__(self, array: Any, T: Any) -> None:
        self._array = array
        self._type = T


class ViewStep:
    """A call of a view operator: the Type and shape of what it views, the method, the other arguments.

    ``several`` says that it returns a list.
    """

    def __init__(
        self, T: Any, method: str, rest: tuple[Any, ...], shape: tuple[int, ...], several: bool = False
    ) -> None:
        self.type = T.recorded(False)
        self.method = method
        self.rest = rest
        self.shape = shape
        self.several = several

    def read(self, array: Any) -> tuple[Any, ...]:
        """The views of an array."""
        found = getattr(self.type, self.method)(Operand(array, self.type), *self.rest)
        return found if found.__class__ is tuple else (found,)

    def write(self, array: Any, number: int, value: Any) -> Any:
        """The array after ``value`` was written to the view of this number."""
        if active:
            with layers_hidden(), no_grad():
                return self._write(array, number, value)
        with no_grad():
            return self._write(array, number, value)

    def _write(self, array: Any, number: int, value: Any) -> Any:
        T = self.type.twin
        given: Any = T.of_array(value).wrap(value)
        if self.several:
            given = [T.wrap(part) for part in self.read(array)]
            given[number] = T.wrap(value)
        written = self._rule(T.wrap(array), *self.rest, given)
        return self.type.backend.lib.cast(written._array, self.type.dtype)

    def is_writable(self) -> bool:
        """Whether ``write`` is possible."""
        return self._rule is not None

    @cached_property
    def _rule(self) -> Any:
        from tengen.generated.write_backs import WRITE_BACKS

        operator = by_method(self.method)
        return None if operator is None else WRITE_BACKS.get(operator.name)

    def spread(self, number: int, value: Any) -> Any:
        """Zeros to which ``value`` is added where the view of this number lies."""
        lib = self.type.backend.lib
        if self._rule is not None and not self._overlaps(number):
            return self.write(lib.zeros(self.shape, self.type.dtype), number, value)
        places = self._places(number)
        flat = lib.zeros((int(np.prod(self.shape)),), self.type.dtype)
        given = lib.xp.reshape(lib.broadcast_to(value, places.shape), (-1,))
        added = lib.xp.scatter(flat, lib.xp.constant(places.reshape(-1)), given, "add")
        return lib.xp.reshape(added, self.shape)

    def _overlaps(self, number: int) -> bool:
        found = self.geometry(None, number)
        if found is None:
            return False  # another shape of elements that stand in order
        return may_overlap(tuple(found._array.shape), found._type.backend.lib.strides(found._array))

    def _places(self, number: int) -> Any:
        """Which elements of the source, in order, the view shows: an array of NumPy's."""
        host = type_of(int64, as_device(None), False)
        numbers: TensorBase = host.wrap(np.arange(int(np.prod(self.shape))).reshape(self.shape))
        found = getattr(host, self.method)(numbers, *self.rest)
        return (found[number] if found.__class__ is tuple else found)._array

    def geometry(self, source: Any, number: int) -> Any:
        """The view of this number as a tensor without data; None where strided memory has no such view."""
        T = type_of(self.type.scalar_type, dataless_device(), False)
        if source is None:
            source = T.wrap(T.backend.lib.empty(self.shape, T.dtype))
        try:
            found = getattr(T, self.method)(source, *self.rest)
        except (RuntimeError, ValueError, IndexError):
            return None
        return found[number] if found.__class__ is tuple else found


def shared_view(source: Any, array: Any, T: Any, method: str, rest: tuple[Any, ...]) -> Any:
    """A view of ``source``, whose array cannot change; the array itself for an Operand."""
    if source.__class__ is Operand:
        return array
    out = as_view(source, array, T)
    share_view(source, out, ViewStep(source._type, method, rest, tuple(source._array.shape)), 0)
    return out


def shared_views(source: Any, arrays: Any, T: Any, method: str, rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """The views that an operator returns together, as ``shared_view``."""
    if source.__class__ is Operand:
        return tuple(arrays)
    step = ViewStep(source._type, method, rest, tuple(source._array.shape), True)
    found = []
    for number, array in enumerate(arrays):
        found.append(as_view(source, array, T, True))
        share_view(source, found[-1], step, number)
    return tuple(found)
