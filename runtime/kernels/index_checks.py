"""What kernels that read and write at positions check of these, and of masks. Meta shares it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import INT64

Array = Any
Mask = Any


def check_integer_index(index: Array, what: str = "index") -> None:
    """Raise RuntimeError unless ``index`` is int64 or int32."""
    if index.dtype.char not in "lqi":
        raise RuntimeError(f"Expected dtype int32/int64 for {what}, but got {index.dtype}")


def check_long(index: Array) -> None:
    """Raise RuntimeError unless ``index`` is int64."""
    if index.dtype != INT64:
        raise RuntimeError(f"Expected a long tensor for index, but got {index.dtype}")


def check_vector(index: Array, error: type[Exception] = IndexError) -> None:
    """Raise ``error`` unless the index is 1-d or 0-d."""
    if index.ndim > 1:
        raise error(f"Index is supposed to be a vector, but got dim: {index.ndim}")


def check_single(index: Array) -> None:
    """RuntimeError unless there is one index, as a number that is selected from needs."""
    if index.size != 1:
        raise RuntimeError(f"Index to scalar can have only 1 value, got {index.size} value(s)")


def check_mask(mask: Array) -> Mask:
    """``mask`` itself. RuntimeError unless it is bool."""
    if mask.dtype.char != "?":
        raise RuntimeError(f"only supports boolean masks, but got mask with dtype {mask.dtype}")
    return mask


def check_same_dtype(self: Array, source: Array, name: str = "source") -> None:
    """Raise RuntimeError unless both have one dtype."""
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"self and {name} expected to have the same dtype, but got (self) {self.dtype} "
            f"and ({name}) {source.dtype}"
        )


def index_range(index: Array) -> tuple[int, int]:
    """The least and the greatest of a non-empty index, faster than ufuncs on small ones."""
    return index.item(index.argmin()), index.item(index.argmax())


def check_bounds(index: Array, size: int, dim: int, error: type[Exception], negative: bool = False) -> None:
    """Raise ``error`` for an index not in ``range(size)``; ``negative`` ones may count from the end."""
    if all_in_range(index, size):
        return
    low, high = index_range(index)
    if high >= size or low < (-size if negative else 0):
        wrong = high if high >= size else low
        raise error(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def all_in_range(index: Array, size: int) -> bool:
    """Whether all are in ``range(size)``."""
    if index.size == 0:
        return True
    # Taken as unsigned, negative ones are great.
    unsigned = index.view(np.uint64 if index.dtype.itemsize == 8 else np.uint32)
    greatest: int = unsigned.item(unsigned.argmax())
    return greatest < size


def wrap_index(index: Array, size: int) -> Array | None:
    """``index`` with what is negative counted from the front; None where one is out of range."""
    if all_in_range(index, size):
        return index
    low, high = index_range(index)
    if high >= size or low < -size:
        return None
    return np.where(index < 0, index + size, index) if low < 0 else index
