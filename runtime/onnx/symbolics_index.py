"""Symbolics of indexing, gathering and scattering."""

from __future__ import annotations

from typing import Any

from ..core.scalar_type import bool_, int64
from ..kernels.scatter import FOLDS
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .sizes import dynamic
from .symbolics import cast, int_vector, number, shape_of
from .symbolics_pointwise import scaled
from .symbolics_shape import filled, identity, permute_symbolic, reshaped


def _line(self: Ref) -> Ref:
    """A 0-d value as one with a dimension."""
    if self.ndim:
        return self
    made: Ref = onnx.Unsqueeze(self, [0])
    return Ref(made.name, made.dtype, (1,), made.data)


def gather_along(self: Ref, dim: int, index: Ref) -> Ref:
    """The element at each index along a dimension."""
    value, where = _line(self), _line(cast(index, int64))
    made: Ref = onnx.GatherElements(value, where, axis=dim % value.ndim)
    return made if index.ndim else onnx.Squeeze(made, [0])


def with_dim(self: Ref, dim: int) -> Ref:
    """The value with a dimension of size 1 inserted before ``dim``."""
    at = dim % (self.ndim + 1)
    return reshaped(self, (*self.shape[:at], 1, *self.shape[at:]))


def without_dim(self: Ref, dim: int) -> Ref:
    """The value without a dimension of size 1."""
    at = dim % self.ndim
    return reshaped(self, (*self.shape[:at], *self.shape[at + 1 :]))


def _fold(fold: str, include_self: bool) -> str:
    """How writes meet what is there, in ONNX's words."""
    if fold == "mean" or not include_self:
        raise Unsupported("the mean, or without self")
    return "none" if fold == "set" else FOLDS[fold]


def scatter_along(
    self: Ref, dim: int, index: Ref, src: Any, fold: str, include_self: bool = True, fresh: bool = False
) -> Ref:
    """The tensor changed at each index along a dimension."""
    reduction = _fold(fold, include_self)
    value, where = number(_line(self)), _line(cast(index, int64))
    if not isinstance(src, Ref):
        source = onnx.Expand(constant(src, value.dtype), shape_of(where))
    else:
        source = cast(_line(src), value.dtype)
        # What the index does not reach is not used.
        for d, (n, m) in enumerate(zip(source.shape, where.shape, strict=True)):
            if n != m:
                source = onnx.Slice(source, [0], [m], [d])
        source.shape = where.shape
    if 0 in where.shape:
        return identity(self)
    made = onnx.ScatterElements(value, where, source, axis=dim % value.ndim, reduction=reduction)
    made = cast(made, self.dtype)
    return made if self.ndim else onnx.Squeeze(made, [0])


def scatter_flat(
    self: Ref, index: Ref, source: Any, fold: str, include_self: bool = True, fresh: bool = False
) -> Ref:
    """The tensor changed at indices of its flattened elements."""
    flat, places = reshaped(self, (-1,)), reshaped(index, (-1,))
    source = reshaped(source, (-1,)) if isinstance(source, Ref) else source
    return reshaped(scatter_along(flat, 0, places, source, fold, include_self), self.shape)


def zeros_of(sizes: Any, like: Ref) -> Ref:
    """Zeros of these sizes."""
    return filled(sizes, 0, like.dtype)


def in_corner(self: Ref, sizes: Any) -> Ref:
    """The tensor in the front corner of zeros."""
    if tuple(self.shape) == tuple(sizes):
        return self
    if len(sizes) != self.ndim:
        return reshaped(self, sizes)
    behind = [n - m for n, m in zip(sizes, self.shape, strict=True)]
    made: Ref = onnx.Pad(self, [*[0] * self.ndim, *behind])
    return made


def gather_slices(self: Ref, dim: int, index: Ref, whole: bool = False) -> Ref:
    """The slices at indices of a dimension."""
    if not self.ndim:
        return identity(self)
    made: Ref = onnx.Gather(self, index if whole else _line(index), axis=dim % self.ndim)
    return made


def take_along_dim_symbolic(self: Ref, indices: Ref, dim: int | None) -> Ref:
    """The element at each index along a dimension, all others broadcast."""
    if dim is None:
        flat = onnx.Reshape(self, [-1])
        made: Ref = onnx.Gather(flat, onnx.Reshape(indices, [-1]), axis=0)
        return made
    axis = dim % self.ndim
    if any(n != m for d, (n, m) in enumerate(zip(self.shape, indices.shape, strict=True)) if d != axis):
        raise Unsupported("take_along_dim that broadcasts")
    made = onnx.GatherElements(self, indices, axis=axis)
    return made


def gather_flat(self: Ref, index: Ref) -> Ref:
    """The elements at indices of the flattened tensor."""
    made: Ref = onnx.Gather(onnx.Reshape(self, [-1]), index, axis=0)
    return made


def embedding_symbolic(weight: Ref, indices: Ref) -> Ref:
    """The rows of a table."""
    made: Ref = onnx.Gather(weight, indices, axis=0)
    return made


def masked_fill_symbolic(self: Ref, mask: Ref, value: Any) -> Ref:
    """The tensor with one value where a mask is true."""
    fill = cast(value, self.dtype)
    made: Ref = onnx.Where(cast(mask, bool_), fill, self)
    return made


class _Index:
    """An advanced index: tensors of ints that broadcast, masks, and dimensions that stay.

    A mask stands for a tensor of ints for each of its dimensions, whose length only the model knows.
    """

    def __init__(self, self_: Ref, indices: Any) -> None:
        self.source = self_
        self.dims: list[int] = []
        self.parts: list[Ref] = []
        at = 0
        for index in indices:
            columns = [] if index is None else _columns(index)
            self.dims += range(at, at + len(columns))
            self.parts += columns
            at += max(1, len(columns))
        self.rest = [d for d in range(self_.ndim) if d not in self.dims]
        self.adjacent = self.dims == list(range(self.dims[0], self.dims[-1] + 1)) if self.dims else True
        self.known = all(None not in p.shape for p in self.parts)
        #: The shape of the index; where it has masks, only how many dimensions that has is known.
        self.shape: tuple[int, ...] = _broadcast([tuple(p.shape) for p in self.parts])

    def where(self) -> Ref:
        """The index as ONNX takes it: one vector for each place. GatherND takes negative ones too."""
        columns = [onnx.Unsqueeze(self._wide(part), [len(self.shape)]) for part in self.parts]
        made: Ref = onnx.Concat(*columns, axis=len(self.shape)) if len(columns) > 1 else columns[0]
        return made

    def _wide(self, part: Ref) -> Ref:
        if self.known:
            return part if tuple(part.shape) == self.shape else onnx.Expand(part, int_vector(self.shape))
        for other in self.parts:  # zeros of the other's shape, which the model knows
            part = part if other is part else part + other * 0
        return part

    @property
    def leading(self) -> list[int]:
        """The order of dimensions in which those that are indexed come first."""
        return [*self.dims, *self.rest]

    def placed(self) -> list[int]:
        """How the result's dimensions, those of the index first, are to be ordered."""
        count, rest = len(self.shape), len(self.rest)
        before = sum(d < self.dims[0] for d in self.rest) if self.adjacent else 0
        return [*range(count, count + before), *range(count), *range(count + before, count + rest)]

    def sizes(self, where: Ref) -> Ref:
        """The shape of what is found, as a value; ``where`` is the index as ONNX takes it."""
        rest = [self.source.shape[d] for d in self.rest]
        before = self.placed().index(0)
        if self.known:
            return int_vector([*rest[:before], *self.shape, *rest[before:]])
        own = onnx.Shape(where, start=0, end=-1)
        parts = [int_vector(part) for part in (rest[:before], rest[before:])]
        made: Ref = onnx.Concat(parts[0], own, parts[1], axis=0)
        return made


def _columns(index: Ref) -> list[Ref]:
    """The tensors of ints that an index stands for: a mask, the places where it is true."""
    if index.dtype.name not in ("bool", "uint8"):
        return [cast(index, int64)]
    if not index.ndim:
        raise Unsupported("a mask without dimensions as an index")
    found = onnx.NonZero(cast(index, bool_))
    return [onnx.Gather(found, constant(d, int64), axis=0) for d in range(index.ndim)]


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    ndim = max((len(s) for s in shapes), default=0)
    wide = [(1,) * (ndim - len(s)) + s for s in shapes]
    return tuple(next((n for n in column if n != 1), column[0]) for column in zip(*wide, strict=True))


def index_symbolic(self: Ref, indices: Any) -> Ref:
    """The elements at the places that tensors of ints name."""
    index = _Index(self, indices)
    if not index.dims:
        return identity(self)
    if len(index.dims) == 1:
        made: Ref = onnx.Gather(self, index.parts[0], axis=index.dims[0])
        return made
    turned = permute_symbolic(self, index.leading)
    found = onnx.GatherND(turned, index.where())
    found.shape = (*index.shape, *[self.shape[d] for d in index.rest])
    return permute_symbolic(found, index.placed())


def put(self: Ref, indices: Any, values: Ref, accumulate: bool) -> Ref:
    """The tensor with other elements at the places that tensors of ints, or a mask, name."""
    chosen = [i for i in indices if i is not None]
    if len(chosen) == 1 and chosen[0].dtype is bool_ and not accumulate and not values.ndim:
        mask = chosen[0]
        lead = next(d for d, i in enumerate(indices) if i is not None)
        rest = self.ndim - lead - mask.ndim
        if rest:
            mask = onnx.Unsqueeze(mask, list(range(mask.ndim, mask.ndim + rest)))
        made: Ref = onnx.Where(mask, cast(values, self.dtype), self)
        return made
    index = _Index(self, indices)
    value = number(self)
    where, order = index.where(), index.placed()
    wide = onnx.Expand(cast(values, value.dtype), index.sizes(where))
    wide.shape = (None,) * len(order)
    wide = permute_symbolic(wide, [order.index(d) for d in range(len(order))])
    made = onnx.ScatterND(
        permute_symbolic(value, index.leading), where, wide, reduction="add" if accumulate else "none"
    )
    made.shape = tuple(self.shape[d] for d in index.leading)
    return cast(permute_symbolic(made, [index.leading.index(d) for d in range(self.ndim)]), self.dtype)


def scatter_slices(
    self: Ref,
    dim: int,
    index: Ref,
    source: Ref,
    fold: str,
    include_self: bool = True,
    fresh: bool = False,
    factor: Any = 1,
    by_count: bool = False,
    skipped: int | None = None,
) -> Ref:
    """The tensor changed by slices, times a factor, at indices of a dimension."""
    if by_count or (skipped is not None and skipped >= 0):
        raise Unsupported("slices that do not count in full")
    if index.ndim != 1 and source.ndim - self.ndim == index.ndim - 1:  # the indices stand in the place of dim
        sizes = [*self.shape]
        sizes[dim] = -1
        source, index = reshaped(source, sizes), reshaped(index, (-1,))
    return _put_slices(self, dim, index, scaled(source, factor), _fold(fold, include_self))


def fill_slices(self: Ref, dim: int, index: Ref, value: Any) -> Ref:
    """The tensor with one value in the slices at indices of a dimension."""
    return _put_slices(self, dim, index, value, "none")


def _put_slices(self: Ref, dim: int, index: Ref, source: Any, reduction: str) -> Ref:
    if not self.ndim:
        raise Unsupported("of a tensor without dimensions")
    axis = dim % self.ndim
    turned = [axis, *[d for d in range(self.ndim) if d != axis]]
    value = number(self)
    where = onnx.Unsqueeze(_line(index), [1])
    slices = source if isinstance(source, Ref) else constant(source, value.dtype)
    slices = cast(slices, value.dtype)
    if slices.ndim == self.ndim:
        slices = permute_symbolic(slices, turned)
    else:
        count = _line(index).shape[0]
        slices = onnx.Expand(slices, int_vector([count, *[self.shape[d] for d in turned[1:]]]))
    made = onnx.ScatterND(permute_symbolic(value, turned), where, slices, reduction=reduction)
    made.shape = tuple(self.shape[d] for d in turned)
    return cast(permute_symbolic(made, [turned.index(d) for d in range(self.ndim)]), self.dtype)


def one_hot(self: Ref, num_classes: int, result: Any) -> Ref:
    """A 1 in the place that each number names, among zeros."""
    if num_classes < 0:
        raise Unsupported("the number of classes would depend on elements")
    values = constant([0, 1])
    made: Ref = onnx.OneHot(self, constant(num_classes, int64), values, axis=-1)
    return made


def nonzero(self: Ref) -> Ref:
    """The places of the elements that are not zero, one a row."""
    if not self.ndim:
        raise Unsupported("of a tensor without dimensions")
    made: Ref = onnx.Transpose(onnx.NonZero(self), perm=[1, 0])
    return made


def masked_select_symbolic(self: Ref, mask: Ref) -> Ref:
    """The elements where a mask is true."""
    if dynamic((self.shape, mask.shape)):
        raise Unsupported("with a dynamic axis")
    if self.shape != mask.shape:
        shape = _broadcast([tuple(self.shape), tuple(mask.shape)])
        self, mask = onnx.Expand(self, int_vector(shape)), onnx.Expand(mask, int_vector(shape))
    flat = onnx.Reshape(mask, [-1])
    made: Ref = onnx.Compress(reshaped(self, [-1]), flat)
    return made
