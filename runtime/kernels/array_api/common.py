"""What the group's kernels have in common: kinds of dtypes, casts, moving elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

Array = Any
Shape = tuple[int, ...]


def is_complex(xp: Any, array: Array) -> bool:
    """Whether the elements are complex numbers."""
    return bool(xp.isdtype(array.dtype, "complex floating"))


def is_integral(xp: Any, array: Array) -> bool:
    """Whether the elements are integers; bools are none."""
    return bool(xp.isdtype(array.dtype, "integral"))


def is_bool(xp: Any, array: Array) -> bool:
    """Whether the elements are truth values."""
    return bool(xp.isdtype(array.dtype, "bool"))


def is_real(xp: Any, array: Array) -> bool:
    """Whether the elements are real floating-point numbers."""
    return bool(xp.isdtype(array.dtype, "real floating"))


def is_array(value: Any) -> bool:
    """Whether it is an array, and no number."""
    return hasattr(value, "dtype")


def cast(xp: Any, array: Array, dtype: Any) -> Array:
    """The array as ``dtype``; a complex number loses its imaginary part when that is real."""
    if dtype is None or array.dtype == dtype:
        return array
    if is_complex(xp, array) and not xp.isdtype(dtype, ("complex floating", "bool")):
        array = xp.real(array)
    return xp.astype(array, dtype)


def number_of(value: Any, dtype: Any, xp: Any) -> Any:
    """A Python number as the dtype holds it."""
    if xp.isdtype(dtype, "bool"):
        return bool(value)
    if xp.isdtype(dtype, "integral"):
        return int(value)
    if isinstance(value, complex) and not xp.isdtype(dtype, "complex floating"):
        return value.real
    return complex(value) if xp.isdtype(dtype, "complex floating") else float(value)


def as_array(xp: Any, value: Any, like: Array) -> Array:
    """A number as a 0-d array of the dtype of ``like``; an array as it is."""
    return value if is_array(value) else xp.scalar(number_of(value, like.dtype, xp), like.dtype)


def both(xp: Any, a: Any, b: Any) -> tuple[Array, Array]:
    """Two operands, of which one is an array, as arrays that broadcast."""
    return as_array(xp, a, b), as_array(xp, b, a)


def in_range(begin: int, end: int) -> Callable[[Array], Array]:
    """What tells of each number whether it is at least ``begin`` and below ``end``."""
    return lambda numbers: (numbers >= begin) & (numbers < end)


def flat(xp: Any, array: Array) -> Array:
    """All elements in one dimension."""
    return xp.reshape(array, (-1,)) if array.ndim != 1 else array


def moved(xp: Any, function: Callable[..., Any], array: Array, *arguments: Any) -> Array:
    """What a NumPy kernel that only moves elements makes of an array, by the places that they come from.

    The places depend on shapes alone, so that no value is asked for.
    """
    places = _places(function, array.shape, arguments)
    return take_places(xp, array, places)


def take_places(xp: Any, array: Array, places: Any) -> Array:
    """The elements at flat places, a NumPy array, in its shape."""
    if not array.size:
        return xp.zeros(places.shape, dtype=array.dtype)
    return xp.at(flat(xp, array), xp.constant(places))


def moved_back(
    xp: Any, function: Callable[..., Any], grad: Array, sizes: Sequence[int], *arguments: Any
) -> Array:
    """Zeros of shape ``sizes`` to which each element is added where ``moved`` took it from."""
    places = _places(function, tuple(sizes), arguments)
    zeros = xp.zeros((prod(sizes),), dtype=grad.dtype)
    full = xp.broadcast_to(grad, places.shape) if tuple(grad.shape) != places.shape else grad
    return xp.reshape(xp.scatter(zeros, xp.constant(places), full, "add"), tuple(sizes))


def replaced(xp: Any, function: Callable[..., Any], array: Array, source: Array, *arguments: Any) -> Array:
    """The array with ``source`` where ``moved`` takes elements from."""
    places = _places(function, array.shape, arguments)
    source = xp.broadcast_to(cast(xp, source, array.dtype), places.shape)
    result = xp.scatter(flat(xp, array), xp.constant(places), source)
    return xp.reshape(result, array.shape)


def _places(function: Callable[..., Any], shape: Shape, arguments: tuple[Any, ...]) -> Any:
    return np.asarray(function(np.arange(prod(shape), dtype=np.int64).reshape(shape), *arguments))


# -- kernels of the host as the group's --------------------------------------------------------------


def made_on_host(function: Callable[..., Any]) -> Callable[..., Array]:
    """A kernel that makes an array of numbers alone; the dtype is its last argument."""

    def kernel(xp: Any, *arguments: Any) -> Array:
        *numbers, dtype = arguments
        return cast(xp, xp.from_host(function(*numbers, xp.numpy_dtype(dtype))), dtype)

    return kernel


def by_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of which only the values say how large the results are; lists of arrays are taken, too."""

    def kernel(xp: Any, *arguments: Any) -> Any:
        given = [[xp.to_host(a) for a in v] if isinstance(v, list) else v for v in arguments]
        results = xp.on_host(function, None, *given)
        return results[0] if len(results) == 1 else tuple(results)

    return kernel
