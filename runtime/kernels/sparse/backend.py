"""What the runtime asks of every backend (``tengen.dispatch.backend``), for arrays in coordinate format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from .. import cpu
from .array import CooArray, LayoutDtype, StoredArray, empty_coo, layout_dtype
from .conversions import coo_broadcast
from .reductions import sum_dims
from .stored import in_dtype

device_name = cpu.device_name
dlpack_device = None

Shape = tuple[int, ...]


def array_dtype(base: np.dtype[Any]) -> LayoutDtype:
    """The dtype of arrays in this format whose elements are NumPy's ``base``."""
    return layout_dtype(base, CooArray.layout)


# ------------------------------------------------------------------------------- creation


empty = zeros = empty_coo


def full(shape: Shape, value: Any, dtype: Any) -> Any:
    """A number is strided: only such may stand beside tensors in coordinate format. RuntimeError for any
    other shape."""
    if shape:
        raise RuntimeError("full(...) is not implemented for sparse layout")
    return cpu.full(shape, value, dtype.base)


def ones(shape: Shape, dtype: Any) -> Any:
    return full(shape, 1, dtype)


def empty_like(a: Any, dtype: Any) -> CooArray:
    """Nothing stored, in the sizes of an array, with as many dimensions of values as a sparse one has."""
    return empty_coo(a.shape, dtype, getattr(a, "dense_dim", 0))


zeros_like = empty_like


def empty_strided(shape: Shape, strides: Shape, dtype: Any) -> NoReturn:
    """Raises RuntimeError: such arrays have no strides."""
    raise RuntimeError("empty_strided: sparse tensors do not have strides")


#: Of the arrays that ``parts`` gives, the shape and whether it is coalesced.
of_parts = CooArray


def from_numpy(a: Any) -> Any:
    return a


# ------------------------------------------------------------------- arithmetic of the engine


#: NumPy's, which finds the sum of such arrays; into none of them.
add = add_ = cpu.add


def sum_to(a: CooArray, shape: Shape) -> Any:
    lead = len(a.shape) - len(shape)
    dims = [d for d, n in enumerate(a.shape) if d < lead or (shape[d - lead] == 1 and n != 1)]
    total = sum_dims(a, dims, True)
    if not isinstance(total, CooArray):  # of all dimensions that were indexed
        return total.reshape(shape)
    return total if not lead else sum_dims(total, range(lead), False)


def isnan_any(a: Any) -> bool:
    return cpu.isnan_any(a.values)


# ---------------------------------------------------------------------------------- copying


def cast(a: Any, dtype: Any) -> Any:
    return in_dtype(a, dtype.base) if isinstance(a, StoredArray) else cpu.cast(a, dtype.base)


def copyto(destination: CooArray, source: Any) -> None:
    """The elements of ``source``, broadcast. RuntimeError for one that is not in coordinate format."""
    if not isinstance(source, CooArray):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented!")
    if source.shape != destination.shape:
        source = coo_broadcast(source, destination.shape)
    destination.assign(copy(cast(source, destination.dtype)))


copy = StoredArray.copy


def contiguous(a: StoredArray) -> NoReturn:
    """Raises RuntimeError: there are no strides that could be contiguous."""
    raise RuntimeError("unsupported memory format option Contiguous")


def to_numpy(a: CooArray) -> NoReturn:
    """Raises TypeError: NumPy has no such arrays."""
    raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")


def item(a: Any) -> Any:
    return a.values.sum().item()


# ----------------------------------------------------------------------------------- memory


def _no_storage(what: str) -> NoReturn:
    raise NotImplementedError(
        f"Cannot access {what} of a sparse tensor: it has none. See indices and values."
    )


def is_contiguous(a: Any) -> bool:
    return False


def same_layout(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype is b.dtype


def strides(a: Any) -> Shape:
    return tuple([0 for _ in a.shape])


def storage_offset(a: Any) -> NoReturn:
    _no_storage("the storage offset")


def root(a: Any) -> NoReturn:
    _no_storage("the storage")


def data_ptr(a: Any) -> NoReturn:
    """Raises RuntimeError: indices and values are two arrays."""
    raise RuntimeError("Cannot access data pointer of a sparse tensor, which has no storage")


def may_share_memory(a: Any, b: Any) -> bool:
    first, second = [one.values if isinstance(one, StoredArray) else one for one in (a, b)]
    return bool(np.may_share_memory(first, second))


def nbytes(root: Any) -> NoReturn:
    _no_storage("the storage")


def as_strided(a: Any, size: Shape, strides: Sequence[int], offset: int) -> NoReturn:
    """Raises NotImplementedError: such arrays have no strides."""
    raise NotImplementedError("as_strided is not implemented for sparse tensors")


broadcast_to = coo_broadcast
