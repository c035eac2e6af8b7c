"""What kernels call ``xp`` while a program is made, and the library of the backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tengen.generated.kernels import ROUTINES
from tengen.ir.fuse.nodes import Fill, whole
from tengen.ir.fuse.views import contiguous
from tengen.ir.fuse.writes import scatters
from tengen.ir.lower.instructions import Unlowerable

from ..array_libraries.library import ArrayLibrary, Check, Holds, Like, Namespace
from . import functions
from .arrays import (
    Array,
    astype,
    at_key,
    broadcast_to,
    called,
    constant,
    has_buffer,
    program,
    table,
    whole_array,
)
from .functions import place_of, take


class ProgramNamespace(Namespace):
    """The functions that make nodes, and what libraries do in ways of their own."""

    propagates_nan = True

    def special(self, name: str) -> Callable[..., Any]:
        found = _SPECIAL.get(name)
        if found is None and name in ROUTINES:
            return partial(called, name)
        if found is None:
            raise Unlowerable(f"{name} has no routine")
        return found

    def elementwise(self, wanted: Callable[..., Any]) -> Callable[..., Any]:
        raise Unlowerable("a function of NumPy's arrays")

    def at(self, array: Any, places: Any, axis: int = 0) -> Any:
        return take(array, places, axis)

    def known(self, array: Any) -> Any:
        return array if isinstance(array, np.ndarray) else None

    def checked(self, array: Any, check: Check, holds: Holds | None = None) -> Any:
        if holds is None:
            raise Unlowerable("the values are checked")
        given = astype(array, np.int64) if array.dtype.kind == "i" else array
        condition = holds(given)
        if condition.number or not condition.size:
            return given
        if condition.number is None:
            return Array(program().checked(given.view, condition.view), given.dtype)
        raise Unlowerable("it is an error")

    def scatter(self, array: Any, places: Any, values: Any, how: str = "set", axis: int = 0) -> Any:
        if not scatters(how, array.dtype.name):
            raise Unlowerable(f"{how} at indices")
        shape = (*array.shape[:axis], *places.shape, *array.shape[axis + 1 :])
        at, given = [
            whole_array(x) if isinstance(x.view.node, Fill) else x
            for x in (astype(places, np.int64), broadcast_to(values, shape))
        ]
        before = array if array.number == 0 else whole_array(array)
        return Array(program().scatter(before.view, at.view, given.view, axis, how), array.dtype)

    def put(self, array: Any, key: tuple[Any, ...], values: Any) -> Any:
        return put(array, key, values)

    def on_host(self, function: Callable[..., Any], like: Sequence[Like] | None, *arrays: Any) -> list[Any]:
        raise Unlowerable("a function of NumPy's arrays")

    def to_host(self, array: Any) -> Any:
        if isinstance(array, Array):
            raise Unlowerable("the values are asked for")
        return array

    def constant(self, array: Any) -> Any:
        return table(np.asarray(array))

    def from_host(self, array: Any) -> Any:
        return table(np.array(array))

    def numpy_dtype(self, dtype: Any) -> Any:
        return np.dtype(dtype)

    def random_source(self, generator: Any) -> Any:
        raise Unlowerable("random numbers")


def put(array: Array, key: tuple[Any, ...], values: Array) -> Array:
    """The array with values at a basic key, a copy."""
    frame = at_key(Array(whole(Fill((), "bool"), array.shape), array.dtype), key)
    given = broadcast_to(astype(values, array.dtype), frame.shape)
    part = given if has_buffer(given) else whole_array(given)
    parts = [(part.view, place_of(frame.shape, frame.view.strides, frame.view.offset))] if given.size else []
    if not parts:
        return array
    if array.number != 0:
        parts = [((whole_array(array)).view, place_of(array.shape, contiguous(array.shape), 0)), *parts]
    covered = array.number != 0
    return Array(program().pieces(parts, array.shape, covered), array.dtype)


def _ndtr(x: Array) -> Array:
    return 0.5 * (1 + called("erf", 0.7071067811865476 * x))


def _expit(x: Array) -> Array:
    return 1 / (called("exp", -x) + 1)


_SPECIAL: dict[str, Callable[..., Array]] = {"ndtr": _ndtr, "expit": _expit}


class ProgramLibrary(ArrayLibrary):
    """The library of the backend."""

    def __init__(self) -> None:
        super().__init__(functions, ProgramNamespace(functions))

    def array_dtype(self, numpy_dtype: Any) -> Any:
        return np.dtype(numpy_dtype)

    def nbytes(self, root: Any) -> int:
        return int(root.size * np.dtype(root.dtype).itemsize)

    def from_numpy(self, a: Any) -> Any:
        return constant(np.asarray(a))


library = ProgramLibrary()
