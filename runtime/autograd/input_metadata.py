"""What a gradient must be where it arrives: reduced to the shape there, cast to the type there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..core.size import Size
from .linear_maps import Cast, SumTo, apply_linear
from .node import Node

Shape = tuple[int, ...]


class InputMetadata:
    """What a gradient is where a Node receives it, as users see it."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, shape: Shape, T: Any) -> None:
        self.shape = Size(shape)
        self.dtype = T.scalar_type
        self.device = T.backend.device

    def __repr__(self) -> str:
        return f"InputMetadata(shape={list(self.shape)}, dtype={self.dtype}, device={self.device})"


def fit_array(value: Any, shape: Shape, T: Any, source: Node, index: int) -> Any:
    """The array ``value`` with ``shape`` and the dtype of ``T``.

    Raises RuntimeError when ``shape`` does not broadcast to the array's shape. ``source`` and
    ``index`` name the gradient in the message.
    """
    if value.shape != shape:
        if not broadcasts_to(shape, value.shape):
            raise _misfit(value.shape, shape, source, index)
        value = T.accepted(value).backend.lib.sum_to(value, shape)
    if value.dtype is not T.dtype:
        T = T.accepted(value)
        value = T.backend.lib.cast(value, T.dtype)
    return value


def fit_tensor(value: Any, shape: Shape, T: Any, source: Node, index: int) -> Any:
    """As ``fit_array``, for a Tensor, and differentiable."""
    found: Shape = value._array.shape
    if found != shape:
        if not broadcasts_to(shape, found):
            raise _misfit(found, shape, source, index)
        value = apply_linear(SumTo(value._type, found, shape), value)
    if value._array.dtype is not T.dtype:
        T = T.accepted(value._array)
        value = value if T is value._type else apply_linear(Cast(value._type, T), value)
    return value


@lru_cache(maxsize=1024)  # a program has few pairs of shapes, and meets them again in every pass
def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Whether an array of ``shape`` broadcasts to ``target``."""
    if len(shape) > len(target):
        return False
    tail = target[len(target) - len(shape) :]
    return shape == tail or all([n in (1, m) for n, m in zip(shape, tail, strict=True)])


def as_array(value: Any, T: Any) -> Any:
    """``value`` as a proper array: a 0-d gradient may be a scalar of the array library."""
    if value.shape == () and not hasattr(value.dtype, "layout"):
        T = T.of_array(value)
        return T.backend.lib.full((), value, T.dtype)
    return value


def wrapped(value: Any, T: Any) -> Any:
    """A gradient that arrives where one of ``T`` is awaited, as a Tensor, in the layout that it has."""
    array = as_array(value, T)
    return T.of_array(array).wrap(array)


def _misfit(found: Shape, expected: Shape, source: Node, index: int) -> RuntimeError:
    return RuntimeError(
        f"Function {source.name()} returned an invalid gradient at index {index} - got {list(found)} but "
        f"expected shape compatible with {list(expected)}"
    )
