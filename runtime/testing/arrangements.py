"""Inputs of other layouts than the samples', and whether two results are laid out alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.layout import extent
from . import declared
from .samples import Array, Call, Random


def _ordered(array: Array, order: tuple[int, ...]) -> Array:
    """The same values, whose dimensions stand in memory in this order, the outermost first."""
    if array.ndim < 2:
        return array.copy()
    return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))


def _channels_last(array: Array) -> Array:
    n = array.ndim
    return _ordered(array, (0, *range(2, n), 1)) if n > 2 else _ordered(array, tuple(range(n))[::-1])


def _rotated(array: Array) -> Array:
    n = array.ndim
    return _ordered(array, (n - 1, *range(n - 1))) if n else array.copy()


def _stepped(array: Array) -> Array:
    if array.ndim == 0:
        return array.copy()
    view = np.zeros([2 * n for n in array.shape], array.dtype)[(slice(None, None, 2),) * array.ndim]
    view[...] = array
    return view


def _expanded(array: Array) -> Array:
    return np.broadcast_to(array[:1].copy(), array.shape) if array.ndim and array.size else array.copy()


#: By name, what makes an array of the same shape with another layout; expanding repeats values.
LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "contiguous": lambda array: array.copy(),
    "transposed": lambda array: _ordered(array, tuple(range(array.ndim))[::-1]),
    "channels last": _channels_last,
    "rotated": _rotated,
    "stepped": _stepped,
    "transposed and stepped": lambda array: _stepped(array.T).T,
    "expanded": _expanded,
}
#: Larger inputs, on which an operator with smaller samples is tried too.
WIDE = ((2, 3, 4), (2, 3, 4, 5))


@dataclass(frozen=True)
class Arrangement:
    """The inputs of a call as arrays, in a layout."""

    call: Call
    text: str
    arrays: list[Any]


def arrangements(name: str) -> Iterator[Arrangement]:
    """An operator's calls, and wider ones: all inputs, the first or the others in each of the layouts,
    where that differs.
    """
    for call in declared.calls(name):
        kind = declared.working_dtypes(call)[:1]
        for wider in (call, *_widened(call)) if kind else ():
            try:
                arrays = wider.arrays(kind[0])
            except ValueError:  # a sample of another shape cannot be, as one of a positive definite matrix
                continue
            count, seen = _count(arrays), set()
            for layout in LAYOUTS:
                for which in ("all", "first", "others") if count > 1 else ("all",):
                    arranged = _arranged(arrays, layout, which)
                    strides = tuple(_strides(arranged))
                    if strides in seen:  # of one dimension, transposed is contiguous
                        continue
                    seen.add(strides)
                    shapes = "" if wider is call else f" of {wider.values[0].shape}"
                    yield Arrangement(wider, f"{call}{shapes}, {which} {layout}", arranged)


def _widened(call: Call) -> Iterator[Call]:
    first = call.values[0] if call.values else None
    # What a backward operator is given belongs together, by shapes that it does not ask for again.
    if not isinstance(first, Random) or str(call.operator.name).endswith("_backward"):
        return
    for shape in WIDE:
        values = [
            replace(v, shape=shape) if isinstance(v, Random) and v.shape == first.shape else v
            for v in call.values
        ]
        yield replace(call, values=tuple(values))


def _count(arrays: list[Any]) -> int:
    return sum(_count(a) if isinstance(a, list) else isinstance(a, np.ndarray) for a in arrays)


def _strides(arrays: list[Any]) -> Iterator[tuple[int, ...]]:
    for each in arrays:
        if isinstance(each, list):
            yield from _strides(each)
        elif isinstance(each, np.ndarray):
            yield each.strides


def _arranged(arrays: list[Any], layout: str, which: str) -> list[Any]:
    seen = 0

    def one(value: Any) -> Any:
        nonlocal seen
        if isinstance(value, list):
            return [one(v) for v in value]
        if not isinstance(value, np.ndarray):
            return value
        seen += 1
        chosen = which == "all" or (which == "first") is (seen == 1)
        return LAYOUTS[layout](value) if chosen else value.copy()

    return [one(v) for v in arrays]


def tensors(arrays: list[Any], make: Callable[[Array], Any]) -> list[Any]:
    """The values with a tensor, whose memory is its own, in the place of each array.

    ``make`` makes one of a one-dimensional array; its ``as_strided`` does the rest.
    """

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(v) for v in value]
        if not isinstance(value, np.ndarray):
            return value
        if not value.size:
            return make(np.zeros(value.shape, value.dtype))
        strides = tuple(s // value.itemsize for s in value.strides)
        reach = extent(value.shape, strides)
        memory = np.lib.stride_tricks.as_strided(value, (reach,), (value.itemsize,)).copy()
        return make(memory).as_strided(value.shape, strides)

    return [one(v) for v in arrays]


def strides_that_matter(tensor: Any) -> tuple[int, ...]:
    """The strides of dimensions of more than one element; none of what is empty."""
    shape = tuple(tensor.shape)
    if 0 in shape:
        return ()
    return tuple(s for n, s in zip(shape, tensor.stride(), strict=True) if n != 1)
