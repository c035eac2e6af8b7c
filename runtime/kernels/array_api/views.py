"""Views, which are copies here, for the arrays have no strides. Names are those of ``kernels.views``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import views as host
from ..dims import permutation, wrap_dim, wrap_dims
from ..layout import expanded, infer_size
from .common import Array, is_complex, moved

ALL = slice(None)


def alias(xp: Any, self: Array) -> Array:
    """All of ``self``."""
    return self


def view(xp: Any, self: Array, size: Sequence[int]) -> Array:
    """The same elements in the shape ``size``, of which one may be -1."""
    return xp.reshape(self, infer_size(tuple(size), self.size))


def expand_to(xp: Any, self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    """``self`` broadcast to ``size``; -1 keeps a size. RuntimeError when it does not broadcast."""
    shape, _ = expanded(tuple(self.shape), (0,) * self.ndim, tuple(size))
    return xp.broadcast_to(self, tuple(shape))


def unsqueeze(xp: Any, self: Array, dim: int) -> Array:
    """``self`` with a dimension of size 1 inserted before ``dim``."""
    d = wrap_dim(dim, self.ndim + 1)
    return xp.reshape(self, (*self.shape[:d], 1, *self.shape[d:]))


def squeeze(xp: Any, self: Array) -> Array:
    """``self`` without its dimensions of size 1."""
    return xp.reshape(self, tuple([n for n in self.shape if n != 1]))


def squeeze_dim(xp: Any, self: Array, dim: int) -> Array:
    """``self`` without ``dim``, if that has size 1."""
    return squeeze_dims(xp, self, (dim,))


def squeeze_dims(xp: Any, self: Array, dim: Sequence[int]) -> Array:
    """``self`` without those of the given dims that have size 1."""
    dims = wrap_dims(dim, self.ndim)
    return xp.reshape(self, tuple([n for d, n in enumerate(self.shape) if n != 1 or d not in dims]))


def transpose_int(xp: Any, self: Array, dim0: int, dim1: int) -> Array:
    """``self`` with two dimensions exchanged."""
    a, b = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
    order = list(range(self.ndim))
    if self.ndim:
        order[a], order[b] = b, a
    return xp.permute_dims(self, tuple(order))


def t(xp: Any, self: Array) -> Array:
    """A matrix transposed; 0-d and 1-d arrays as they are. RuntimeError for more dimensions."""
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return xp.permute_dims(self, (1, 0)) if self.ndim == 2 else self


def permute(xp: Any, self: Array, dims: Sequence[int]) -> Array:
    """``self`` with its dimensions in the order ``dims``."""
    order = permutation(dims, self.ndim)
    return xp.permute_dims(self, order)


def select_int(xp: Any, self: Array, dim: int, index: int) -> Array:
    """The ``index``-th slice along ``dim``, without that dimension. IndexError for a 0-d array, and an index
    out of range."""
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, self.ndim)
    n = self.shape[d]
    if not -n <= index < n:
        shape = list(self.shape)
        raise IndexError(f"index {index} out of range for tensor of size {shape} at dimension {d}")
    return self[(*(ALL,) * d, index % n, ...)]


def slice_tensor(xp: Any, self: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    """``start:end:step`` along ``dim``. IndexError for a 0-d array, RuntimeError for a step below 1."""
    if not self.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = wrap_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return self[(*(ALL,) * d, slice(*slice(start, end, step).indices(self.shape[d])), ...)]


def split_tensor(xp: Any, self: Array, split_size: int, dim: int = 0) -> tuple[Array, ...]:
    """``self`` in pieces of ``split_size`` along ``dim``; the last one may be smaller."""
    return _pieces(self, *host.checked_split(self, split_size, dim))


def split_with_sizes(xp: Any, self: Array, sizes: Sequence[int], dim: int = 0) -> tuple[Array, ...]:
    """``self`` in pieces of the given sizes along ``dim``."""
    return _pieces(self, sizes, host.check_split_sizes(self, tuple(sizes), dim))


def _pieces(self: Array, sizes: Sequence[int], d: int) -> tuple[Array, ...]:
    pieces, start = [], 0
    for n in sizes:
        pieces.append(self[(*(ALL,) * d, slice(start, start + n), ...)])
        start += n
    return tuple(pieces)


def unbind_int(xp: Any, self: Array, dim: int = 0) -> tuple[Array, ...]:
    """The slices along ``dim``, without that dimension. IndexError for a 0-d array."""
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, self.ndim)
    return tuple([self[(*(ALL,) * d, i, ...)] for i in range(self.shape[d])])


def diagonal(xp: Any, self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonal of the planes of ``dim1`` and ``dim2``, as the last dimension."""
    return moved(xp, host.diagonal, self, offset, dim1, dim2)


def unfold(xp: Any, self: Array, dimension: int, size: int, step: int) -> Array:
    """All windows of ``size`` along ``dimension``, ``step`` apart; what is in them is the last dimension."""
    return moved(xp, host.unfold, self, dimension, size, step)


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
