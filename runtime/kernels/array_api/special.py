"""Functions of one element at a time that no array library has: on the host; and what is rare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import (
    distance,
    histograms,
    implicit_gradients,
    positions,
    reductions,
    shape as host_shape,
    special,
)
from ..nn import ctc
from .common import Array, by_values, moved, moved_back, replaced
from .linalg import on_host

_INT64 = np.dtype("int64")


def _elementwise(function: Callable[..., Any]) -> Callable[..., Array]:
    """A kernel of the host that gives an element for each of the broadcast operands."""

    def like(*arguments: Any) -> Any:
        return [(np.broadcast_shapes(*[a.shape for a in arguments if hasattr(a, "dtype")]), "same")]

    return on_host(function, like)


dirichlet_grad = _elementwise(implicit_gradients.dirichlet_grad)
standard_gamma_grad = _elementwise(implicit_gradients.standard_gamma_grad)
mvlgamma = _elementwise(special.mvlgamma)
frexp = on_host(
    special.frexp, lambda self: [(tuple(self.shape), "same"), (tuple(self.shape), np.dtype("int32"))]
)


def zeta(xp: Any, self: Array | float, other: Array | float) -> Array:
    """The Hurwitz zeta function."""
    result: Array = xp.special("zeta")(self, other)
    return result


def gelu_cdf(xp: Any, x: Array) -> Array:
    """The standard normal distribution function."""
    result: Array = xp.special("ndtr")(x)
    return result


# -- by values ------------------------------------------------------------------------------------


def nonzero_static(xp: Any, self: Array, size: int, fill_value: int) -> Array:
    """The indices of what is not zero, cut off or filled up to ``size``."""
    like = [((size, self.ndim), _INT64)]
    return xp.on_host(positions.nonzero_static, like, self, size, fill_value)[0]


histogram_by_count = by_values(histograms.histogram_by_count)
histogram_by_edges = by_values(histograms.histogram_by_edges)
histogram_of = by_values(histograms.histogram_of)
hash_tensor = by_values(reductions.hash_tensor)
ctc_loss_of = by_values(ctc.ctc_loss_of)


def histogram_edges(xp: Any, self: Array, bins: Any, range: Any, line: Any) -> list[Array]:
    """The edges of the bins along each dimension."""
    return [xp.from_host(e) for e in histograms.histogram_edges(xp.to_host(self), bins, range, line)]


def embedding_bag_of(xp: Any, *arguments: Any) -> tuple[Array, ...]:
    """Sums, means or maxima of bags of rows."""
    from ..nn.embedding_bag import embedding_bag_of as host

    return tuple(xp.on_host(host, None, *arguments))


def cdist_of(xp: Any, x1: Array, x2: Array, p: float, compute_mode: Any) -> Array:
    """The distances of all pairs of rows."""
    shape = (*np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2])
    like = [(shape, xp.numpy_dtype(x1.dtype))]
    return xp.on_host(distance.cdist_of, like, x1, x2, p, compute_mode)[0]


# -- strides that are meant -------------------------------------------------------------------------


def view_dtype(xp: Any, self: Array, dtype: Any) -> Array:
    """The same bytes as numbers of another dtype; another item size scales the last dimension."""
    from ..views import view_dtype as host

    new = xp.numpy_dtype(dtype)
    old = xp.numpy_dtype(self.dtype)
    shape = tuple(self.shape)
    if old.itemsize != new.itemsize and shape:
        shape = (*shape[:-1], shape[-1] * old.itemsize // new.itemsize)
    return xp.on_host(lambda a: host(np.ascontiguousarray(a), new), [(shape, new)], self)[0]


def as_strided_scatter(xp: Any, self: Array, src: Array, size: Any, stride: Any, offset: Any) -> Array:
    """``self`` with ``src`` where the strides say, of contiguous memory. RuntimeError for a ``src`` of
    another shape than ``size``."""
    from ..views import as_strided

    part = as_strided(np.empty(self.shape, np.bool_), size, stride, offset)
    if tuple(src.shape) != part.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice "
            f"size = {list(part.shape)}"
        )
    return replaced(xp, as_strided, self, src, size, stride, offset)


def as_strided_gather(
    xp: Any, self: Array, sizes: Any, strides: Any, offset: int, size: Any, stride: Any, start: int
) -> Array:
    """What the strides show of contiguous memory."""
    return moved(
        xp, lambda a: host_shape.as_strided_gather(a, sizes, strides, offset, size, stride, start), self
    )


def as_strided_backward(
    xp: Any, grad: Array, sizes: Any, strides: Any, offset: int, size: Any, stride: Any, start: int
) -> Array:
    """The gradient of ``as_strided_gather``."""
    given = (sizes, strides, offset, size, stride, start)
    return moved_back(xp, lambda a: host_shape.as_strided_gather(a, *given), grad, sizes)
