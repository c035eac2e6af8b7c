"""What the runtime asks of every backend (``tengen.dispatch.backend``), for arrays in compressed formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..sparse.array import LayoutDtype, Shape, layout_dtype
from ..sparse.backend import (
    add as add,
    add_ as add_,
    as_strided as as_strided,
    cast as cast,
    contiguous as contiguous,
    copy as copy,
    data_ptr as data_ptr,
    device_name as device_name,
    dlpack_device as dlpack_device,
    empty_strided as empty_strided,
    from_numpy as from_numpy,
    full as full,
    is_contiguous as is_contiguous,
    isnan_any as isnan_any,
    item as item,
    may_share_memory as may_share_memory,
    nbytes as nbytes,
    ones as ones,
    root as root,
    same_layout as same_layout,
    storage_offset as storage_offset,
    strides as strides,
)
from ..sparse.stored import stored_sum
from .array import REPRESENTATIVE, CompressedArray, empty_compressed, nothing_stored


def array_dtype(base: np.dtype[Any]) -> LayoutDtype:
    """The dtype of arrays in these formats whose elements are NumPy's ``base``."""
    return layout_dtype(base, REPRESENTATIVE)


empty = zeros = empty_compressed


def empty_like(a: Any, dtype: Any) -> CompressedArray:
    """Any values at the places of an array; nothing stored in the sizes of one in another format."""
    if not isinstance(a, CompressedArray):
        return empty_compressed(a.shape, dtype)
    return a.with_values(np.empty(a.values.shape, dtype.base)).copy()


def zeros_like(a: Any, dtype: Any) -> CompressedArray:
    """Nothing stored, in the sizes and the layout of an array; a strided one gives two indexed dimensions."""
    if not isinstance(a, CompressedArray):
        return empty_compressed(a.shape, dtype, dense_dim=getattr(a, "dense_dim", max(len(a.shape) - 2, 0)))
    return nothing_stored(a, dtype.base)


#: Of the arrays that ``parts`` gives, the shape and the layout.
of_parts = CompressedArray


def sum_to(a: CompressedArray, shape: Shape) -> Any:
    """A gradient reduced to a 0-d input. RuntimeError for any other shape."""
    if not shape:
        return stored_sum(a, None)
    raise RuntimeError(
        f"a gradient of the layout {a.layout} and size {list(a.shape)} was expected to have the size "
        f"{list(shape)}"
    )


def copyto(destination: CompressedArray, source: Any) -> None:
    """The elements of ``source``, in its places. RuntimeError for another layout or another shape."""
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
    written = cast(source, destination.dtype)
    if destination.same_places(written):
        np.copyto(destination.values, written.values)
    else:
        destination.assign(copy(written))


def to_numpy(a: CompressedArray) -> NoReturn:
    """Raises TypeError: NumPy has no such arrays."""
    raise TypeError(f"can't convert {a.layout} layout tensor to numpy. Use Tensor.to_dense() first.")


def broadcast_to(a: CompressedArray, shape: Sequence[int]) -> CompressedArray:
    """The array itself, in its own sizes. RuntimeError for others."""
    if tuple(shape) != a.shape:
        raise RuntimeError(f"expand is unsupported for {a.layout} tensors, of size {list(a.shape)}")
    return a
