"""What the runtime asks of every backend (see ``tengen.dispatch.backend``), for arrays without data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..layout import check_fits
from ..strided import element_strides
from .array import NO_DATA, MetaArray

device_name = "meta"
dlpack_device = None

DType = np.dtype[Any]


# ------------------------------------------------------------------------------- creation


def empty(shape: Sequence[int], dtype: DType) -> MetaArray:
    return MetaArray(shape, dtype)


def zeros(shape: Sequence[int], dtype: DType) -> MetaArray:
    return MetaArray(shape, dtype)


def ones(shape: Sequence[int], dtype: DType) -> MetaArray:
    return MetaArray(shape, dtype)


def full(shape: Sequence[int], value: Any, dtype: DType) -> MetaArray:
    return MetaArray(shape, dtype)


def empty_strided(shape: Sequence[int], strides: Sequence[int], dtype: DType) -> MetaArray:
    return MetaArray(shape, dtype, strides)


def from_numpy(array: np.ndarray[Any, DType]) -> MetaArray:
    """The shape, dtype and strides of ``array``; its data is left behind."""
    return MetaArray(array.shape, array.dtype, element_strides(array))


# ------------------------------------------------------------------- arithmetic of the engine


def add(a: MetaArray, b: MetaArray) -> MetaArray:
    return a + b


def add_(a: MetaArray, b: MetaArray) -> MetaArray:
    _check_writable(a, b)
    return a


def sum_to(a: MetaArray, shape: Sequence[int]) -> MetaArray:
    """``a`` summed to ``shape``, from which it may have been broadcast."""
    return a if a.shape == tuple(shape) else MetaArray(shape, a.dtype)


def cast(a: MetaArray, dtype: DType) -> MetaArray:
    return a.astype(dtype, copy=False)


def isnan_any(a: MetaArray) -> bool:
    return False


# ---------------------------------------------------------------------------------- copying


def copyto(dst: MetaArray, src: Any) -> None:
    """Checks that ``src`` broadcasts to ``dst``; there is nothing to copy."""
    _check_writable(dst, src)


def _check_writable(dst: MetaArray, src: Any) -> None:
    check_fits(dst.shape, src.shape if isinstance(src, MetaArray) else np.shape(src))


def copy(a: MetaArray) -> MetaArray:
    return a.copy("K")


def contiguous(a: MetaArray) -> MetaArray:
    return a if a.is_contiguous else a.copy("C")


def broadcast_to(a: MetaArray, shape: Sequence[int]) -> MetaArray:
    """A view of ``a`` in which broadcast dimensions have stride 0. ValueError for other sizes than 1 that
    would change."""
    missing = len(shape) - a.ndim
    strides = [0] * len(shape)
    for d, (n, s) in enumerate(zip(a.shape, a.element_strides, strict=True)):
        if n == shape[missing + d]:
            strides[missing + d] = s
        elif n != 1:
            raise ValueError(f"cannot broadcast shape {a.shape} to {tuple(shape)}")
    return a.restrided(shape, strides)


# ----------------------------------------------------------------------------------- memory


def strides(a: MetaArray) -> tuple[int, ...]:
    return a.element_strides


def storage_offset(a: MetaArray) -> int:
    return a.offset


def root(a: MetaArray) -> MetaArray:
    """A 1-d array over the whole storage, of the dtype of ``a``."""
    size = a.storage.nbytes // a.dtype.itemsize
    return MetaArray((size,), a.dtype, (1,), 0, a.storage)


def data_ptr(a: MetaArray) -> int:
    return 0


def may_share_memory(a: MetaArray, b: MetaArray) -> bool:
    return a.storage is b.storage


def nbytes(root: MetaArray) -> int:
    return root.storage.nbytes


def as_strided(
    a: MetaArray, size: Sequence[int], stride: Sequence[int], offset: int | None = None
) -> MetaArray:
    return a.restrided(size, stride, offset)


def same_layout(a: MetaArray, b: MetaArray) -> bool:
    return a.shape == b.shape and a.element_strides == b.element_strides


def is_contiguous(a: MetaArray) -> bool:
    return a.is_contiguous


# ------------------------------------------------------------------------------------- data


def item(a: MetaArray) -> NoReturn:
    """Raises RuntimeError: there is no data."""
    raise RuntimeError("Tensor.item() cannot be called on meta tensors")


def to_numpy(a: MetaArray) -> NoReturn:
    """Raises NotImplementedError: there is no data."""
    raise NotImplementedError(NO_DATA)
