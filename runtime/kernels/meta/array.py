"""``MetaArray``: shape, dtype and strides of an array without its data.

It is the backend array of the ``Meta`` device. It offers the part of ``numpy.ndarray`` that
moves or describes memory, so that a view kernel written for NumPy runs on it unchanged;
whatever would need the data raises ``NotImplementedError``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np

from ..layout import (
    MAX_NUMEL,
    broadcast_shapes as broadcast_shapes,
    check_bytes,
    contiguous_strides,
    extent,
    is_contiguous,
    operand_strides,
    preserved_strides,
    view_strides,
)

Shape = tuple[int, ...]
Key = int | slice | EllipsisType | None

NO_DATA = "Cannot copy out of meta tensor; no data!"


class MetaStorage:
    """The memory that the views of one MetaArray would share: an identity and a size in bytes."""

    __slots__ = ("__weakref__", "nbytes")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class MetaArray:
    """An array without data.

    ``strides`` given and ``element_strides`` kept are in elements; the attribute ``strides`` is in
    bytes, as NumPy's. Arrays that share a ``storage`` are views of the same memory.
    """

    __slots__ = ("__weakref__", "dtype", "element_strides", "offset", "shape", "storage")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        strides: Sequence[int] | None = None,
        offset: int = 0,
        storage: MetaStorage | None = None,
    ) -> None:
        self.shape: Shape = tuple(shape)
        self.dtype = dtype
        self.element_strides: Shape = contiguous_strides(self.shape) if strides is None else tuple(strides)
        self.offset = offset
        if math.prod(self.shape) > MAX_NUMEL:
            raise RuntimeError(f"numel: integer multiplication overflow with sizes={list(self.shape)}")
        if storage is None:
            if strides is None:
                check_bytes(self.shape, dtype.itemsize)
            storage = MetaStorage((offset + self.extent) * dtype.itemsize)
        self.storage = storage

    # ------------------------------------------------------------------------- description

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> Shape:
        """In bytes, as ``numpy.ndarray.strides``."""
        itemsize = self.dtype.itemsize
        return tuple([s * itemsize for s in self.element_strides])

    @property
    def extent(self) -> int:
        """How many elements of memory lie between the first and the last one, both included."""
        return extent(self.shape, self.element_strides)

    @property
    def is_contiguous(self) -> bool:
        return is_contiguous(self.shape, self.element_strides)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, {self.dtype}, {self.element_strides}, {self.offset})"

    # ------------------------------------------------------------------------------- views

    def restrided(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None) -> MetaArray:
        """Another window of the same memory; ``strides`` and ``offset`` in elements."""
        return MetaArray(shape, self.dtype, strides, self.offset if offset is None else offset, self.storage)

    @property
    def T(self) -> MetaArray:
        return self.transpose()

    @property
    def mT(self) -> MetaArray:
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> MetaArray:
        """Axes as separate integers or as one sequence; none reverses them. ValueError unless each axis is
        there once."""
        if not axes or axes == (None,):
            order: Sequence[int] = range(self.ndim - 1, -1, -1)
        else:
            order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        if sorted([d % max(self.ndim, 1) for d in order]) != list(range(self.ndim)):
            raise ValueError("axes don't match array")
        return self.restrided([self.shape[d] for d in order], [self.element_strides[d] for d in order])

    def swapaxes(self, axis1: int, axis2: int) -> MetaArray:
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(order)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> MetaArray:
        """Without the axes, or those of size 1. ValueError for an axis of another size."""
        if axis is None:
            dropped = {d for d, n in enumerate(self.shape) if n == 1}
        else:
            dropped = {d % self.ndim for d in ([axis] if isinstance(axis, int) else axis)}
        if any([self.shape[d] != 1 for d in dropped]):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        kept = [d for d in range(self.ndim) if d not in dropped]
        return self.restrided([self.shape[d] for d in kept], [self.element_strides[d] for d in kept])

    def reshape(self, *shape: Any) -> MetaArray:
        """A view where the strides allow it, else a new array; one size may be -1. ValueError for another
        number of elements."""
        wanted = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        if -1 in wanted:
            known = -math.prod(wanted)
            wanted[wanted.index(-1)] = self.size // known if known else 0
        if math.prod(wanted) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {tuple(wanted)}")
        strides = view_strides(self.shape, self.element_strides, tuple(wanted))
        return MetaArray(wanted, self.dtype) if strides is None else self.restrided(wanted, strides)

    def ravel(self) -> MetaArray:
        return self.reshape(-1)

    def view(self, dtype: Any = None) -> MetaArray:
        """The same bytes; another dtype scales the last dimension, as NumPy's does. Raises ValueError where
        the last dimension has gaps, or no whole number of new elements fits it."""
        new = self.dtype if dtype is None else np.dtype(dtype)
        old_size, new_size = self.dtype.itemsize, new.itemsize
        shape, strides, offset = list(self.shape), list(self.element_strides), self.offset
        if old_size != new_size:
            if not shape or (strides[-1] != 1 and shape[-1] != 1):
                raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
            if (shape[-1] * old_size) % new_size:
                raise ValueError("When changing to a larger dtype, its size must divide the last axis' bytes")
            shape[-1] = shape[-1] * old_size // new_size
            strides = [s * old_size // new_size for s in strides[:-1]] + [1]
            offset = offset * old_size // new_size
        return MetaArray(shape, new, strides, offset, self.storage)

    @property
    def real(self) -> MetaArray:
        return self._component(0) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> MetaArray:
        return self._component(1) if self.dtype.kind == "c" else MetaArray(self.shape, self.dtype)

    def _component(self, index: int) -> MetaArray:
        real = np.dtype(f"f{self.dtype.itemsize // 2}")
        strides = [2 * s for s in self.element_strides]
        return MetaArray(self.shape, real, strides, 2 * self.offset + index, self.storage)

    def __getitem__(self, key: Key | tuple[Key, ...]) -> MetaArray:
        """Basic indexing: integers, slices, ``None`` and ``...``."""
        keys = list(key) if isinstance(key, tuple) else [key]
        missing = self.ndim - sum([k is not None and k is not ... for k in keys])
        if missing < 0:
            raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
        at = keys.index(...) if ... in keys else len(keys)
        keys[at : at + 1] = [slice(None)] * missing
        shape: list[int] = []
        strides: list[int] = []
        offset, d = self.offset, 0
        for k in keys:
            if k is None:
                shape.append(1)
                strides.append(0)
                continue
            n, s = self.shape[d], self.element_strides[d]
            if isinstance(k, slice):
                start, stop, step = k.indices(n)
                shape.append(len(range(start, stop, step)))
                strides.append(s * step)
                offset += s * min(start, n) if shape[-1] or step > 0 else 0
            else:
                i = int(k)  # type: ignore[arg-type]  # an ellipsis has been replaced above
                if not -n <= i < n:
                    raise IndexError(f"index {i} is out of bounds for dimension {d} with size {n}")
                offset += s * (i % n)
            d += 1
        return self.restrided(shape, strides, offset)

    # ----------------------------------------------------------------------- new arrays

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> MetaArray:
        new = np.dtype(dtype)
        if not copy and new == self.dtype:
            return self
        strides = preserved_strides(self.shape, self.element_strides) if order == "K" else None
        return MetaArray(self.shape, new, strides)

    def copy(self, order: str = "C") -> MetaArray:
        return self.astype(self.dtype, order)

    def conj(self) -> MetaArray:
        return self.astype(self.dtype)

    # -------------------------------------------------------------------- what needs data

    def item(self, *index: int) -> NoReturn:
        """Raises RuntimeError: there is no data."""
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def tolist(self) -> NoReturn:
        """Raises NotImplementedError: there is no data."""
        raise NotImplementedError(NO_DATA)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(NO_DATA)

    def __bool__(self) -> NoReturn:
        raise RuntimeError("Boolean value of a meta tensor is not known: it has no data")

    def __index__(self) -> NoReturn:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    __int__ = __index__
    __float__ = __index__
    __complex__ = __index__

    # --------------------------------------------------------------------------- arithmetic
    # Operators of expressions over arrays: the shape broadcasts and the dtype is NumPy's.

    def __add__(self, other: Any) -> MetaArray:
        return apply(np.add, self, other)

    def __radd__(self, other: Any) -> MetaArray:
        return apply(np.add, other, self)

    def __sub__(self, other: Any) -> MetaArray:
        return apply(np.subtract, self, other)

    def __rsub__(self, other: Any) -> MetaArray:
        return apply(np.subtract, other, self)

    def __mul__(self, other: Any) -> MetaArray:
        return apply(np.multiply, self, other)

    def __rmul__(self, other: Any) -> MetaArray:
        return apply(np.multiply, other, self)

    def __truediv__(self, other: Any) -> MetaArray:
        return apply(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> MetaArray:
        return apply(np.true_divide, other, self)

    def __floordiv__(self, other: Any) -> MetaArray:
        return apply(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> MetaArray:
        return apply(np.floor_divide, other, self)

    def __mod__(self, other: Any) -> MetaArray:
        return apply(np.remainder, self, other)

    def __rmod__(self, other: Any) -> MetaArray:
        return apply(np.remainder, other, self)

    def __pow__(self, other: Any) -> MetaArray:
        return apply(np.power, self, other)

    def __rpow__(self, other: Any) -> MetaArray:
        return apply(np.power, other, self)

    def __and__(self, other: Any) -> MetaArray:
        return apply(np.bitwise_and, self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> MetaArray:
        return apply(np.bitwise_or, self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> MetaArray:
        return apply(np.bitwise_xor, self, other)

    __rxor__ = __xor__

    def __lshift__(self, other: Any) -> MetaArray:
        return apply(np.left_shift, self, other)

    def __rshift__(self, other: Any) -> MetaArray:
        return apply(np.right_shift, self, other)

    def __lt__(self, other: Any) -> MetaArray:
        return apply(np.less, self, other)

    def __le__(self, other: Any) -> MetaArray:
        return apply(np.less_equal, self, other)

    def __gt__(self, other: Any) -> MetaArray:
        return apply(np.greater, self, other)

    def __ge__(self, other: Any) -> MetaArray:
        return apply(np.greater_equal, self, other)

    def __neg__(self) -> MetaArray:
        return apply(np.negative, self)

    def __invert__(self) -> MetaArray:
        return apply(np.invert, self)

    def __abs__(self) -> MetaArray:
        return apply(np.abs, self)


def elementwise_strides(arrays: Sequence[MetaArray], shape: Shape) -> Shape | None:
    """The strides of a new elementwise result: those of the inputs where these agree.

    None for contiguous, the usual case.
    """
    if all([a.is_contiguous for a in arrays]):
        return None
    return operand_strides(shape, [(a.shape, a.element_strides) for a in arrays])


def meta_elementwise(*arrays: Any, dtype: np.dtype[Any] | None = None) -> MetaArray:
    """The result of a pointwise operator: broadcast shape, the first array's dtype unless given.

    Arguments that are no arrays (scalars, None) take no part.
    """
    metas = [a for a in arrays if isinstance(a, MetaArray)]
    first = metas[0]
    if dtype is None:
        dtype = first.dtype
    if len(metas) == 1 and first.is_contiguous:
        return MetaArray(first.shape, dtype)
    shape = broadcast_shapes(*[a.shape for a in metas])
    return MetaArray(shape, dtype, elementwise_strides(metas, shape))


def apply(function: Any, *args: Any, **kwargs: Any) -> MetaArray:
    """What the elementwise ``function`` of NumPy gives: it is asked for the dtype with empty arrays."""
    empty = [np.empty(0, a.dtype) if isinstance(a, MetaArray) else a for a in args]
    return meta_elementwise(*args, dtype=function(*empty, **kwargs).dtype)
