"""Checks of the logical rank: whether an operator takes one slice, with as many dimensions as that has.

The physical tensor has one dimension more. Where an operator wants a matrix and each slice is a vector, it
would take the batch of vectors for the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.device import device
from ..core.interception import Layer
from ..core.operands import map_tensors
from ..dispatch.legacy_type_dispatch import type_of
from ..kernels.meta.array import MetaArray
from ..kernels.meta.backend import device_name

if TYPE_CHECKING:
    from ..core.protocols import Operator
    from .level import VmapLevel

#: Calls that are no error: an operator, and its arguments, with the ranks of tensors in their place.
_accepted: set[Hashable] = set()
MAX_ACCEPTED = 4096


class _Exclusive(Layer):
    """Runs operators without the other interceptors."""

    observer = True  # before all others

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        return operator.proceed(*arguments)


def check_logical_rank(level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> None:
    """Raise the error of one slice if the operator does not take tensors of the logical ranks.

    The operator is run on meta tensors of the logical shapes; if that is an error, on the slices themselves.
    """
    known = operator.name, *map_tensors(_dimensions, arguments)
    if known in _accepted:
        return
    try:
        with _Exclusive():
            operator(*map_tensors(_on_meta, arguments))
    except Exception:
        with level.lower():
            raise_slice_error(level, operator, arguments)
    if len(_accepted) >= MAX_ACCEPTED:
        _accepted.clear()
    _accepted.add(known)


def _dimensions(tensor: Any) -> int:
    ndim: int = tensor._array.ndim
    return ndim


def _on_meta(tensor: Any) -> Any:
    """A tensor without values, of the shape that the function under vmap sees."""
    array = tensor._array
    return type_of(tensor.dtype, device(device_name)).wrap(MetaArray(array.shape, array.dtype))


def raise_slice_error(level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> None:
    """Raise the error of the first slice that has one: it names logical dimensions and indices."""
    from .batching_loop import loop_over_batch

    try:
        loop_over_batch(level, operator, arguments)
    except Exception as error:
        raise error from None
