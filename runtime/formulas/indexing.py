"""What the derivative formulas of indexing and scattering operators call. Tensor-level, differentiable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def padded(self: Tensor, shape: Sequence[int]) -> Tensor:
    """``self`` in the front corner of zeros of the given shape."""
    for d, n in enumerate(shape):
        if self.shape[d] != n:
            missing = (*self.shape[:d], n - self.shape[d], *self.shape[d + 1 :])
            self = F.cat([self, self.new_zeros(missing)], d)
    return self


def cropped(self: Tensor, shape: Sequence[int]) -> Tensor:
    """The front corner of the given shape."""
    for d, n in enumerate(shape):
        if self.shape[d] != n:
            self = self.narrow(d, 0, n)
    return self


class _Elements:
    """Reading and writing of elements along a dimension: gather and scatter."""

    def __init__(self, dim: int, index: Tensor) -> None:
        self.dim, self.index = dim, index

    def read(self, tensor: Tensor) -> Tensor:
        return tensor.gather(self.dim, self.index)

    def add(self, tensor: Tensor, values: Tensor) -> Tensor:
        return tensor.scatter_add(self.dim, self.index, values)

    def clear(self, tensor: Tensor) -> Tensor:
        return tensor.scatter(self.dim, self.index, 0)

    def product(self, tensor: Tensor, values: Tensor, include_self: bool) -> Tensor:
        return tensor.scatter_reduce(self.dim, self.index, values, "prod", include_self=include_self)


class _Slices(_Elements):
    """Reading and writing of whole slices: index_select and index_add."""

    def read(self, tensor: Tensor) -> Tensor:
        return tensor.index_select(self.dim, self.index)

    def add(self, tensor: Tensor, values: Tensor) -> Tensor:
        return tensor.index_add(self.dim, self.index, values)

    def clear(self, tensor: Tensor) -> Tensor:
        return tensor.index_fill(self.dim, self.index, 0)

    def product(self, tensor: Tensor, values: Tensor, include_self: bool) -> Tensor:
        return tensor.index_reduce(self.dim, self.index, values, "prod", include_self=include_self)


def _weights(
    places: _Elements, self: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """The derivatives of a scattered reduction by each element of ``self`` and of ``src``."""
    if reduce == "prod":
        ours, theirs = _product_weights(places, self, src, include_self, result)
    elif reduce in ("amax", "amin"):
        is_ours, is_theirs = (self == result).to(result.dtype), (src == places.read(result)).to(result.dtype)
        if not include_self:
            is_ours = places.clear(is_ours)
        count = places.add(is_ours, is_theirs)
        count = count.masked_fill(count == 0, 1)
        ours, theirs = is_ours / count, is_theirs / places.read(count)
    else:
        ours, theirs = F.ones_like(result), F.ones_like(src)
        if reduce == "mean":
            count = places.add(ours if include_self else places.clear(ours), theirs)
            ours, theirs = ours / count, theirs / places.read(count)
    return (ours if include_self else places.clear(F.ones_like(result))), theirs


def _product_weights(
    places: _Elements, self: Tensor, src: Tensor, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """The products of all the others; exact at zeros, and so is their own derivative.

    Of an element that is not 0 it is result / x. Of a single 0 it is the product of what is not
    0; where two of them meet, that times the other 0.
    """
    ours = places.product(F.ones_like(self), src, True)
    base = self if include_self else F.ones_like(self)
    zero = src == 0
    rest = places.read(places.product(base, src.masked_fill(zero, 1), True))
    nothing = F.zeros_like(self)
    zeros = src.masked_fill(zero.logical_not(), 0)
    other = places.read(places.add(nothing, zeros)) - zeros
    count = places.read(places.add(nothing, zero.to(self.dtype)))
    of_zero = rest * F.where(count == 1, 1, F.where(count == 2, other, 0))
    return ours, F.where(zero, of_zero, places.read(result) / src.masked_fill(zero, 1))


def _backward(
    places: _Elements,
    grad: Tensor,
    self: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Tensor, Tensor]:
    ours, theirs = _weights(places, self, src, reduce, include_self, result)
    return grad * ours.conj(), places.read(grad) * theirs.conj()


def scatter_reduce_backward(
    grad: Tensor,
    self: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradient to what took part in each place, weighted by its derivative."""
    used = cropped(src, index.shape)
    ours, theirs = _backward(_Elements(dim, index), grad, self, used, reduce, include_self, result)
    return ours, padded(theirs, src.shape)


def scatter_reduce_jvp(
    self_p: Tensor,
    self_t: Tensor,
    dim: int,
    index: Tensor,
    src_p: Tensor,
    src_t: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Tensor:
    """The sum of the tangents of what took part in each place, weighted by its derivative."""
    places = _Elements(dim, index)
    ours, theirs = _weights(places, self_p, cropped(src_p, index.shape), reduce, include_self, result)
    return places.add(self_t * ours, cropped(src_t, index.shape) * theirs)


def index_reduce_backward(
    grad: Tensor,
    self: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> tuple[Tensor, Tensor]:
    """The gradient to what took part in each place, weighted by its derivative."""
    return _backward(_Slices(dim, index), grad, self, source, reduce, include_self, result)


def index_reduce_jvp(
    self_p: Tensor,
    self_t: Tensor,
    dim: int,
    index: Tensor,
    source_p: Tensor,
    source_t: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Tensor:
    """The sum of the tangents of what took part in each place, weighted by its derivative."""
    places = _Slices(dim, index)
    ours, theirs = _weights(places, self_p, source_p, reduce, include_self, result)
    return places.add(self_t * ours, source_t * theirs)
