"""What batching rules call. Every tensor is a value: its dimension 0 is the batch dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from .. import functional
from ..core.memory_format import contiguous_format, preserve_format
from ..core.promotion import promote_types, result_type
from ..core.scalar_type import bool_, complex128, default_complex, float64, get_default_dtype, int64
from ..kernels.creation import as_number
from ..kernels.dims import wrap_dim
from ..kernels.layout import broadcast_shapes
from ..tensors.tensor import Tensor
from .shape import strided_extent

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Shape = tuple[int, ...]
Number = bool | int | float | complex


def rows(self: Tensor) -> Tensor:
    """The elements of each slice in one row: (B, n)."""
    shape = self.shape
    return self if len(shape) == 2 else self.reshape((shape[0], math.prod(shape[1:])))


def physical_dims(dims: Sequence[int], ndim: int) -> Shape:
    """Logical dimensions, of a tensor of logical rank ``ndim``, as those of the value."""
    return tuple([wrap_dim(d, ndim) + 1 for d in dims])


def pad_to_logical_rank(self: Tensor, ndim: int) -> Tensor:
    """The value with dimensions of size 1 behind the batch dimension, for a logical rank of ``ndim``."""
    shape = self.shape
    missing = ndim + 1 - len(shape)
    return self if missing <= 0 else self.view((shape[0], *[1] * missing, *shape[1:]))


def same_logical_rank(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The values with as many dimensions as the one that has the most."""
    ndim = max([t.ndim for t in tensors]) - 1
    return tuple([pad_to_logical_rank(t, ndim) for t in tensors])


def physical_dims_or_all(dims: Sequence[int] | None, ndim: int) -> Shape:
    """Logical dimensions, of a tensor of logical rank ``ndim``, or all of them, as those of the value."""
    return tuple(range(1, ndim + 1)) if dims is None else physical_dims(dims, ndim) if ndim else ()


def physical_memory_format(memory_format: Any) -> Any:
    """The memory format of the value; those that depend on the rank are dropped."""
    return memory_format if memory_format in (contiguous_format, preserve_format) else None


# -- shapes and views ---------------------------------------------------------------------


def t_batched(self: Tensor) -> Tensor:
    """``t``. RuntimeError for slices with more than two dimensions."""
    if self.ndim > 3:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim - 1}D")
    return self.transpose(1, 2) if self.ndim == 3 else F.alias(self)


def squeeze_batched(self: Tensor) -> Tensor:
    """``squeeze`` of all dimensions of size 1 but the batch dimension."""
    return self.squeeze(tuple([d for d, n in enumerate(self.shape) if d and n == 1]))


def cat_batched(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """``cat``, which leaves out what is ``[0]`` among slices of more dimensions."""
    kept = [t for t in tensors if t.ndim != 2 or t.shape[1] != 0] or list(tensors)
    ndim = max([t.ndim for t in kept])
    dtype = kept[0].dtype
    for t in tensors:
        dtype = promote_types(dtype, t.dtype)
    return F.cat([t.to(dtype) for t in kept], wrap_dim(dim, ndim - 1) + 1)


def linspace_decomposition(start: Any, end: Any, steps: int, dtype: Any) -> Tensor:
    """``linspace`` of one slice, from both ends to the middle."""
    return _space(start, end, steps).to(dtype or _default_dtype(start, end))


def logspace_decomposition(start: Any, end: Any, steps: int, base: float, dtype: Any) -> Tensor:
    """``logspace`` of one slice."""
    return F.pow(base, _space(start, end, steps)).to(dtype or _default_dtype(start, end))


def _space(start: Any, end: Any, steps: int) -> Tensor:
    """The numbers in double precision, as if the ends were Python's."""
    start, end = [e.to(_double(e)) if isinstance(e, Tensor) else e for e in (start, end)]
    at = F.arange(steps, dtype=float64)
    if steps < 2:
        one: Tensor = start + 0 * at
        return one
    step = (end - start) / (steps - 1)
    return F.where(at < steps / 2, start + step * at, end - step * (steps - 1 - at))


def _double(end: Tensor) -> Any:
    return complex128 if end.is_complex() else float64


def _default_dtype(*ends: Any) -> Any:
    """The dtype of a space between ends that may be complex."""
    if any([isinstance(e, complex) or (isinstance(e, Tensor) and e.is_complex()) for e in ends]):
        return default_complex()
    return get_default_dtype()


def one_hot_decomposition(self: Tensor, num_classes: int) -> Tensor:
    """``one_hot`` of one slice. RuntimeError where the number of classes is to be looked for."""
    if num_classes < 0:
        raise RuntimeError(
            "vmap: one_hot: the number of classes must be given: that of the largest element would make a "
            "shape that depends on the elements"
        )
    zeros = F.zeros((*self.shape, num_classes), dtype=int64, device=self.device)
    return zeros.scatter(-1, self.unsqueeze(-1), 1)


def roll_batched(self: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Tensor:
    """``roll``; without ``dims``, of the flattened slices."""
    if not dims:
        return rows(self).roll(shifts, (1,)).reshape(self.shape)
    return self.roll(shifts, physical_dims(dims, self.ndim - 1))


def restore_dims_batched(self: Tensor, dim: Any, keepdim: bool, ndim: int) -> Tensor:
    """A reduction's result with the dimensions of its input, as ``_restore_dims``."""
    if keepdim or ndim == 0:
        return self
    dims = (dim,) if isinstance(dim, int) else dim
    if not dims:
        return self.reshape((len(self), *[1] * ndim))
    at = {wrap_dim(d, ndim) + 1 for d in dims}
    sizes = iter(self.shape)
    return self.reshape(tuple([1 if d in at else next(sizes) for d in range(ndim + 1)]))


def _unexpanded(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Tensor:
    """The value, copied if its slices share memory, because it was expanded.

    The gradients of slices that share memory would be shared, too.
    """
    if self.stride(0):
        return self
    begin, shape = self.storage_offset(), self.shape
    length = strided_extent(shape[1:], self.stride()[1:], begin, size, stride, storage_offset)
    strides = (length, *self.stride()[1:])
    memory = F._as_strided_gather(self, shape, strides, begin, (len(self), length), (length, 1), 0)
    return memory.as_strided(shape, strides, begin)


def as_strided_batched(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Tensor:
    """``as_strided``; ``storage_offset`` counts from the start of the memory of the whole batch."""
    self = _unexpanded(self, size, stride, storage_offset)
    return self.as_strided((len(self), *size), (self.stride(0), *stride), storage_offset)


def as_strided_scatter_batched(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None
) -> Tensor:
    """``as_strided_scatter``."""
    self = _unexpanded(self, size, stride, storage_offset)
    return self.as_strided_scatter(src, (len(self), *size), (self.stride(0), *stride), storage_offset)


# -- sorted sequences ---------------------------------------------------------------------


def searchsorted_batched(
    sorted_sequence: Tensor,
    self: Tensor,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
) -> Tensor:
    """``searchsorted``; a batched sequence."""
    if sorted_sequence.ndim > 2:
        return F.searchsorted(
            sorted_sequence, self, out_int32=out_int32, right=right, side=side, sorter=sorter
        )
    found = F.searchsorted(
        sorted_sequence, rows(self), out_int32=out_int32, right=right, side=side, sorter=sorter
    )
    return found.reshape(self.shape)


def searchsorted_number_batched(
    sorted_sequence: Tensor,
    self: Number,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
) -> Tensor:
    """``searchsorted`` of a number in a batched sequence."""
    values = sorted_sequence.new_full(
        (len(sorted_sequence), 1), self, dtype=result_type(sorted_sequence, self)
    )
    found = F.searchsorted(
        sorted_sequence, values, out_int32=out_int32, right=right, side=side, sorter=sorter
    )
    return found.reshape((len(sorted_sequence),))


def isin_decomposition(elements: Tensor, test_elements: Tensor, invert: bool) -> Tensor:
    """``isin``: which elements equal one of ``test_elements``."""
    found = (elements.unsqueeze(-1) == test_elements.reshape(-1)).any(-1)
    return found.logical_not() if invert else found


# -- indices ------------------------------------------------------------------------------


def index_along(index: Tensor, dim: int, shape: Sequence[int]) -> Tensor:
    """Indices (B, k) for the logical dimension ``dim``, expanded to a value of shape ``shape``."""
    ndim = len(shape)
    if ndim == 1:
        return index.reshape((len(index),))
    at = wrap_dim(dim, ndim - 1) + 1
    index = index.reshape((len(index), -1) if index.numel() else (len(index), 0))
    view = index.view((len(index), *[1] * (at - 1), index.shape[1], *[1] * (ndim - 1 - at)))
    return view.expand((*shape[:at], index.shape[1], *shape[at + 1 :]))


def _at_least_1d(self: Tensor) -> Tensor:
    return self.unsqueeze(1) if self.ndim == 1 else self


def read_slices_batched(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """What reads slices, with batched indices."""
    values = _at_least_1d(self)
    found = values.gather(wrap_dim(dim, values.ndim - 1) + 1, index_along(index, dim, values.shape))
    return found.reshape((len(self),)) if self.ndim == 1 else found


def zeros_of_batch(source: Tensor, sizes: Sequence[int]) -> Tensor:
    """Zeros of these logical sizes, for each element of a batch."""
    return source.new_zeros((len(source), *sizes))


def _folded(
    self: Tensor, at: int, index: Tensor, source: Tensor, fold: str, include_self: bool = True
) -> Tensor:
    """``self`` changed along a dim by elements that meet what is there as a body says."""
    if fold == "set":
        return self.scatter(at, index, source)
    if fold == "sum" and include_self:
        return self.scatter_add(at, index, source)
    return self.scatter_reduce(at, index, source, fold, include_self=include_self)


def placed(
    self: Tensor, dim: int, index: Tensor, source: Any, keepdim: bool, fold: str, include_self: bool = True
) -> Tensor:
    """What writes elements along a dim that indices and what is written have lost, unless ``keepdim``."""
    if isinstance(source, (int, float, complex)):
        source = self.new_full(index.shape, source)
    if not keepdim and self.ndim:
        index, source = index.unsqueeze(dim), source.unsqueeze(dim)
    return _folded(self, dim, index, source, fold, include_self)


def write_along_batched(
    self: Tensor, dim: int, index: Tensor, source: Tensor, fold: str, include_self: bool = True
) -> Tensor:
    """What writes elements along a dim, where tensors without dimensions may meet vectors."""
    values = _at_least_1d(self)
    at = wrap_dim(dim, values.ndim - 1) + 1
    made = _folded(values, at, _at_least_1d(index), _at_least_1d(source), fold, include_self)
    return made.reshape(self.shape)


def write_slices_batched(
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    fold: str,
    include_self: bool = True,
    factor: Number = 1,
) -> Tensor:
    """What writes slices, times a factor, with batched indices (B, k)."""
    factor = as_number(factor, source.dtype.array_dtype)
    values = _at_least_1d(self)
    places = index_along(index, dim, values.shape)
    source = (source if factor == 1 else source * factor).reshape(places.shape)
    at = wrap_dim(dim, values.ndim - 1) + 1
    return _folded(values, at, places, source, fold, include_self).reshape(self.shape)


def fill_slices_batched(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """What fills slices, with batched indices and perhaps a batched value."""
    values = _at_least_1d(self)
    at = wrap_dim(dim, values.ndim - 1) + 1
    places = index_along(_positions(index, values.shape[at]), dim, values.shape)
    if isinstance(value, (int, float, complex)):
        return values.scatter(at, places, value).reshape(self.shape)
    # By a mask: a place that is named twice has one value, and gives it one gradient.
    filled = values.new_zeros(values.shape, dtype=bool_).scatter(at, places, True).reshape(self.shape)
    return F.where(filled, value.to(self.dtype).reshape((-1, *[1] * (self.ndim - 1))), self)


def read_into_corner_batched(self: Tensor, dim: int, index: Tensor, sizes: Sequence[int]) -> Tensor:
    """What reads elements along a dim into the front corner of zeros; tensors without dimensions may meet
    vectors."""
    count, shape = len(self), tuple(sizes) or (1,)
    at = wrap_dim(dim, len(shape)) + 1
    found = F._scatter_src_backward(_at_least_1d(self), at, _at_least_1d(index), (count, *shape))
    return found.reshape((count, *sizes))


def read_flat_batched(self: Tensor, index: Tensor) -> Tensor:
    """What reads elements of the flattened tensor."""
    flat = rows(self)
    return flat.gather(1, _positions(rows(index), flat.shape[1])).reshape(index.shape)


def write_flat_batched(
    self: Tensor, index: Tensor, source: Any, fold: str, include_self: bool = True
) -> Tensor:
    """What writes elements of the flattened tensor."""
    flat = rows(self)
    places = _positions(rows(index), flat.shape[1])
    if isinstance(source, (int, float, complex)):
        source = flat.new_full(places.shape, source)
    values = rows(source)
    if places.shape != values.shape:
        raise IndexError("Expected source and index to have the same number of elements")
    return _folded(flat, 1, places, values, fold, include_self).reshape(self.shape)


def _positions(index: Tensor, count: int) -> Tensor:
    """Flat indices counted from the front."""
    return F.where(index < 0, index + count, index)


# -- masks --------------------------------------------------------------------------------


def _chosen(self: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of ``self`` broadcast with an unbatched mask, and the positions where that is true."""
    ndim = max(self.ndim - 1, mask.ndim)
    shape = broadcast_shapes(self.shape[1:], mask.shape)
    flat = rows(pad_to_logical_rank(self, ndim).expand((len(self), *shape)))
    return flat, mask.expand(shape).reshape(-1).nonzero().reshape(-1)


def masked_select_batched(self: Tensor, mask: Tensor) -> Tensor:
    """``masked_select`` with an unbatched mask."""
    flat, places = _chosen(self, mask)
    return flat.index_select(1, places)


def masked_select_backward_batched(grad_output: Tensor, sizes: Sequence[int], mask: Tensor) -> Tensor:
    """The gradient of ``masked_select_batched``."""
    shape = broadcast_shapes(tuple(sizes), mask.shape)
    places = mask.expand(shape).reshape(-1).nonzero().reshape(-1)
    zeros = grad_output.new_zeros((len(grad_output), math.prod(shape)))
    return zeros.index_copy(1, places, grad_output).reshape((len(grad_output), *shape))


def _order(mask: Tensor) -> Tensor:
    """For each element where the mask (B, n) is true, how many such precede it; elsewhere something valid."""
    return (mask.cumsum(1) - 1).clamp(min=0)


def masked_scatter_batched(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``masked_scatter``."""
    self, mask = functional.broadcast_tensors(same_logical_rank(self, mask))
    flat, chosen = rows(self), rows(mask)
    values = rows(source)
    if flat.shape[1] == 0:
        return self.clone()
    places = _order(chosen)
    if values.shape[1] == 0:
        values, places = flat.new_zeros((len(flat), 1)), places + 1
    taken = values.gather(1, F.where(chosen, places, 0))  # an error if there are too few
    return F.where(chosen, taken, flat).reshape(self.shape)


def masked_scatter_backward_batched(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of ``masked_scatter_batched`` for its source."""
    grad_output, mask = functional.broadcast_tensors(same_logical_rank(grad_output, mask))
    count = math.prod(sizes)
    zeros = grad_output.new_zeros((len(grad_output), max(count, 1)))
    chosen = rows(mask)
    given = F.where(chosen, rows(grad_output), 0)
    made = zeros.scatter_add(1, _order(chosen).clamp(max=max(count, 1) - 1), given)
    return made.narrow(1, 0, count).reshape((len(grad_output), *sizes))
