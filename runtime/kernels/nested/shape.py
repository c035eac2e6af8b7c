"""Kernels over ragged arrays that move and choose elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.memory_format import check_nested_format, contiguous_format
from ...core.sym_int import SymInt
from .. import cpu
from ..creation import fill_by
from ..dims import wrap_dim, wrap_dims
from ..layout import infer_size
from ..shape import cat
from ..sparse.stored import exchanged
from .array import Array, JaggedArray, NestedArray, RaggedArray, of_components
from .expansion import expanded_to
from .pointwise import nested_like


def inner_dim(self: RaggedArray, dim: int, ragged: bool = True) -> int:
    """A dimension of the components, counted from their front. RuntimeError for dim 0.

    Without ``ragged`` also for the ragged dimension of a jagged array.
    """
    at = wrap_dim(dim, self.ndim)
    if not at:
        raise RuntimeError("not supported for a nested tensor on dim=0, which counts the components")
    if not ragged and isinstance(self, JaggedArray) and at == self.ragged_idx:
        raise RuntimeError(f"not supported for a nested tensor on its ragged dimension, dim={at}")
    return at - 1


def over(self: RaggedArray, dims: Sequence[int], function: Callable[..., Array], *others: RaggedArray) -> Any:
    """What a kernel that combines elements along dimensions of the components gives for each.

    It is called once, on the values, where components do not differ in these dimensions.
    """
    if isinstance(self, JaggedArray) and self.ragged_idx - 1 not in dims:
        return self.with_values(function(self.values, *[other.matched_values(self) for other in others]))
    components = zip(self.components(), *[other.components() for other in others], strict=True)
    return self.with_components([function(*given) for given in components])


# -- what is stored


def nested_values(self: RaggedArray) -> Array:
    return self.values


def nested_get_offsets(self: RaggedArray) -> Array:
    return _jagged(self).offsets


def nested_get_lengths(self: RaggedArray) -> Array:
    """The lengths of the components, which are none where there are no gaps."""
    lengths = _jagged(self).lengths
    return np.empty(0, np.int64) if lengths is None else lengths


def nested_tensor_size(self: RaggedArray) -> Array:
    """The shape of each component, a row."""
    shapes = [component.shape for component in self.components()]
    return np.array(shapes, np.int64).reshape(len(shapes), self.ndim - 1)


def _jagged(self: RaggedArray) -> JaggedArray:
    if not isinstance(self, JaggedArray):
        raise RuntimeError("expected a nested tensor of the layout tengen.jagged, not tengen.strided")
    return self


def nested_with_values(self: Array, like: RaggedArray) -> RaggedArray:
    """The components of ``like`` with other values."""
    return nested_like(like, self)


def nested_expand_as(self: Any, like: RaggedArray) -> RaggedArray:
    """What broadcasts to components, in their sizes."""
    return expanded_to(self, like)


def nested_with_components(tensors: Sequence[Array], like: RaggedArray) -> RaggedArray:
    """Other components, of the ragged sizes of those of ``like``."""
    return like.with_components(tensors)


def nested_to_copy(self: RaggedArray, dtype: Any, memory_format: Any) -> RaggedArray:
    """A copy, as a dtype, None for its own. RuntimeError for channels_last and its like."""
    check_nested_format(memory_format)
    copied = self.copy()
    return copied if dtype is None else copied.with_values(cpu.cast(copied.values, dtype))


def nested_clone(self: RaggedArray, memory_format: Any) -> RaggedArray:
    """A copy; with ``contiguous_format`` the components one behind the other.

    RuntimeError for channels_last and its like.
    """
    check_nested_format(memory_format)
    return nested_pack(self).copy() if memory_format is contiguous_format else self.copy()


def nested_copy(self: RaggedArray, src: RaggedArray) -> RaggedArray:
    """The elements of ``src`` in the components of ``self``; the offsets may be others of the same sizes."""
    if src.shape == self.shape or type(src) is not type(self):
        return src
    if [c.shape for c in src.components()] != [c.shape for c in self.components()]:
        return src
    return self.with_components(src.components())


def nested_fill(self: RaggedArray, value: Any) -> RaggedArray:
    """The same components, with all elements ``value``."""
    return self.with_values(np.full_like(self.values, value))


def fill_of_nested(self: RaggedArray, value: Array) -> RaggedArray:
    """The same components, with the element of a 0-d array everywhere; RuntimeError for another."""
    return self.with_values(fill_by(self.values, value))


def nested_zero(self: RaggedArray) -> RaggedArray:
    """Zeros in the same places."""
    return self.with_values(np.zeros_like(self.values))


def nested_pack(self: RaggedArray) -> RaggedArray:
    """The same components one behind the other in C's order."""
    if not isinstance(self, JaggedArray):
        return self
    if self.lengths is None:
        return self.with_values(np.ascontiguousarray(self.values))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])
    components = self.components()
    values = np.concatenate(components, self.ragged_idx - 1) if components else self.values
    return JaggedArray(values, offsets, None, self.ragged_idx)


def nested_to_padded_tensor(self: RaggedArray, padding: float, output_size: Sequence[int] | None) -> Array:
    """The components in one strided array, with ``padding`` where one is smaller than that.

    RuntimeError for a size in which a component has no place.
    """
    if isinstance(self, JaggedArray) and self.lengths is not None:
        raise RuntimeError("not supported for nested tensors with holes")
    components = self.components()
    shapes = np.array([component.shape for component in components], np.int64).reshape(
        len(components), self.ndim - 1
    )
    least = (len(components), *(shapes.max(0).tolist() if len(components) else [0] * (self.ndim - 1)))
    shape = least if output_size is None else tuple(output_size)
    if len(shape) != len(least):
        raise RuntimeError(
            f"output_size {list(shape)} must have {len(least)} sizes, as the nested tensor "
            "has "
            "dimensions. Broadcasting is not supported."
        )
    if any([n < m for n, m in zip(shape, least, strict=True)]):
        raise RuntimeError(
            f"output_size {list(shape)} is less than the padded size {list(least)}. "
            "Truncation "
            "is not supported."
        )
    padded = np.full(shape, cpu.cast(np.asarray(padding), self.values.dtype), self.values.dtype)
    for number, component in enumerate(components):
        padded[number][tuple([slice(n) for n in component.shape])] = component
    return padded


# -- dimensions


def nested_transpose(self: RaggedArray, dim0: int, dim1: int) -> RaggedArray:
    """Two dimensions exchanged; not that which counts the components."""
    return _permuted(self, exchanged(self.ndim, dim0, dim1))


def nested_permute(self: RaggedArray, dims: Sequence[int]) -> RaggedArray:
    """The dimensions in another order, behind that which counts the components. RuntimeError unless all are
    named, and that one first."""
    if len(dims) != self.ndim:
        raise RuntimeError(f"got {len(dims)} dimensions for a nested tensor of {self.ndim}")
    return _permuted(self, [wrap_dim(d, self.ndim) for d in dims])


def _permuted(self: RaggedArray, order: Sequence[int]) -> RaggedArray:
    if order[0] != 0:
        raise RuntimeError("not supported for a nested tensor on dim=0, which counts the components")
    if len(set(order)) != len(order):
        raise RuntimeError(f"a dimension is repeated in {list(order)}")
    inner = [d - 1 for d in order[1:]]
    if isinstance(self, JaggedArray):
        return self.turned(self.values.transpose(inner), order.index(self.ragged_idx))
    return self.with_components([component.transpose(inner) for component in self.components()])


def nested_unsqueeze(self: RaggedArray, dim: int) -> RaggedArray:
    """A new dimension of size 1, behind that which counts the components. RuntimeError for one before it."""
    at = wrap_dim(dim, self.ndim + 1)
    if not at:
        raise RuntimeError("not supported for a nested tensor on dim=0, which counts the components")
    if isinstance(self, JaggedArray):
        return self.turned(np.expand_dims(self.values, at - 1), self.ragged_idx + (at <= self.ragged_idx))
    return self.with_components([np.expand_dims(component, at - 1) for component in self.components()])


def nested_squeeze(self: RaggedArray, dim: int) -> RaggedArray:
    """Without a dimension, if it is of size 1 in all components."""
    at = inner_dim(self, dim, ragged=False)
    if self.shape[at + 1] != 1:
        return self
    if isinstance(self, JaggedArray):
        return self.turned(np.squeeze(self.values, at), self.ragged_idx - (at + 1 < self.ragged_idx))
    return self.with_components([np.squeeze(component, at) for component in self.components()])


def squeeze_nested_dims(self: RaggedArray, dim: Sequence[int]) -> RaggedArray:
    """Without those of the dimensions that are of size 1 in all parts."""
    for at in sorted(wrap_dims(tuple(dim), self.ndim), reverse=True):
        self = nested_squeeze(self, at)
    return self


def nested_view(self: RaggedArray, size: Sequence[Any]) -> RaggedArray:
    """Other dimensions of the same elements; the ragged one, -1 or its symbol, stays where it is.
    RuntimeError for another number of components."""
    if not size or size[0] != self.shape[0]:
        raise RuntimeError(
            f"cannot view a nested tensor of the size {list(self.shape)} as {list(size)}: the first "
            "size "
            f"must be {self.shape[0]}, the number of components"
        )
    if isinstance(self, JaggedArray):
        return _jagged_view(self, tuple(size))
    inner = [_size_of_components(self, at, n) for at, n in enumerate(size[1:], 1)]
    shapes = [
        infer_size(
            tuple([column[i] if isinstance(column, tuple) else column for column in inner]), component.size
        )
        for i, component in enumerate(self.components())
    ]
    return of_components(
        [component.reshape(shape) for component, shape in zip(self.components(), shapes, strict=True)]
    )


def _size_of_components(self: NestedArray | RaggedArray, at: int, n: Any) -> Any:
    """A size of a view: the number of all components, or those of each, where it is inherited."""
    if isinstance(n, int) and n != -1:
        return n
    if at >= self.ndim or (isinstance(n, SymInt) and n != self.shape[at]):
        raise RuntimeError(
            f"a nested tensor of the size {list(self.shape)} has no dimension {at} of size {n}"
        )
    found = [component.shape[at - 1] for component in self.components()]
    return tuple(found)


def _jagged_view(self: JaggedArray, size: tuple[Any, ...]) -> JaggedArray:
    at = next((i for i, n in enumerate(size) if n == self.ragged_size), None)
    if at is None:
        at = next((i for i, n in enumerate(size) if n == -1), None)
    if at is None or not _agrees(self, size, at):
        raise RuntimeError(
            f"cannot view a nested tensor of the size {list(self.shape)} as {list(size)}: the ragged "
            "dimension, -1 or its own size, must stay between as many elements"
        )
    total = self.values.shape[self.ragged_idx - 1]
    return self.turned(self.values.reshape(*size[1:at], total, *size[at + 1 :]), at)


def _agrees(self: JaggedArray, size: tuple[Any, ...], at: int) -> bool:
    """Whether a view has as many elements before and behind the ragged dimension."""
    own, r = self.values.shape, self.ragged_idx
    before, behind = size[1:at], size[at + 1 :]
    if any([not isinstance(n, int) or n < 0 for n in (*before, *behind)]):
        return False
    return bool(np.prod(before) == np.prod(own[: r - 1]) and np.prod(behind) == np.prod(own[r:]))


def nested_expand(self: RaggedArray, size: Sequence[Any]) -> RaggedArray:
    """Dimensions of size 1 repeated; the others are -1 or as they are. RuntimeError for other sizes, also of
    the dimension that counts the components."""
    if len(size) != self.ndim:
        raise RuntimeError(f"got {len(size)} sizes for a nested tensor of {self.ndim} dimensions")
    grown = {}
    for at, (n, own) in enumerate(zip(size, self.shape, strict=True)):
        if n == -1 or n == own:
            continue
        if own != 1 or not at:
            raise RuntimeError(
                f"the size {n} must be {own}, or -1, at dimension {at} of a nested tensor of the "
                "size "
                f"{list(self.shape)}"
            )
        grown[at - 1] = n
    if not grown:
        return self

    def repeated(component: Array) -> Array:
        return np.broadcast_to(component, [grown.get(d, n) for d, n in enumerate(component.shape)])

    found: RaggedArray = over(self, list(grown), repeated)
    return found


# -- components


def nested_unbind(self: RaggedArray, dim: int) -> list[Array]:
    """The components. RuntimeError for another ``dim`` than 0."""
    if wrap_dim(dim, self.ndim):
        raise RuntimeError(f"a nested tensor can only be unbound along dim=0, got dim={dim}")
    return self.components()


def nested_select(self: RaggedArray, dim: int, index: int) -> Any:
    """A component; or of each component one slice along a dimension that is not ragged. IndexError for an
    index out of bounds, RuntimeError along the ragged dimension of the layout jagged."""
    at = wrap_dim(dim, self.ndim)
    if not at:
        count = self.shape[0]
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {count}")
        return self.components()[index]
    inner = inner_dim(self, dim, ragged=False)
    if isinstance(self, JaggedArray):
        return self.turned(_chosen(self.values, inner, index, None), self.ragged_idx - (at < self.ragged_idx))
    return self.with_components(
        [_chosen(component, inner, index, i) for i, component in enumerate(self.components())]
    )


def _chosen(component: Array, dim: int, index: int, number: int | None) -> Array:
    size = component.shape[dim]
    if not -size <= index < size:
        of = "" if number is None else f" of component {number}"
        raise IndexError(f"index {index} is out of bounds for dimension {dim + 1}{of} with size {size}")
    place: Any = (*[slice(None)] * dim, index, ...)
    chosen: Array = component[place]  # a view, of 0 dimensions too
    return chosen


def nested_select_backward(grad: Any, like: RaggedArray, dim: int, index: int) -> RaggedArray:
    """Zeros but for what ``select`` chose."""
    zeros = like.with_values(
        np.zeros(like.values.shape, grad.dtype.base if isinstance(grad, RaggedArray) else grad.dtype)
    )
    at = wrap_dim(dim, like.ndim)
    if not at:
        zeros.components()[index][...] = grad
        return zeros
    for component, one in zip(zeros.components(), grad.components(), strict=True):
        np.moveaxis(component, at - 1, 0)[index] = one
    return zeros


def nested_slice(self: RaggedArray, dim: int, start: int | None, end: int | None, step: int) -> RaggedArray:
    """A slice of each component along a dimension that is not ragged; along dim 0 some of the components.
    RuntimeError for a step below 1, and along the ragged dimension of the layout jagged."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    at = wrap_dim(dim, self.ndim)
    if not at:
        chosen = range(*slice(start, end, step).indices(self.shape[0]))
        return self if len(chosen) == self.shape[0] else chosen_components(self, chosen)
    inner = inner_dim(self, dim, ragged=False)
    place = (*[slice(None)] * inner, slice(start, end, step))
    return over(self, [inner], lambda component: component[place])  # type: ignore[no-any-return]


def nested_slice_backward(
    grad: RaggedArray, like: RaggedArray, dim: int, start: int | None, end: int | None, step: int
) -> RaggedArray:
    """Zeros but for the slice."""
    zeros = like.with_values(np.zeros(like.values.shape, grad.values.dtype))
    at = wrap_dim(dim, like.ndim)
    if not at:
        chosen = range(*slice(start, end, step).indices(like.shape[0]))
        components = zeros.components()
        targets = [components[i] for i in chosen]
    else:
        place = (*[slice(None)] * (at - 1), slice(start, end, step))
        targets = [component[place] for component in zeros.components()]
    for target, one in zip(targets, grad.components(), strict=True):
        target[...] = one
    return zeros


def chosen_components(self: RaggedArray, chosen: range) -> RaggedArray:
    """Some of the components."""
    components = self.components()
    kept = [components[i] for i in chosen]
    if not isinstance(self, JaggedArray):
        return of_components(kept)
    at = self.ragged_idx - 1
    offsets = np.concatenate(
        [np.zeros(1, np.int64), np.cumsum(self.counts[chosen.start : chosen.stop : chosen.step])]
    )
    empty = self.values[(*[slice(None)] * at, slice(0))]
    return JaggedArray(np.concatenate([empty, *kept], at), offsets, None, self.ragged_idx)


def nested_split(self: RaggedArray, split_size: int, dim: int) -> list[RaggedArray]:
    """Pieces of ``split_size`` along a dimension, the last one with what is left. RuntimeError for a negative
    ``split_size``, or 0 where there is something to split."""
    size = _regular_size(self, dim)
    if split_size < 0 or (split_size == 0 and size):
        raise RuntimeError(f"expects split_size be non-negative, but got split_size={split_size}")
    starts = range(0, max(size, 1), max(split_size, 1))
    return [nested_slice(self, dim, start, min(start + split_size, size), 1) for start in starts]


def nested_split_with_sizes(self: RaggedArray, split_sizes: Sequence[int], dim: int) -> list[RaggedArray]:
    """Pieces of these sizes along a dimension. RuntimeError unless they add up to its size, none below 0."""
    size = _regular_size(self, dim)
    if sum(split_sizes) != size or any([n < 0 for n in split_sizes]):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at "
            "dimension "
            f"{dim}), but got split_sizes={list(split_sizes)}"
        )
    ends = np.cumsum(split_sizes).tolist()
    return [nested_slice(self, dim, end - n, end, 1) for n, end in zip(split_sizes, ends, strict=True)]


def _regular_size(self: RaggedArray, dim: int) -> int:
    at = wrap_dim(dim, self.ndim)
    size: Any = self.shape[at]
    if isinstance(size, SymInt):
        raise RuntimeError(f"not supported for a nested tensor on its ragged dimension, dim={at}")
    count: int = size
    return count


def nested_cat(tensors: Sequence[RaggedArray], dim: int) -> RaggedArray:
    """Arrays of the same ragged sizes, joined component by component; along dim 0 as more components.
    RuntimeError where other sizes differ, along a ragged dimension, and along dim 0 of the layout jagged."""
    first = tensors[0]
    at = wrap_dim(dim, first.ndim)
    if not at:
        if any([isinstance(t, JaggedArray) for t in tensors]):
            raise RuntimeError("not supported for a nested tensor of the layout jagged on dim=0")
        if len({t.ndim for t in tensors}) > 1:
            found = ", ".join([str(t.ndim) for t in tensors])
            raise RuntimeError(f"expected nested tensors of one number of dimensions, but got {found}")
        return of_components([component for t in tensors for component in t.components()])
    if isinstance(first.shape[at], SymInt) and isinstance(first, JaggedArray):
        raise RuntimeError(f"not supported for a nested tensor on its ragged dimension, dim={at}")
    for number, t in enumerate(tensors):
        if t.__class__ is not first.__class__ or t.ndim != first.ndim or _rest(t, at) != _rest(first, at):
            raise RuntimeError(
                f"expected nested tensors of the same sizes but for dimension {at}, but got "
                f"{list(first.shape)} and, as tensor {number}, {list(t.shape)}"
            )
    return over(first, [at - 1], lambda *given: cat(given, at - 1), *tensors[1:])  # type: ignore[no-any-return]


def _rest(self: RaggedArray, at: int) -> Any:
    return self.shape[:at] + self.shape[at + 1 :]


def nested_restore_dims(
    self: RaggedArray, dim: Sequence[int] | None, keepdim: bool, ndim: int
) -> RaggedArray:
    """A reduction's result with the dimensions again that were reduced, of size 1."""
    if keepdim or not dim:
        return self
    for d in sorted([wrap_dim(d, ndim) for d in dim]):
        self = nested_unsqueeze(self, d)
    return self
