"""Python data as NumPy arrays: numbers, nested sequences of them, with tensors and arrays inside.

Inference of the scalar type, the conversions allowed and the errors are PyTorch's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from operator import index
from typing import Any, Final

import numpy as np

from ..core.numbers import FITTING, NUMBERS
from ..core.promotion import promote_types
from ..core.scalar_type import (
    bool_,
    default_complex,
    dtype,
    from_array_dtype,
    get_default_dtype,
    int64,
    of_python_type,
    uint64,
)
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from ..kernels.cpu import cast

Array = np.ndarray[Any, Any]

_LISTS: Final = frozenset({list, tuple})

#: By the category of the wanted type: into which type NumPy may convert numbers that fit it at once.
_WORKING: Final = {
    "bool": np.dtype(bool),
    "integral": np.dtype(np.int64),
    "reduced": np.dtype(np.float64),
    "floating": np.dtype(np.float64),
    "complex": np.dtype(np.complex128),
    "unsigned": np.dtype(np.int64),
    "float8": np.dtype(np.float64),
    "reduced_complex": np.dtype(np.complex128),
}
_INTEGERS: Final = ("integral", "unsigned")
_MAX_DIMS: Final = 128
_MAX_FAST_DEPTH: Final = 32  # deeper lists, endless ones among them, go the careful way


def array_of(data: Any, wanted: dtype | None) -> tuple[Array, dtype]:
    """A new array with the elements of ``data``, and its scalar type: ``wanted``, or as inferred.

    TypeError for what is no number, ValueError for ragged sequences and for integers beyond
    int64, RuntimeError where a number does not fit the wanted type.
    """
    kinds = _plain_kinds(data, 0)
    if kinds is not None:
        target = _inferred_of(kinds) if wanted is None else wanted
        if kinds <= FITTING[target.category]:
            try:
                array = np.array(data, _working(target))
            except (ValueError, OverflowError, TypeError):
                pass  # ragged, or too large: the careful way says what is wrong
            else:
                if target.category not in _INTEGERS or _in_range(array, target):
                    return _narrowed(array, target), target
    return _carefully(data, wanted)


# -- the fast way: lists and tuples of Python numbers


def _plain_kinds(data: Any, depth: int) -> set[type] | None:
    """The classes of the numbers in ``data``; None when there is anything but lists and numbers."""
    kind = type(data)
    if kind not in _LISTS:
        return {kind} if kind in NUMBERS else None
    kinds = set(map(type, data))
    if kinds <= NUMBERS:
        return kinds
    if depth == _MAX_FAST_DEPTH or not kinds <= _LISTS:
        return None
    found: set[type] = set()
    for row in data:
        inner = _plain_kinds(row, depth + 1)
        if inner is None:
            return None
        found |= inner
    return found


def _inferred_of(kinds: set[type]) -> dtype:
    if complex in kinds:
        return default_complex()
    if float in kinds or not kinds:
        return get_default_dtype()
    return int64 if int in kinds else bool_


def _in_range(array: Array, target: dtype) -> bool:
    """Whether all of an int64 array fits; negative numbers wrap into unsigned types, as in PyTorch."""
    if target is int64 or target is uint64 or not array.size:
        return True
    lowest, highest = _limits(target)
    return bool(array.min() >= lowest and array.max() <= highest)


def _working(target: dtype) -> np.dtype[Any]:
    """The NumPy dtype through which numbers become of the wanted type."""
    return target.array_dtype if target is uint64 else _WORKING[target.category]


def _limits(target: dtype) -> tuple[int, int]:
    bits = 8 * target.itemsize
    if target.is_signed:
        return -(1 << bits - 1), (1 << bits - 1) - 1
    return 1 - (1 << bits), (1 << bits) - 1


def _narrowed(array: Array, target: dtype) -> Array:
    if array.dtype == target.array_dtype:
        return array
    if not array.size:
        return np.empty(array.shape, target.array_dtype)
    with np.errstate(all="ignore"):
        return cast(array, target.array_dtype)


# -- the careful way: anything that PyTorch takes


def _carefully(data: Any, wanted: dtype | None) -> tuple[Array, dtype]:
    if isinstance(data, (str, bytes)):
        _infer(data)  # raises
    sizes = _sizes(data)
    target = wanted or _infer(data)
    if 0 in sizes:
        return np.empty(sizes, target.array_dtype), target  # PyTorch looks no further either
    flat: list[Any] = []
    _collect(data, sizes, 0, _leaf_of(target), flat)
    array = np.array(flat, _working(target)).reshape(sizes)
    return _narrowed(array, target), target


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (list, tuple, str, bytes, np.ndarray)):
        return True
    if isinstance(value, (TensorBase, np.generic, dict)):
        return False
    return hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, type)


def _sizes(data: Any) -> tuple[int, ...]:
    """The shape that the first elements promise."""
    sizes: list[int] = []
    while _is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > _MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not sizes[-1]:
            break
        data = data[0]
    return tuple(sizes)


def _infer(data: Any) -> dtype:
    """The scalar type of numbers, arrays and tensors, and what those in a sequence promote to."""
    if isinstance(data, TensorBase):
        found: dtype = data._type.scalar_type
        return found
    if isinstance(data, (str, bytes)):
        name = type(data).__name__
        raise TypeError(
            f"new(): invalid data type '{'numpy.' if isinstance(data, np.generic) else ''}{name}'"
        )
    if isinstance(data, (np.generic, np.ndarray)):
        return checked_array_dtype(data.dtype)
    if isinstance(data, (int, float, complex)):
        return of_python_type(type(data))
    if not _is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    result: dtype | None = None
    for item in data:
        if item is data:
            raise TypeError("new(): self-referential lists are incompatible")
        found = _infer(item)
        result = found if result is None else promote_types(result, found)
    return get_default_dtype() if result is None else result


def _collect(data: Any, sizes: tuple[int, ...], depth: int, leaf: Any, flat: list[Any]) -> None:
    """Append the elements of ``data``, whose shape must be ``sizes[depth:]``, to ``flat``."""
    if depth and isinstance(data, np.ndarray):
        _warn_of_arrays()
    if depth == len(sizes):
        flat.append(leaf(data))
        return
    try:
        items = list(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if len(items) != sizes[depth]:
        raise ValueError(f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(items)})")
    for item in items:
        _collect(item, sizes, depth + 1, leaf, flat)


_warned: list[bool] = []


def _warn_of_arrays() -> None:
    """Warn, once or where warnings are always given, of a sequence that has arrays."""
    from ..settings import is_warn_always_enabled  # seldom needed

    if not _warned or is_warn_always_enabled():
        _warned[:] = [True]
        warnings.warn(
            "A tensor is made from a list of numpy.ndarrays, which is extremely slow: numbers are taken out "
            "one by one. Make one array of them first, with numpy.array() or numpy.stack().",
            UserWarning,
            stacklevel=program_stacklevel(),
        )


def _leaf_of(target: dtype) -> Callable[[Any], Any]:
    """What makes a Python number for the scalar type of one element, or raises."""
    if target.category in _INTEGERS:
        return partial(_integer, target)
    if target.category == "bool":
        return _boolean
    return _complex if target.is_complex else _float


def _integer(target: dtype, value: Any) -> int:
    lowest, highest = _limits(target)
    if target is uint64:  # takes integers only, and these do not wrap
        number = index(value)
        if not 0 <= number < 2**64:
            what = "can't convert negative int to unsigned" if number < 0 else "int too big to convert"
            raise OverflowError(f"new(): {what}: {number} for {target}")
        return number
    if isinstance(value, float):
        # unlike a negative integer, a negative float does not wrap
        if not (lowest if target.is_signed else 0) <= value <= highest:
            raise RuntimeError(f"value cannot be converted to type {target.name} without overflow")
        return int(value)
    number = index(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if not lowest <= number <= highest:
        raise RuntimeError(f"value cannot be converted to type {target.name} without overflow")
    return number


def _boolean(value: Any) -> bool:
    if isinstance(value, (float, complex, np.bool)):
        return bool(value)
    return index(value) != 0


def _float(value: Any) -> float:
    if isinstance(value, complex) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def _complex(value: Any) -> complex:
    return complex(value) if hasattr(value, "__complex__") else complex(_float(value))


def checked_array_dtype(array_dtype: np.dtype[Any]) -> dtype:
    """The scalar type of a NumPy dtype.

    TypeError when there is none, ValueError for the byte order of another machine.
    """
    try:
        return from_array_dtype(array_dtype)
    except KeyError:
        pass
    if not array_dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    supported = ", ".join(d.array_dtype.name for d in dict.fromkeys(dtype.registry.values()))
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{array_dtype.type.__name__}. "
        f"The only supported types are: {supported}."
    )
