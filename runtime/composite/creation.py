"""Creation operators that take their shape, dtype or device from a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..autograd.grad_mode import grad_mode
from ..core.device import as_device
from ..core.errors import explain
from ..core.memory_format import (
    SPARSE,
    check_nested_format,
    contiguous_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
)
from ..core.scalar_type import default_complex
from ..dispatch.legacy_type_dispatch import type_of
from ..kernels.creation import check_size, filler
from ..kernels.layout import contiguous_strides, strides_in
from ..kernels.uninitialized import unwritten
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..core.device import device as Device
    from ..core.memory_format import layout as Layout
    from ..core.scalar_type import dtype as DType
    from ..dispatch.type import Type
    from ..tensors.tensor import Tensor

COMPRESSED = SPARSE[1:]
Number = bool | int | float | complex
Shape = tuple[int, ...]


def _type(
    self: Tensor,
    dtype: DType | None,
    device: Device | None,
    layout: Layout | None = None,
    memory_format: Any = None,
) -> Type:
    """The Type for a tensor like ``self``, save for what was asked."""
    if self.is_nested:
        _check_nested(self, device, layout, memory_format)
        device = layout = None  # those that it has
    if layout is not None and layout is not self.layout:
        scalar_type = self.dtype if dtype is None else dtype
        return type_of(scalar_type, self.device if device is None else device, None, layout.name)
    own: Type = self._type
    if own.unsettled:
        own = own.recorded(not grad_mode.inference)
    if device is None:
        return own if dtype is None else own.of(dtype)
    return type_of(own.scalar_type if dtype is None else dtype, as_device(device), None, self.layout.name)


def _check_nested(self: Tensor, device: Device | None, layout: Layout | None, memory_format: Any) -> None:
    """RuntimeError for a layout other than the nested tensor's, and for an order of its dimensions.

    NotImplementedError for another device.
    """
    check_nested_format(memory_format)
    if layout is not None and layout is not self.layout:
        raise RuntimeError(
            f"a tensor like a nested one of the layout {self.layout} has that layout: got layout={layout}; "
            "nested.as_nested_tensor(tensor.unbind(), layout=...) gives another one"
        )
    if device is not None and as_device(device) != self.device:
        raise NotImplementedError(f"there are no nested tensors on the device {device}")


def _in_layout(made: Tensor, self: Tensor, layout: Layout | None) -> Tensor:
    """What was made like ``self``, in that of the compressed layouts that was asked for."""
    if layout is None or made.layout is layout:
        return made
    blocksize = self._blocksize if layout in (sparse_bsr, sparse_bsc) else None
    return made.to_sparse(layout=layout, blocksize=blocksize)


def _check_same_layout(self: Tensor, layout: Layout | None) -> None:
    """RuntimeError for another layout than the compressed one of ``self``: which places would it store?"""
    if layout is not None and layout is not self.layout and self.layout in COMPRESSED:
        raise RuntimeError(
            f"empty_like with different sparse layout is not supported (self is {self.layout} but you "
            f"requested {layout})"
        )


def _like(self: Tensor, T: Type, memory_format: Any) -> Any:
    """New memory of the shape of ``self``, with its order of dimensions where that is dense."""
    library, array = T.backend.lib, self._array
    own = self._type.backend.lib
    if not T.backend.is_strided:
        return library.empty_like(array, T.dtype)
    keeps = memory_format is None or memory_format is preserve_format
    plain = memory_format is contiguous_format or not self._type.backend.is_strided
    if plain or (keeps and _stands_in_rows(self)):
        return library.empty(array.shape, T.dtype)
    strides = strides_in(memory_format, array.shape, own.strides(array))
    return library.empty_strided(array.shape, strides, T.dtype)


def empty_like(self: Tensor, dtype: Any, layout: Any, device: Any, memory_format: Any) -> Tensor:
    """Whatever the memory held; nothing is stored in a sparse tensor."""
    _check_same_layout(self, layout)
    T = _type(self, dtype, device, layout, memory_format)
    return _in_layout(T.wrap(unwritten(_like(self, T, memory_format))), self, layout)


def full_like(
    self: Tensor, fill_value: Number, dtype: Any, layout: Any, device: Any, memory_format: Any
) -> Tensor:
    """``fill_value`` everywhere, or where a sparse tensor stores elements.

    Raises RuntimeError for a number that the dtype cannot hold.
    """
    _check_same_layout(self, layout)
    T = _type(self, dtype, device, layout, memory_format)
    if not T.backend.is_strided:
        made: Tensor = T.wrap(_like(self, T, memory_format))
        return _in_layout(made.fill_(fill_value), self, layout)
    array, library = _like(self, T, memory_format), T.backend.lib
    value = library.full((), filler(self.shape, fill_value, T.scalar_type.array_dtype), T.dtype)
    if not T.backend.mutable:
        return T.wrap(library.broadcast_to(value, array.shape))
    library.copyto(array, value)
    return T.wrap(array)


def zeros_like(self: Tensor, dtype: Any, layout: Any, device: Any, memory_format: Any) -> Tensor:
    """0 everywhere; nothing is stored in a sparse tensor."""
    T = _type(self, dtype, device, layout, memory_format)
    if not T.backend.is_strided:
        made: Tensor = T.wrap(T.backend.lib.zeros_like(self._array, T.dtype))
        return _in_layout(made, self, layout)
    if _is_plain(self, T, memory_format) or not self._type.backend.is_strided:
        return T.wrap(T.backend.lib.zeros(self._array.shape, T.dtype))
    return full_like(self, 0, dtype, layout, device, memory_format)


def _is_plain(self: Tensor, T: Type, memory_format: Any) -> bool:
    """Whether a tensor like ``self`` is as a new one of its shape is."""
    strided = T.backend.is_strided and self._type.backend.is_strided
    return memory_format is None and strided and _stands_in_rows(self)


def _stands_in_rows(self: Tensor) -> bool:
    """Whether the strides are those of a new tensor of this shape, those of dimensions of size 1, too."""
    if not (self.is_contiguous() and self._array.size):
        return False
    shape = tuple(self._array.shape)
    return 1 not in shape or self.stride() == contiguous_strides(shape)


def ones_like(self: Tensor, dtype: Any, layout: Any, device: Any, memory_format: Any) -> Tensor:
    """1 everywhere, or where a sparse tensor stores elements."""
    _check_same_layout(self, layout)
    T = _type(self, dtype, device, layout, memory_format)
    if _is_plain(self, T, memory_format):
        return T.wrap(T.backend.lib.ones(self._array.shape, T.dtype))
    return full_like(self, 1, dtype, layout, device, memory_format)


# -- a given shape ------------------------------------------------------------------------


def _made(name: str, T: Type, make: Callable[..., Any], size: Shape, *rest: Any) -> Tensor:
    """What ``make`` makes of this size. RuntimeError for one that is negative or takes more than there is."""
    try:
        return T.wrap(make(check_size(size), *rest))
    except Exception as error:
        raise explain(error, name) from None


def new_empty(self: Tensor, size: Shape, dtype: Any, layout: Any, device: Any) -> Tensor:
    """Whatever the memory held. Raises RuntimeError for a negative dimension, as all of these do."""
    T = _type(self, dtype, device, layout)
    if len(T.backend.layouts) > 1:
        return new_zeros(self, size, dtype, layout, device)
    made = _made("new_empty", T, T.backend.lib.empty, size, T.dtype)
    unwritten(made._array)
    return made


def new_empty_strided(
    self: Tensor, size: Shape, stride: Shape, dtype: Any, layout: Any, device: Any
) -> Tensor:
    """Whatever the memory held, with strides in elements."""
    T = _type(self, dtype, device)
    return F.empty_strided(size, stride, dtype=T.scalar_type, layout=layout, device=T.backend.device)


def new_full(self: Tensor, size: Shape, fill_value: Number, dtype: Any, layout: Any, device: Any) -> Tensor:
    """``fill_value`` everywhere. Raises RuntimeError for a number that the dtype cannot hold."""
    T = _type(self, dtype, device, layout)
    value = filler(size, fill_value, T.scalar_type.array_dtype)
    return _made("new_full", T, T.backend.lib.full, size, value, T.dtype)


def new_ones(self: Tensor, size: Shape, dtype: Any, layout: Any, device: Any) -> Tensor:
    """1 everywhere."""
    T = _type(self, dtype, device, layout)
    return _made("new_ones", T, T.backend.lib.ones, size, T.dtype)


def new_zeros(self: Tensor, size: Shape, dtype: Any, layout: Any, device: Any) -> Tensor:
    """0 everywhere, in the layout of ``self`` unless told otherwise."""
    T = _type(self, dtype, device, layout)
    if len(T.backend.layouts) > 1:
        layout = layout or self.layout
        return F.zeros(size, dtype=T.scalar_type, layout=layout, device=T.backend.device)
    return _made("new_zeros", T, T.backend.lib.zeros, size, T.dtype)


# -- random -------------------------------------------------------------------------------


def _drawn_like(self: Tensor, make: Callable[..., Tensor], T: Type, generator: Any) -> Tensor:
    """What ``make`` draws in the shape of ``self``, of the Type."""
    given = {} if generator is None else {"generator": generator}
    return make(self.shape, dtype=T.scalar_type, device=T.backend.device, **given)


def rand_like(
    self: Tensor, dtype: Any, layout: Any, device: Any, memory_format: Any, generator: Any
) -> Tensor:
    """Uniform in [0, 1)."""
    T = _type(self, dtype, device, layout, memory_format)
    if _is_plain(self, T, memory_format):
        return _drawn_like(self, F.rand, T, generator)
    return empty_like(self, dtype, layout, device, memory_format).uniform_(generator=generator)


def randn_like(
    self: Tensor, dtype: Any, layout: Any, device: Any, memory_format: Any, generator: Any
) -> Tensor:
    """Standard normal."""
    T = _type(self, dtype, device, layout, memory_format)
    if _is_plain(self, T, memory_format):
        return _drawn_like(self, F.randn, T, generator)
    return empty_like(self, dtype, layout, device, memory_format).normal_(generator=generator)


def randint_like(
    self: Tensor,
    low: int,
    high: Any,
    generator: Any,
    dtype: Any,
    layout: Any,
    device: Any,
    memory_format: Any,
) -> Tensor:
    """Integers uniform in [low, high); high may be a 0-d tensor."""
    return empty_like(self, dtype, layout, device, memory_format).random_(low, int(high), generator=generator)


# -- ranges between tensors ---------------------------------------------------------------


def _end(value: Any, name: str, function: str) -> Any:
    """A number, or the element of a 0-d tensor, without data 0. Raises RuntimeError for more dimensions."""
    if not isinstance(value, Tensor):
        return value
    if value.ndim:
        raise RuntimeError(
            f"{function}: only supports 0-dimensional start and end tensors, "
            f"but got {name} with {value.ndim} dimension(s)."
        )
    if not value._type.backend.has_data:
        return 0j if value.is_complex() else 0
    return value.item()


def _between(first: Number, last: Number) -> DType | None:
    """The dtype between complex ends, where none is asked for."""
    return default_complex() if isinstance(first, complex) or isinstance(last, complex) else None


def linspace_of_tensors(start: Any, end: Any, steps: int, dtype: Any, device: Any) -> Tensor:
    """``linspace`` between 0-d tensors or numbers."""
    first, last = _end(start, "start", "linspace"), _end(end, "end", "linspace")
    return F.linspace(first, last, steps, dtype=dtype or _between(first, last), device=device)


def logspace_of_tensors(start: Any, end: Any, steps: int, base: float, dtype: Any, device: Any) -> Tensor:
    """``logspace`` between 0-d tensors or numbers."""
    first, last = _end(start, "start", "logspace"), _end(end, "end", "logspace")
    return F.logspace(first, last, steps, base, dtype=dtype or _between(first, last), device=device)


# -- diagonals ----------------------------------------------------------------------------


def fill_diagonal_(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """``fill_value`` on the diagonal; RuntimeError for one dimension, and for more than two that differ."""
    if self.ndim < 2:
        raise RuntimeError(f"fill_diagonal_: dimensions must be larger than 1, but got {self.ndim}")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError(
            f"fill_diagonal_: all dimensions of input must be of equal length, but got {list(self.shape)}"
        )
    height, width = self.shape[:2]
    starts = range(0, height, width + 1) if wrap and self.ndim == 2 else range(1)
    for start in starts:
        diagonal = self[start:] if start else self
        while diagonal.ndim > 1:
            diagonal = diagonal.diagonal(0, 0, -1)
        diagonal.fill_(fill_value)
    return self


def pin_memory(self: Tensor, device: Device | None) -> Tensor:
    pinned: Tensor = self.pin_memory(device)
    return pinned
