"""Searching, sorting and sets."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tengen.generated import functions as _f

from ..tensors.tensor import Tensor
from .operands import Operand, operands, promoted, scalar_tensor


class UniqueAllResult(NamedTuple):
    """The unique values, where each is first, which of them each element is, and how often each is there."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """The unique values, and how often each is there."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """The unique values, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the greatest elements are first, or NaN; without an axis in the flattened array."""
    return _f.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the smallest elements are first, or NaN; without an axis in the flattened array."""
    return _f.argmin(x, axis, keepdims)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions of the elements in order."""
    return _f.sort(x, dim=axis, descending=descending, stable=stable).indices


def isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> Tensor:
    """Whether each element of ``x1`` is in ``x2``, or not with ``invert``."""
    return _f.isin(*operands("isin", x1, x2), invert=invert)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The positions of elements that are not zero, an array for each axis. ValueError without an axis."""
    if not x.dim():
        raise ValueError("nonzero(): an array without dimensions has no positions")
    return tuple(_f.unbind(_f.nonzero(x), 1))


def searchsorted(
    x1: Tensor,
    x2: Tensor | int | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements of ``x2`` would stand in the sorted ``x1``, which ``sorter`` sorts if it is given."""
    if sorter is not None:
        x1 = _f.take_along_dim(x1, sorter.long(), -1)
    if not isinstance(x2, Tensor):
        x2 = scalar_tensor(x2, x1.dtype, x1)
    dtype = promoted(x1.dtype, x2.dtype)
    return _f.searchsorted(x1.to(dtype), x2.to(dtype), side=side)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order."""
    return _f.sort(x, dim=axis, descending=descending, stable=stable).values


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """Unique values with positions, inverses and counts; every NaN is one of its own."""
    flat = x.reshape(-1)
    order = _order(flat)
    new = _starts(flat[order])
    starts = _f.nonzero(new).reshape(-1)
    inverse = _f.empty_like(order)
    inverse[order] = _f.cumsum(new, 0) - 1
    ends = _f.cat([starts[1:], starts.new_full((1,), len(flat))]) if len(flat) else starts
    first = order[starts]
    return UniqueAllResult(flat[first], first, inverse.reshape(x.shape), ends - starts)


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """Unique values with counts; every NaN is one of its own."""
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """Unique values with inverses; every NaN is one of its own."""
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Unique values; every NaN is one of its own."""
    return unique_all(x).values


def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor:
    """The elements of ``x1`` where the condition is true, of ``x2`` elsewhere."""
    return _f.where(condition, *operands("where", x1, x2))


def _order(x: Tensor) -> Tensor:
    """The positions of a vector's elements in order; complex numbers by real parts, then imaginary ones."""
    if not x.is_complex():
        return _f.sort(x, stable=True).indices
    by_imag = _f.sort(_f.imag(x), stable=True).indices
    return by_imag[_f.sort(_f.real(x)[by_imag], stable=True).indices]


def _starts(values: Tensor) -> Tensor:
    """Whether sorted values differ from the ones before."""
    if not len(values):
        return values.new_zeros((0,)) != 0
    return _f.cat([values[:1] == values[:1], values[1:] != values[:-1]]) | (values != values)
