"""Views, which are copies here, for the arrays have no strides. Names are those of ``kernels.views``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import view_plans, views as host
from ..dims import permutation, wrap_dim
from ..layout import expanded, infer_size
from ..view_plans import Form
from .common import Array, Shape, is_complex, take_places

ALL = slice(None)


def view(xp: Any, self: Array, size: Sequence[int]) -> Array:
    """The same elements in the shape ``size``, of which one may be -1."""
    return xp.reshape(self, infer_size(tuple(size), self.size))


def expand_to(xp: Any, self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    """``self`` broadcast to ``size``; -1 keeps a size. RuntimeError when it does not broadcast."""
    shape, _ = expanded(tuple(self.shape), (0,) * self.ndim, tuple(size))
    return xp.broadcast_to(self, tuple(shape))


def with_dim(xp: Any, self: Array, dim: int) -> Array:
    """``self`` with a dimension of size 1 inserted before ``dim``."""
    d = wrap_dim(dim, self.ndim + 1)
    return xp.reshape(self, (*self.shape[:d], 1, *self.shape[d:]))


def without_ones(xp: Any, self: Array) -> Array:
    """``self`` without its dimensions of size 1."""
    return xp.reshape(self, tuple([n for n in self.shape if n != 1]))


def without_dim(xp: Any, self: Array, dim: int) -> Array:
    """``self`` without ``dim``, if that has size 1."""
    d = wrap_dim(dim, self.ndim)
    return xp.reshape(self, tuple([n for e, n in enumerate(self.shape) if n != 1 or e != d]))


def with_dims_exchanged(xp: Any, self: Array, dim0: int, dim1: int) -> Array:
    """``self`` with two dimensions exchanged."""
    a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    order = list(range(self.ndim))
    if self.ndim:
        order[a], order[b] = b, a
    return xp.permute_dims(self, tuple(order))


def t(xp: Any, self: Array) -> Array:
    """A matrix transposed; 0-d and 1-d arrays as they are. RuntimeError for more dimensions."""
    host.t(of_shape(self.shape))
    return xp.permute_dims(self, (1, 0)) if self.ndim == 2 else self


def with_dims_ordered(xp: Any, self: Array, dims: Sequence[int]) -> Array:
    """``self`` with its dimensions in the order ``dims``."""
    return xp.permute_dims(self, permutation(dims, self.ndim))


def of_shape(sizes: Sequence[int]) -> Any:
    """An array of NumPy's of a shape, which takes no memory."""
    return np.broadcast_to(np.False_, tuple(sizes))


def element_key(sizes: Sequence[int], dim: int, index: int) -> tuple[Any, ...]:
    """The basic key of what ``kernels.views.at_index`` shows; raises what that does."""
    at = host.element(index, tuple(sizes), dim)
    return (*(ALL,) * (dim % len(sizes)), at, ...)


def sliced(sizes: Sequence[int], dim: int, start: Any, end: Any, step: int) -> tuple[Any, ...]:
    """The basic key of what ``kernels.views.slice_tensor`` shows; raises what that does."""
    host.slice_tensor(of_shape(sizes), dim, start, end, step)
    d = dim % len(sizes)
    return (*(ALL,) * d, slice(*slice(start, end, step).indices(sizes[d])), ...)


def at_index(xp: Any, self: Array, dim: int, index: int) -> Array:
    """What stands at ``index`` along ``dim``, and the errors of ``element_key``."""
    return self[element_key(self.shape, dim, index)]


def slice_tensor(xp: Any, self: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    """``start:end:step`` along ``dim``, and the errors of ``sliced``."""
    return self[sliced(self.shape, dim, start, end, step)]


def parts_along(xp: Any, self: Array, lengths: int | Shape, dim: int) -> tuple[Array, ...]:
    """What ``kernels.views.parts_along`` gives, and its errors."""
    return host.parts_along(self, lengths, dim)


def each_along(xp: Any, self: Array, dim: int) -> tuple[Array, ...]:
    """What ``kernels.views.each_along`` gives, and its errors."""
    return host.each_along(self, dim)


def viewed(xp: Any, form: Form, self: Array, *arguments: Any) -> Any:
    """What ``kernels.view_plans.viewed`` gives, of copies."""
    shown = view_plans.viewed(form, np.arange(prod(self.shape)).reshape(tuple(self.shape)), *arguments)
    several = isinstance(shown, tuple)
    return tuple([take_places(xp, self, s) for s in shown]) if several else take_places(xp, self, shown)


def view_as_real(xp: Any, self: Array) -> Array:
    """The parts of complex numbers as a last dimension. RuntimeError for real numbers."""
    if not is_complex(xp, self):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return xp.stack([xp.real(self), xp.imag(self)], axis=-1)


def view_as_complex(xp: Any, self: Array) -> Array:
    """Complex numbers of a last dimension of two parts. RuntimeError for a last dimension of another size."""
    if not self.ndim or self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return self[..., 0] + 1j * self[..., 1]
