"""Functions of shapes, and indexing by arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tengen.generated import functions as _f

from .. import functional
from ..core.scalar_type import dtype as DType
from ..tensors.tensor import Tensor
from .operands import axes_of, one_axis, promoted


def broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]:
    """The arrays as views of the shape to which they broadcast."""
    return tuple(functional.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_shapes(*shapes: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """The shape to which the shapes broadcast; a size that is not known is None."""
    found: list[int | None] = []
    for position in range(1, max(map(len, shapes), default=0) + 1):
        sizes = {s[-position] for s in shapes if len(s) >= position} - {1}
        known = sizes - {None}
        if len(known) > 1:
            given = ", ".join(map(str, shapes))
            raise ValueError(f"broadcast_shapes(): the shapes do not broadcast together: {given}")
        found.insert(0, known.pop() if known else None if sizes else 1)
    return tuple(found)


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """A view of a shape to which ``x`` broadcasts."""
    return _f.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays one after the other along an axis; flattened where it is None."""
    given = _of_one_dtype(arrays)
    if axis is None:
        return _f.cat([a.reshape(-1) for a in given])
    return _f.cat(given, one_axis(given[0], axis))


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """A view with dimensions of one element where the axes of the result say."""
    if isinstance(axis, int):
        return _f.unsqueeze(x, one_axis(x, axis, 1))
    for each in sorted(one_axis(x, a, len(axis)) for a in _different("expand_dims", x, axis, len(axis))):
        x = _f.unsqueeze(x, each)
    return x


def flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The elements in reverse order along axes."""
    return _f.flip(x, axes_of(x, axis))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Matrices with rows and columns exchanged, a view."""
    return x.mT


def moveaxis(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor:
    """A view with axes at other positions."""
    sources, destinations = ((a,) if isinstance(a, int) else a for a in (source, destination))
    return _f.movedim(x, sources, destinations)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """A view with all axes in another order."""
    return _f.permute(x, axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element so many times, one after the other."""
    if isinstance(repeats, Tensor):
        repeats = repeats.long()
    return _f.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The elements in another shape: a copy, no copy (ValueError where it cannot be), or as it must be."""
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ValueError(f"reshape(): {shape} needs a copy, and copy is False") from error
    return _f.reshape(_f.clone(x) if copy else x, shape)


def roll(
    x: Tensor,
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> Tensor:
    """The elements moved along axes; those that leave at an end enter at the other."""
    if axis is None:
        return _f.roll(x, shift)
    if isinstance(axis, int):
        axis = (axis,)
    return _f.roll(x, (shift,) * len(axis) if isinstance(shift, int) else shift, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """A view without dimensions of one element. ValueError where one has more."""
    dims = axes_of(x, _different("squeeze", x, axis) if isinstance(axis, tuple) else axis)
    longer = [d for d in dims if x.shape[d] != 1]
    if longer:
        raise ValueError(f"squeeze(): axis {longer[0]} has {x.shape[longer[0]]} elements, not one")
    return _f.squeeze(x, dims)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The arrays along a new axis."""
    given = _of_one_dtype(arrays)
    return _f.stack(given, one_axis(given[0], axis, 1))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements along an axis at the positions that a vector says."""
    if axis is None:
        if x.dim() != 1:
            raise ValueError(f"take(): axis must be given for an array of {x.dim()} dimensions")
        axis = 0
    dim = one_axis(x, axis)
    places = _from_zero(indices, x.shape[dim])
    found = _f.index_select(x, dim, places.reshape(-1))
    return found.reshape(*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :])


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements along an axis at positions of their own for each of the other places."""
    dim = one_axis(x, axis)
    return _f.take_along_dim(x, _from_zero(indices, x.shape[dim]), dim)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array so many times along each axis."""
    return _f.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts along an axis, views without it."""
    return tuple(_f.unbind(x, one_axis(x, axis)))


def _of_one_dtype(arrays: Sequence[Tensor]) -> list[Tensor]:
    dtype: DType = reduce(promoted, [a.dtype for a in arrays])
    return [a.to(dtype) for a in arrays]


def _from_zero(indices: Tensor, size: int) -> Tensor:
    places = indices.long()
    return _f.where(places < 0, places + size, places)


def _different(function: str, x: Tensor, axes: tuple[int, ...], more: int = 0) -> tuple[int, ...]:
    if len({one_axis(x, a, more) for a in axes}) != len(axes):
        raise ValueError(f"{function}(): an axis is named twice in {axes}")
    return axes
