"""What the runtime asks of every backend (``tengen.dispatch.backend``), for arrays in compressed formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from .. import cpu
from ..sparse.array import LayoutDtype, layout_dtype
from ..sparse.backend import (
    add as add,
    add_ as add_,
    as_strided as as_strided,
    data_ptr as data_ptr,
    empty_strided as empty_strided,
    from_numpy as from_numpy,
    full as full,
    is_contiguous as is_contiguous,
    isnan_any as isnan_any,
    item as item,
    nbytes as nbytes,
    ones as ones,
    root as root,
    same_layout as same_layout,
    storage_offset as storage_offset,
    strides as strides,
)
from .array import REPRESENTATIVE, CompressedArray, empty_compressed, nothing_stored
from .conversions import compressed_copy
from .reductions import compressed_sum

device_name = cpu.device_name
dlpack_device = None

Shape = tuple[int, ...]


def array_dtype(base: np.dtype[Any]) -> LayoutDtype:
    """The dtype of arrays in these formats whose elements are NumPy's ``base``."""
    return layout_dtype(base, REPRESENTATIVE)


empty = zeros = empty_compressed


def empty_like(a: Any, dtype: Any) -> CompressedArray:
    """Any values at the places of an array; nothing stored in the sizes of a strided one."""
    if not isinstance(a, CompressedArray):
        return empty_compressed(a.shape, dtype)
    return compressed_copy(a.with_values(np.empty(a.values.shape, dtype.base)))


def zeros_like(a: Any, dtype: Any) -> CompressedArray:
    """Nothing stored, in the sizes and the layout of an array."""
    if not isinstance(a, CompressedArray):
        return empty_compressed(a.shape, dtype)
    return nothing_stored(a, dtype.base)


#: Of the arrays that ``parts`` gives, the shape and the layout.
of_parts = CompressedArray


def sum_to(a: CompressedArray, shape: Shape) -> Any:
    if not shape:
        return compressed_sum(a, None)
    raise RuntimeError(
        f"a gradient of the layout {a.layout} and size {list(a.shape)} was expected to have the size "
        f"{list(shape)}"
    )


def cast(a: Any, dtype: Any) -> Any:
    if not isinstance(a, CompressedArray):
        return cpu.cast(a, dtype.base)
    return a if a.dtype is dtype else a.with_values(cpu.cast(a.values, dtype.base))


def copyto(destination: CompressedArray, source: Any) -> None:
    if not isinstance(source, CompressedArray) or source.layout != destination.layout:
        found = getattr(source, "layout", "strided")
        raise RuntimeError(
            "copy_: copy of sparse compressed tensors having different layouts is not supported. "
            "self layout is "
            f"{destination.layout} and src layout is {found}"
        )
    if source.shape != destination.shape:
        raise RuntimeError(
            f"copy_: sizes must agree, but got {list(destination.shape)} and {list(source.shape)}"
        )
    destination.assign(compressed_copy(cast(source, destination.dtype)))


copy = compressed_copy


def contiguous(a: CompressedArray) -> NoReturn:
    raise RuntimeError("unsupported memory format option Contiguous")


def to_numpy(a: CompressedArray) -> NoReturn:
    raise TypeError(f"can't convert {a.layout} layout tensor to numpy. Use Tensor.to_dense() first.")


def may_share_memory(a: Any, b: Any) -> bool:
    first = a.values if isinstance(a, CompressedArray) else a
    return bool(np.may_share_memory(first, b.values if isinstance(b, CompressedArray) else b))


def broadcast_to(a: CompressedArray, shape: Sequence[int]) -> CompressedArray:
    """The array itself, in its own sizes. RuntimeError for others."""
    if tuple(shape) != a.shape:
        raise RuntimeError(f"expand is unsupported for {a.layout} tensors, of size {list(a.shape)}")
    return a
