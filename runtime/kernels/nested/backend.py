"""What the runtime asks of every backend (``tengen.dispatch.backend``), for ragged arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from .. import cpu
from ..sparse.array import LayoutDtype, layout_dtype
from ..uninitialized import unwritten
from .array import REPRESENTATIVE, JaggedArray, NestedArray, RaggedArray, of_parts as of_parts
from .expansion import expanded_to, sum_to as sum_to
from .shape import nested_pack

device_name = cpu.device_name
dlpack_device = None

Shape = tuple[Any, ...]


def array_dtype(base: np.dtype[Any]) -> LayoutDtype:
    """The dtype of such arrays whose elements are NumPy's ``base``."""
    return layout_dtype(base, REPRESENTATIVE)


def _no_sizes(name: str) -> NoReturn:
    raise RuntimeError(f"{name}: a nested tensor is made of its components, not of sizes: see tengen.nested")


def empty(shape: Shape, dtype: Any) -> NoReturn:
    _no_sizes("empty")


def zeros(shape: Shape, dtype: Any) -> NoReturn:
    _no_sizes("zeros")


def full(shape: Shape, value: Any, dtype: Any) -> Any:
    """A number is strided: it stands beside all elements of nested tensors."""
    if shape:
        _no_sizes("full")
    return cpu.full(shape, value, dtype.base)


def ones(shape: Shape, dtype: Any) -> Any:
    return full(shape, 1, dtype)


def empty_like(a: Any, dtype: Any) -> Any:
    """Any values in the places of an array."""
    if not isinstance(a, RaggedArray):
        _no_sizes("empty_like")
    return a.with_values(unwritten(np.empty(a.values.shape, dtype.base)))


def zeros_like(a: Any, dtype: Any) -> Any:
    """Zeros in the places of an array."""
    if not isinstance(a, RaggedArray):
        _no_sizes("zeros_like")
    return a.with_values(np.zeros(a.values.shape, dtype.base))


def empty_strided(shape: Shape, strides: Shape, dtype: Any) -> NoReturn:
    _no_sizes("empty_strided")


def from_numpy(a: Any) -> Any:
    return a


#: NumPy's, which finds the sum of such arrays.
add = add_ = cpu.add


def isnan_any(a: Any) -> bool:
    return any(cpu.isnan_any(component) for component in a.components())


def cast(a: Any, dtype: Any) -> Any:
    if not isinstance(a, RaggedArray):
        return cpu.cast(a, dtype.base)
    return a if a.values.dtype == dtype.base else a.with_values(cpu.cast(a.values, dtype.base))


def copyto(destination: RaggedArray, source: Any) -> None:
    """Write values into the places of an array: those of the same sizes, or what broadcasts to them."""
    if not isinstance(source, RaggedArray) or source.shape != destination.shape:
        source = expanded_to(source, destination)
    for where, component in zip(destination.components(), source.components(), strict=True):
        cpu.copyto(where, component)


copy = RaggedArray.copy


def is_contiguous(a: Any) -> bool:
    """Whether the values stand in C's order, without gaps between the components."""
    if isinstance(a, JaggedArray):
        return a.lengths is None and bool(a.values.flags.c_contiguous)
    return bool(a.values.flags.c_contiguous)


def contiguous(a: RaggedArray) -> Any:
    if is_contiguous(a):
        return a
    return nested_pack(a)


def to_numpy(a: RaggedArray) -> NoReturn:
    """Raises TypeError: NumPy has no arrays of components."""
    raise TypeError(
        "can't convert a nested tensor to numpy. Use Tensor.to_padded_tensor() or unbind() first."
    )


def item(a: Any) -> Any:
    found = [component for component in a.components() if component.size]
    return found[0].item()


def _no_storage(what: str) -> NoReturn:
    raise NotImplementedError(f"Cannot access {what} of a nested tensor: it has none. See values and unbind.")


def same_layout(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype is b.dtype


def strides(a: Any) -> Shape:
    """Those of the values; that of the components is a multiple of the ragged size. RuntimeError for the
    strided layout, in which each component has its own."""
    if isinstance(a, NestedArray):
        raise RuntimeError("stride: a nested tensor of the layout tengen.strided has no strides")
    inner = cpu.strides(a.values)
    return a.ragged_size * inner[a.ragged_idx - 1], *inner


def storage_offset(a: Any) -> int:
    return 0


def root(a: Any) -> NoReturn:
    _no_storage("the storage")


def data_ptr(a: Any) -> NoReturn:
    """Raises RuntimeError: what has an address is the values."""
    raise RuntimeError("Cannot access data pointer of a nested tensor, which has no storage: see values()")


def may_share_memory(a: Any, b: Any) -> bool:
    first, second = [one.values if isinstance(one, RaggedArray) else one for one in (a, b)]
    return bool(np.may_share_memory(first, second))


def nbytes(root: Any) -> NoReturn:
    _no_storage("the storage")


def as_strided(a: Any, size: Shape, strides: Sequence[int], offset: int) -> NoReturn:
    """Raises NotImplementedError: the values alone have strides."""
    raise NotImplementedError("as_strided is not implemented for nested tensors")


def broadcast_to(a: Any, shape: Shape) -> Any:
    """The array itself, in its own sizes. RuntimeError for others."""
    if isinstance(a, RaggedArray) and tuple(shape) != a.shape:
        raise RuntimeError(f"a nested tensor of the size {list(a.shape)} does not expand to {list(shape)}")
    return a
