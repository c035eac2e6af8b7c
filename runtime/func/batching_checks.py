"""Whether an operator takes examples of so many dimensions, seen before a rule runs it on all of them.

The examples in front are a dimension more: a matrix is wanted, one row of numbers comes for each example, and
the operator would take all rows together for the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.device import device
from ..core.interception import Layer
from ..core.operands import map_tensors
from ..dispatch.legacy_type_dispatch import type_of
from ..native.meta.array import MetaArray
from ..native.meta.backend import device_name

if TYPE_CHECKING:
    from ..dispatch.operator import Operator
    from .level import VmapLevel

#: What was seen to be no error: an operator, and its arguments, tensors as numbers of dimensions.
_taken: set[Hashable] = set()
KEPT = 4096


class _Alone(Layer):
    """Runs operators with nothing else looking on."""

    observer = True  # before all others

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        return operator.proceed(*arguments)


def check_dimensions(level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> None:
    """Raise what one example raises if the operator does not take examples of so many dimensions.

    The operator is run on descriptions of one example; if that is an error, on the examples themselves.
    """
    known = operator.name, *map_tensors(_dimensions, arguments)
    if known in _taken:
        return
    try:
        with _Alone():
            operator(*map_tensors(_described, arguments))
    except Exception:
        with level.working():
            raise_of_one(level, operator, arguments)
    if len(_taken) >= KEPT:
        _taken.clear()
    _taken.add(known)


def _dimensions(tensor: Any) -> int:
    ndim: int = tensor._array.ndim
    return ndim


def _described(tensor: Any) -> Any:
    """A tensor without values, of the shape that the function under vmap sees."""
    array = tensor._array
    return type_of(tensor.dtype, device(device_name)).wrap(MetaArray(array.shape, array.dtype))


def raise_of_one(level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> None:
    """Raise what the first example that is an error raises: its dimensions and indices are the user's."""
    from .batching_loop import one_by_one

    try:
        one_by_one(level, operator, arguments)
    except Exception as error:
        raise error from None
