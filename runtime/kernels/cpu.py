"""The CPU backend: NumPy. ``tengen.dispatch.backend.Library`` says what each function does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from . import sums
from .allocator import keep_freed_memory
from .copies import in_rows
from .dtypes import ADDED, COMPLEX64, FLOAT32, REDUCED, is_complex32, is_float8
from .layout import check_window, contiguous_strides, extent, packed_strides, preserved_strides
from .reduced import converted

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

device_name = "cpu"
dlpack_device = (1, 0)  # kDLCPU

keep_freed_memory()

zeros = np.zeros
ones = np.ones
empty = np.empty


def full(shape: Shape, value: Any, dtype: np.dtype[Any]) -> Array:
    if not shape and dtype.char in "?lfdFD":  # a number beside a tensor: often, so at once
        return np.array(value, dtype)
    return np.full(shape, cast(np.asarray(value), dtype), dtype)


def empty_strided(shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> Array:
    memory = np.empty(extent(shape, strides), dtype)
    step = dtype.itemsize
    return np.ndarray(shape, dtype, buffer=memory, strides=tuple([step * s for s in strides]))


def add(a: Array, b: Array) -> Array:
    # ml_dtypes' own addition rounds once, as a sum in float32 does
    return np.add(a, b, out=...)


def add_(a: Array, b: Array) -> Array:
    return np.add(a, b, out=a)


@lru_cache(maxsize=1024)  # a program has few pairs of shapes, and meets them again in every pass
def _summed(found: Shape, shape: Shape) -> tuple[int, ...]:
    """The axes over which ``sum_to`` adds."""
    lead = len(found) - len(shape)
    return (*range(lead), *[lead + i for i, n in enumerate(shape) if n == 1 and found[lead + i] != 1])


def sum_to(a: Array, shape: Shape) -> Array:
    if a.shape == shape:
        return a
    axes = _summed(a.shape, shape)
    if a.dtype.char in sums.SUMMED:
        total = sums.sum_floats(a, axes if len(axes) < a.ndim else None, False)
    elif is_complex32(a.dtype):
        return cast(sum_to(cast(a, COMPLEX64), shape), a.dtype)
    else:
        total = np.add.reduce(a, axes, a.dtype)
    return np.asarray(total).reshape(shape)


def cast(a: Array, dtype: np.dtype[Any]) -> Array:
    if a.dtype == dtype:
        return a
    if dtype.isbuiltin == ADDED or a.dtype.isbuiltin == ADDED:
        if is_float8(a.dtype):
            from .float8 import to_float32

            return cast(to_float32(a), dtype)
        if is_float8(dtype):
            from .float8 import to_float8

            return to_float8(cast(a, FLOAT32), dtype)
        if is_complex32(a.dtype) and dtype != COMPLEX64:
            a = cast(a, COMPLEX64)
        if is_complex32(dtype) and a.dtype != COMPLEX64:
            a = cast(a, COMPLEX64)
    if a.dtype.kind == "c" and dtype.kind not in "cb" and not is_complex32(dtype):
        a = a.real
    if a.dtype.kind == "f":
        if a.dtype.itemsize == 8 and dtype.char in REDUCED:
            a = a.astype(np.float32)  # rounded twice, as torch does
        elif dtype.char == "B":
            a = a.astype(np.int64)  # so that negative numbers wrap, whatever the processor does
    return converted(a, dtype) if a.flags.forc and _numpy_keeps_strides(a) else _copied(a, dtype)


def _numpy_keeps_strides(a: Array) -> bool:
    """Whether NumPy gives a copy the strides that PyTorch gives it.

    It forgets those of dimensions of size 1 and of arrays without elements, and knows no order of those that
    are broadcast.
    """
    if 1 not in a.shape and 0 not in a.strides and a.size:
        return True
    return a.flags.c_contiguous and a.strides == packed_strides(a.shape, a.itemsize)


def _copied(a: Array, dtype: np.dtype[Any]) -> Array:
    """The elements in fresh dense memory, the dimensions in the order that they have in ``a``."""
    fresh = empty_strided(a.shape, preserved_strides(a.shape, strides(a)), dtype)
    fresh[...] = a
    return fresh


def copyto(destination: Array, source: Array) -> None:
    if destination.dtype != source.dtype:
        source = cast(source, destination.dtype)
    destination[...] = source  # a third of the time that np.copyto takes for small arrays


def copy(a: Array) -> Array:
    return a.copy("K") if _numpy_keeps_strides(a) else _copied(a, a.dtype)


def contiguous(a: Array) -> Array:
    return in_rows(a)


def is_contiguous(a: Array) -> bool:
    return a.flags.c_contiguous


def strides(a: Array) -> Shape:
    if a.size == 0 and not any(a.strides):  # NumPy's own: a slice has those of the whole
        return contiguous_strides(a.shape)
    step = a.itemsize
    return tuple([s // step for s in a.strides])


class _Memory:
    """Owns, for NumPy, the bytes of somebody's memory that one array reaches over."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, array: Array, writeable: bool) -> None:
        reach = extent(array.shape, array.strides)  # in bytes, but for the last element
        self.owner = array
        self.__array_interface__ = {
            "version": 3,
            "data": (data_ptr(array), not writeable),
            "shape": (reach + array.itemsize - 1 if reach else 0,),
            "typestr": "|u1",
        }


def owned(a: Array, writeable: bool | None = None) -> Array:
    """The same elements as an array whose ``root`` begins and ends with them.

    For what comes from outside: the root of a slice that somebody gives us is, as in PyTorch,
    that slice and not what it was cut from. Strides must not be negative. ``writeable`` is for
    who knows better than NumPy.
    """
    if a.base is None or a.size == 0:
        return a.view(np.ndarray)
    memory = np.asarray(_Memory(a, a.flags.writeable if writeable is None else writeable))
    return np.ndarray(a.shape, a.dtype, memory, 0, a.strides)


def root(a: Array) -> Array:
    owner = a
    while True:
        base: Any = owner.base
        if type(base).__name__ == "DummyArray":  # of numpy.lib.stride_tricks.as_strided
            base = base.base
        if not isinstance(base, np.ndarray):
            break
        owner = base
    memory = owner.ravel(order="K")
    if memory.base is None and owner.size:  # a copy: the owner has gaps
        memory = np.asarray(_Memory(owner, owner.flags.writeable))
    if memory.dtype != a.dtype:
        step = a.itemsize
        whole = memory.view(np.uint8)
        memory = whole[: whole.size // step * step].view(a.dtype)
    return memory


def storage_offset(a: Array) -> int:
    if a.base is None:
        return 0
    return (data_ptr(a) - data_ptr(root(a))) // a.itemsize


def data_ptr(a: Array) -> int:
    address: int = a.__array_interface__["data"][0]
    return address


may_share_memory = np.may_share_memory


def nbytes(a: Array) -> int:
    return a.nbytes


def as_strided(a: Array, size: Shape, strides: Shape, offset: int) -> Array:
    """A view of the memory of ``a``; raises what ``check_window`` does."""
    memory = root(a)
    step = a.itemsize
    if not check_window(size, strides, offset, step, memory.nbytes):
        offset = 0  # nothing of the memory is looked at
    return np.ndarray(
        size, a.dtype, buffer=memory, offset=offset * step, strides=tuple([step * s for s in strides])
    )


broadcast_to = np.broadcast_to


def item(a: Array) -> bool | int | float | complex:
    value: bool | int | float | complex = a.item()
    return value


def from_numpy(a: Array) -> Array:
    return a


def to_numpy(a: Array) -> Array:
    return a


def isnan_any(a: Array) -> bool:
    return a.dtype.kind in "fcVW" and bool(np.isnan(a).any())


def same_layout(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
