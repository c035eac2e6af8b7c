"""Shape operators that are made of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..autograd.grad_mode import grad_mode
from ..autograd.in_place import become, check_resizable, resize
from ..autograd.linear_maps import Cast, apply_linear
from ..autograd.memory_overlap import NOTHING, check_no_internal_overlap, check_overlap
from ..autograd.variable_type_utils import (
    check_backend,
    check_cast,
    check_same_dtype,
    not_differentiable,
    requires_grad_in,
    warn_resized,
)
from ..core.interception import active
from ..core.memory_format import contiguous_format, preserve_format
from ..core.scalar_type import bool_, int64
from ..core.sym_int import SymInt, ragged_size
from ..kernels.creation import check_size
from ..kernels.dims import wrap_dim, wrap_dims
from ..kernels.layout import (
    check_bytes,
    infer_size,
    strides_in,
    suggest_memory_format,
    view_strides,
)
from ..kernels.views import split_sizes

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Shape = tuple[int, ...]
Tensors = tuple["Tensor", ...]


def write_list(
    op_name: str,
    functional: Callable[..., Tensors],
    args: Sequence[Any],
    outs: Sequence[Tensor],
    exact: bool = False,
    overlap: Mapping[int, str] = NOTHING,
) -> None:
    """Write each result of ``functional(*args)`` into the tensor that the list ``outs`` has for it.

    Raises RuntimeError, with nothing changed, for another number of tensors than there are results, for a
    tensor on another device, or of another dtype if that is ``exact``, for one that shares memory with an
    argument as ``overlap`` does not let it, and where gradients would be lost. A tensor of another shape is
    resized, with a warning unless it is empty.
    """
    for target in outs:
        check_overlap(op_name, target, args, overlap)
    results = functional(*args)
    if len(outs) != len(results):
        raise RuntimeError(
            f"{op_name}: expected an out= argument of size {len(results)}, got size {len(outs)}"
        )
    if grad_mode.enabled and requires_grad_in([results, [*outs]]):
        raise not_differentiable(op_name)
    for target, result in zip(outs, results, strict=True):
        check_backend(op_name, target, result)
        if exact:
            check_same_dtype(op_name, result._type, target._type)
        check_cast(op_name, result._type, target._type)
        if target.shape == result.shape:
            check_no_internal_overlap(op_name, target)
    for target, result in zip(outs, results, strict=True):
        if target.shape != result.shape:
            warn_resized(target.shape, result.shape)
            target.resize_(result.shape)
        target.copy_(result)


def copied(views: Any) -> Any:
    """Contiguous copies of a view, or of those of a tuple or list."""
    if isinstance(views, tuple | list):
        return tuple([copied(view) for view in views])
    return views.clone(memory_format=contiguous_format)


# ----------------------------------------------------------------------------------- shape


def reshaped(self: Tensor, shape: Sequence[int]) -> Tensor:
    """A view in another shape where the strides of what is not contiguous allow it, else a copy."""
    if not self._type.backend.is_strided:
        return self.view(tuple(shape))
    array = self._array
    size = infer_size(tuple(shape), array.size)
    if view_strides(array.shape, self.stride(), size) is not None:
        return self.view(size)
    return F._unsafe_view(self, size)


def flattened(self: Tensor, start_dim: int, end_dim: int) -> Tensor:
    """The dims from ``start_dim`` to ``end_dim`` as one; RuntimeError if they stand the wrong way round."""
    shape = self._array.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return self.reshape((1,))
    if start == end:
        return self
    return self.reshape((*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """``dim`` as several dims; RuntimeError if their sizes do not multiply to that of ``dim``."""
    shape = self._array.shape
    d = wrap_dim(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        return self.view(tuple(sizes))
    try:
        inferred = infer_size(tuple(sizes), shape[d])
    except RuntimeError as error:
        if "one dimension" in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) "
            "in the input tensor"
        ) from None
    return self.view((*shape[:d], *inferred, *shape[d + 1 :]))


def movedim(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    """The dims ``source`` moved to ``destination``; RuntimeError when they do not pair, or repeat."""
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the "
            f"same number of dims as destination ({list(destination)} dims)"
        )
    ndim = self._array.ndim
    froms = [wrap_dim(d, ndim) for d in source]
    tos = [wrap_dim(d, ndim) for d in destination]
    for what, given, dims in (("source", source, froms), ("destination", destination, tos)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    if not ndim:
        return F.alias(self)
    rest = iter([d for d in range(ndim) if d not in froms])
    at = dict(zip(tos, froms, strict=True))
    return self.permute(tuple([at[d] if d in at else next(rest) for d in range(ndim)]))


def adjoint(self: Tensor) -> Tensor:
    """The matrices transposed and conjugated."""
    return self.mH


# ------------------------------------------------------------------------- dtype and device


def to(
    self: Tensor, dtype: Any = None, device: Any = None, copy: bool = False, memory_format: Any = None
) -> Tensor:
    """``self`` as another dtype, on another device; itself where nothing changes and no copy is asked for."""
    T = self._type
    wanted = T.scalar_type if dtype is None else dtype
    moved = device is not None and device.type != T.backend.device.type
    if wanted is T.scalar_type and not moved and not copy and _stands_in(self, memory_format):
        return self
    if wanted is not T.scalar_type and not wanted.is_inexact:
        self = self.detach()  # no gradient flows through integers
    if moved:
        return _moved(self, wanted, device)
    if active:
        return F._to_copy(self, dtype=dtype, memory_format=memory_format)
    result: Tensor = T._to_copy(self, dtype, None, None, None, False, memory_format)
    return result


def _stands_in(self: Tensor, memory_format: Any) -> bool:
    """Whether nothing is left to do for this memory format."""
    if memory_format is None or memory_format is preserve_format:
        return True
    return memory_format is memory_format_of(self)


def memory_format_of(self: Tensor) -> Any:
    """The memory format in which ``self`` stands: contiguous_format unless its channels are innermost."""
    array = self._array
    return suggest_memory_format(array.shape, self._type.backend.lib.strides(array))


def _moved(self: Tensor, dtype: Any, device: Any) -> Tensor:
    """The tensor on another device."""
    from ..dispatch.legacy_type_dispatch import type_of

    moved: Tensor = apply_linear(Cast(self._type, type_of(dtype, device)), self)
    return moved


def made_contiguous(self: Tensor, memory_format: Any) -> Tensor:
    """``self`` if it stands without gaps in the memory format, row-major by default; else such a copy.
    RuntimeError for preserve_format where a copy would be made."""
    wanted = contiguous_format if memory_format is None else memory_format
    if self.is_contiguous(memory_format=contiguous_format if wanted is preserve_format else wanted):
        return self
    if wanted is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return self.clone(memory_format=wanted)


# ----------------------------------------------------------------------------------- parts


def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` elements of ``dim`` from ``start`` on; RuntimeError when there are not so many."""
    if not self._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    n = self._array.shape[wrap_dim(dim, self._array.ndim)]
    if n.__class__ is SymInt:
        raise ragged_size("narrow", dim, n)
    if not -n <= start <= n:
        raise IndexError(
            f"narrow(): start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    if start < 0:
        start += n
    if start > n - length:
        raise RuntimeError(f"narrow(): start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return F.slice(self, dim, start, start + length, 1)


def narrow_Tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    """As ``narrow``, with a 0-d integral tensor for ``start``. RuntimeError for any other."""
    if start.ndim or start.is_floating_point() or start.is_complex() or start.dtype is bool_:
        raise RuntimeError("narrow: start must be an 0-dim integral Tensor.")
    return narrow(self, dim, int(start), length)


def chunk(self: Tensor, chunks: int, dim: int = 0) -> Tensors:
    """At most ``chunks`` views, all of one size save the last."""
    return tuple(self.split_with_sizes(_chunk_sizes("chunk", self, chunks, dim), dim))


def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> Tensors:
    """As ``chunk``, of parts that are no views."""
    return tuple(self.unsafe_split_with_sizes(_chunk_sizes("unsafe_chunk", self, chunks, dim), dim))


def _chunk_sizes(name: str, self: Tensor, chunks: int, dim: int) -> tuple[int, ...]:
    if not self._array.ndim:
        raise RuntimeError(f"{name}() expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"{name}() expects `chunks` to be greater than 0, got: {chunks}")
    n = self._array.shape[wrap_dim(dim, self._array.ndim)]
    if n.__class__ is SymInt:
        raise ragged_size(name, dim, n)
    size = -(-n // chunks)
    return split_sizes(n, size) if size else (0,) * chunks


def tensor_split_sections(self: Tensor, sections: int, dim: int = 0) -> Tensors:
    """``sections`` views whose sizes differ by at most one. Raises RuntimeError for less than one, and for a
    0-d tensor."""
    n = _size_to_split(self, dim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    least, more = divmod(n, sections)
    return _split_at(self, [i * least + min(i, more) for i in range(1, sections)], dim, n)


def tensor_split_indices(self: Tensor, indices: Sequence[int], dim: int = 0) -> Tensors:
    """Views split before each of the indices."""
    return _split_at(self, indices, dim, _size_to_split(self, dim))


def tensor_split_tensor(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> Tensors:
    """As with a number, for a 0-d int64 tensor, or with indices, for a 1-d one. RuntimeError for another
    dtype, or more dimensions."""
    given = tensor_indices_or_sections
    _size_to_split(self, dim)
    if given.dtype is not int64:
        raise RuntimeError(
            f"tensor_split: expected tensor_indices_or_sections to have dtype of long, but got {given.dtype}"
        )
    if given.ndim > 1:
        raise RuntimeError(
            "tensor_split: expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
            f"tensor, but got a tensor with {given.ndim} dims"
        )
    if given.ndim:
        return tensor_split_indices(self, given.tolist(), dim)
    return tensor_split_sections(self, int(given), dim)


def _size_to_split(self: Tensor, dim: int) -> int:
    if not self._array.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    size: Any = self._array.shape[wrap_dim(dim, self._array.ndim)]
    if size.__class__ is SymInt:
        raise ragged_size("tensor_split", dim, size)
    return size  # type: ignore[no-any-return]


def _split_at(self: Tensor, indices: Sequence[int], dim: int, n: int) -> Tensors:
    bounds = [0, *indices, n]
    return tuple([F.slice(self, dim, a, b, 1) for a, b in pairwise(bounds)])


def hsplit(self: Tensor, parts: int | Sequence[int]) -> Tensors:
    """Views along the second dim, or the first of a 1-d tensor."""
    return _split_parts(self, parts, 0 if self.ndim == 1 else 1, "hsplit", 1)


def vsplit(self: Tensor, parts: int | Sequence[int]) -> Tensors:
    """Views along the first dim of a tensor of at least two."""
    return _split_parts(self, parts, 0, "vsplit", 2)


def dsplit(self: Tensor, parts: int | Sequence[int]) -> Tensors:
    """Views along the third dim."""
    return _split_parts(self, parts, 2, "dsplit", 3)


def _split_parts(self: Tensor, parts: int | Sequence[int], dim: int, name: str, least: int) -> Tensors:
    if self.ndim < least:
        raise RuntimeError(
            f"tengen.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, "
            f"but got a tensor with {self.ndim} dimensions!"
        )
    if not isinstance(parts, int):
        return tensor_split_indices(self, parts, dim)
    if parts <= 0 or self.shape[dim] % parts:
        raise RuntimeError(
            f"tengen.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{self.shape[dim]} is not divisible by the split_size {parts}!"
        )
    return tensor_split_sections(self, parts, dim)


# ------------------------------------------------------------------------------- repeating


def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    """``repeat`` with leading ones added to ``dims``."""
    missing = self._array.ndim - len(dims)
    return self.repeat((1,) * missing + tuple(dims))


def repeat_interleave(
    self: Tensor, repeats: Tensor, dim: int | None = None, output_size: int | None = None
) -> Tensor:
    """Slice ``i`` along ``dim`` ``repeats[i]`` times. RuntimeError for numbers that are not one, or one for
    each slice; IndexError for several, and ``dim``, of a 0-d tensor."""
    source = self.flatten() if dim is None else self
    d = wrap_dim(0 if dim is None else dim, source._array.ndim)
    if repeats.ndim == 0 or (repeats.ndim == 1 and repeats.shape[0] == 1):
        repeats = repeats.reshape((1,)).expand((source.shape[d],))
    elif repeats.ndim == 1 and not source.ndim:
        raise IndexError(f"repeat_interleave: dimension specified as {d}, but the tensor has no dimensions")
    elif repeats.ndim == 1:
        if repeats.shape[0] != source.shape[d]:
            raise RuntimeError(
                f"repeat_interleave: repeats must have the same size as input along dim, but got "
                f"repeats.size(0) = {repeats.shape[0]} and input.size({d}) = {source.shape[d]}"
            )
    else:
        raise RuntimeError("repeat_interleave: repeats must be 0-dim or 1-dim tensor")
    return source.index_select(d, F.repeat_interleave(repeats, output_size=output_size))


def repeat_interleave_int(
    self: Tensor, repeats: int, dim: int | None = None, output_size: int | None = None
) -> Tensor:
    """Each slice along ``dim`` ``repeats`` times. RuntimeError for a negative number."""
    if repeats < 0:
        raise RuntimeError(f"Repeats must be non-negative, got {repeats}")
    source = self.flatten() if dim is None else self
    d = wrap_dim(0 if dim is None else dim, source._array.ndim)
    if not source._array.ndim:
        return source.reshape((1,)).expand((repeats,)).clone()
    shape = source._array.shape
    expanded = source.unsqueeze(d + 1).expand((*shape[: d + 1], repeats, *shape[d + 1 :]))
    return expanded.clone(memory_format=contiguous_format).view(
        (*shape[:d], shape[d] * repeats, *shape[d + 1 :])
    )


# ----------------------------------------------------------------------------- rearranging


def fliplr(self: Tensor) -> Tensor:
    """Columns in reverse order. RuntimeError for less than two dimensions."""
    if self.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return self.flip((1,))


def flipud(self: Tensor) -> Tensor:
    """Rows in reverse order. RuntimeError for a 0-d tensor."""
    if self.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return self.flip((0,))


def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy rotated ``k`` times by 90 degrees in the plane of ``dims``. RuntimeError unless these are two,
    and not the same."""
    ndim = self._array.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = [wrap_dim(d, ndim) for d in dims]
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 1:
        return self.flip((second,)).transpose_(first, second)
    if turns == 2:
        return self.flip((first, second))
    if turns == 3:
        return self.flip((first,)).transpose_(first, second)
    return self.clone(memory_format=contiguous_format)


def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix's diagonal, or a matrix with a vector as its diagonal. RuntimeError for other numbers of
    dimensions."""
    if self.ndim == 1:
        return self.diag_embed(diagonal)
    if self.ndim == 2:
        return self.diagonal(diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")


# ------------------------------------------------------------- changing a tensor's own shape


def as_strided_(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """``self`` becomes a view of its memory by size and stride."""
    return become(self, "as_strided", tuple(size), tuple(stride), storage_offset)


def squeeze_(self: Tensor) -> Tensor:
    """``self`` loses its dims of size 1."""
    return become(self, "squeeze")


def squeeze__dim(self: Tensor, dim: int) -> Tensor:
    """``self`` loses ``dim`` if that has size 1."""
    return become(self, "squeeze_dim", dim)


def squeeze__dims(self: Tensor, dim: Sequence[int]) -> Tensor:
    """``self`` loses those of the dims that have size 1."""
    return become(self, "squeeze_dims", wrap_dims(dim, self._array.ndim))


def t_(self: Tensor) -> Tensor:
    """``self`` is transposed."""
    return become(self, "t")


def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dims of ``self`` change places."""
    return become(self, "transpose_int", dim0, dim1)


def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """``self`` gets a dim of size 1."""
    return become(self, "unsqueeze", dim)


def resize_(self: Tensor, size: Sequence[int], memory_format: Any = None) -> Tensor:
    """Another size for ``self``, in its own memory as far as that goes. NotImplementedError for other layouts
    than strided; RuntimeError where gradients or tangents would be of the old size, and for
    preserve_format."""
    if not self._type.backend.is_strided:
        instead = (
            "a nested tensor"
            if self.is_nested
            else f"tensors of the layout {self.layout}, see sparse_resize_"
        )
        raise NotImplementedError(f"resize_: not implemented for {instead}")
    check_resizable(self)
    shape = check_size(size)
    if memory_format is preserve_format:
        raise RuntimeError("resize_: preserve_format is not supported")
    strides = strides_in(memory_format, shape)
    own = self._type.backend.lib.strides(self._array)
    if self._array.shape == shape and (memory_format is None or strides == own):
        return self
    check_bytes(shape, self._type.dtype.itemsize)
    resize(self, shape, strides, prod(shape))
    return self


def resize_as_(self: Tensor, the_template: Tensor, memory_format: Any = None) -> Tensor:
    """The size of another tensor; with preserve_format also the order of its dimensions in memory."""
    if memory_format is preserve_format:
        memory_format = memory_format_of(the_template)
    return resize_(self, the_template.shape, memory_format)
