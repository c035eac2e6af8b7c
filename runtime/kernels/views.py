"""Kernels of the view operators: the result shares the memory of ``self``.

They run on NumPy's arrays and on MetaArrays. NumPy's own indexing serves where its strides
are torch's; a dimension of size 1 that NumPy would give another stride is strided by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fast_paths import operation
from . import cpu
from .dims import permutation, wrap_dim, wrap_dims
from .layout import expanded, infer_size, packed_strides, view_strides
from .strided import Array, Shape, element_strides, empty_view, full_strides, restrided, storage_offset

ALL = slice(None)


# ----------------------------------------------------------------------------------- shape


@operation("reshape")
def view(self: Array, size: Shape) -> Array:
    """The same elements in the shape ``size``, of which one may be -1.

    Raises RuntimeError when the sizes do not fit, or the strides do not allow it.
    """
    if type(self) is np.ndarray and self.flags.c_contiguous:
        try:
            found = self.reshape(size)
        except ValueError:
            pass  # it is said below what is wrong
        else:
            # To NumPy, every negative size is unknown; and what strides sizes of 1 have, it decides.
            usual = 1 not in self.shape or self.strides == packed_strides(self.shape, self.itemsize)
            if usual and (found.shape == size or min(size) >= -1) and self.size:
                return found
    shape = infer_size(tuple(size), self.size)
    strides = view_strides(self.shape, element_strides(self), shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return restrided(self, shape, strides)


def view_dtype(self: Array, dtype: np.dtype[Any]) -> Array:
    """The same bytes as numbers of another dtype; another item size scales the last dimension."""
    old, new = self.dtype.itemsize, dtype.itemsize
    if old != new:
        _check_viewable(self, old, new)
        if type(self) is np.ndarray and not self.size:
            strides = [s * old // new for s in element_strides(self)[:-1]]
            return empty_view(self, (*self.shape[:-1], self.shape[-1] * old // new), (*strides, 1), dtype)
    return self.view(dtype)


def _check_viewable(self: Array, old: int, new: int) -> None:
    if self.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 to view {self.dtype} as another element size")
    strides = element_strides(self)
    if strides[-1] != 1:
        raise RuntimeError(
            f"self.stride(-1) must be 1 to view {self.dtype} as a type of another element size, "
            f"but got {strides[-1]}"
        )
    if new < old:
        return
    ratio = new // old
    if self.shape[-1] % ratio:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {ratio} to view {self.dtype} as a type {ratio} times as "
            f"large, but got {self.shape[-1]}"
        )
    if storage_offset(self) % ratio:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} to view {self.dtype} as a type {ratio} "
            f"times as large, but got {storage_offset(self)}"
        )
    for d, s in enumerate(strides[:-1]):
        if s % ratio:
            raise RuntimeError(
                f"self.stride({d}) must be divisible by {ratio} to view {self.dtype} as a type {ratio} "
                f"times as large, but got {s}"
            )


@operation("expand")
def expand_to(self: Array, size: Shape, implicit: bool = False) -> Array:
    """``self`` broadcast to ``size`` with strides of 0; -1 keeps a size.

    Raises RuntimeError when it does not broadcast.
    """
    return restrided(self, *expanded(self.shape, element_strides(self), size))


@operation("with_dim")
def unsqueeze(self: Array, dim: int) -> Array:
    """``self`` with a dimension of size 1 inserted before ``dim``."""
    d = wrap_dim(dim, self.ndim + 1)
    shape = self.shape
    shape = (*shape[:d], 1, *shape[d:])
    if type(self) is np.ndarray and self.flags.c_contiguous and 1 not in self.shape and self.size:
        return self.reshape(shape)
    old = element_strides(self)
    new = 1 if d == self.ndim else self.shape[d] * old[d]
    return restrided(self, shape, (*old[:d], new, *old[d:]))


def squeeze(self: Array) -> Array:
    """``self`` without its dimensions of size 1."""
    return self.squeeze()


@operation("without_dim")
def squeeze_dim(self: Array, dim: int) -> Array:
    """``self`` without ``dim``, if that has size 1."""
    d = wrap_dim(dim, self.ndim)
    return self.squeeze(d) if self.ndim and self.shape[d] == 1 else self[...]


def squeeze_dims(self: Array, dim: Shape) -> Array:
    """``self`` without those of the given dims that have size 1."""
    dims = wrap_dims(dim, self.ndim)
    if not self.ndim:
        return self[...]
    return self.squeeze(tuple([d for d in dims if self.shape[d] == 1]))


# ----------------------------------------------------------------------------------- order


@operation("with_dims_exchanged")
def transpose_int(self: Array, dim0: int, dim1: int) -> Array:
    """``self`` with two dimensions exchanged."""
    ndim = self.ndim
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    if not self.size:
        self = full_strides(self)
    return self.swapaxes(a, b) if ndim else self[...]


def t(self: Array) -> Array:
    """A matrix transposed; 0-d and 1-d arrays as they are. RuntimeError for more dimensions."""
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T if self.size else full_strides(self).T


@operation("with_dims_ordered")
def permute(self: Array, dims: Shape) -> Array:
    """``self`` with its dimensions in the order ``dims``."""
    order = permutation(dims, self.ndim)
    return self.transpose(order) if self.size else full_strides(self).transpose(order)


# ----------------------------------------------------------------------------------- parts


def alias(self: Array) -> Array:
    """All of ``self``."""
    return self[...]


@operation("at_index")
def select_int(self: Array, dim: int, index: int) -> Array:
    """The ``index``-th slice along ``dim``, without that dimension.

    Raises IndexError for a 0-d array and for an index out of range.
    """
    if dim == 0 and self.ndim > 1:
        try:
            return self[index]
        except IndexError:
            pass  # it is said below what is wrong
    shape = self.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = dim if 0 <= dim < len(shape) else wrap_dim(dim, len(shape))
    n = shape[d]
    if not -n <= index < n:
        raise IndexError(f"index {index} out of range for tensor of size {list(shape)} at dimension {d}")
    if not self.size:
        self = full_strides(self)
    # The Ellipsis makes NumPy give a 0-d view where it would give a scalar.
    return self[index, ...] if d == 0 else self[(*(ALL,) * d, index, ...)]


@operation("in_range")
def slice_tensor(self: Array, dim: int, start: int | None, end: int | None, step: int) -> Array:
    """``start:end:step`` along ``dim``.

    Raises RuntimeError for a step that is not positive.
    """
    ndim = self.ndim
    if ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = dim if 0 <= dim < ndim else wrap_dim(dim, ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    part = slice(start, end, step)
    found = self[part] if d == 0 else self[(*(ALL,) * d, part)]
    if not found.size and type(self) is np.ndarray:  # NumPy does not keep the strides
        strides = list(element_strides(self))
        strides[d] *= step
        return empty_view(found, found.shape, strides, found.dtype)
    return found


def as_strided(self: Array, size: Shape, stride: Shape, offset: int | None = None) -> Array:
    """A view by size and stride (in elements) of the memory under ``self``.

    ``offset`` counts from the start of that memory; None is where ``self`` begins.
    Raises RuntimeError for negative strides and when the view leaves the memory.
    """
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    start = storage_offset(self) if offset is None else offset
    if type(self) is np.ndarray:
        return cpu.as_strided(self, tuple(size), tuple(stride), start)
    if stride and min(stride) < 0:
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    result = self.restrided(size, stride, start)
    needed = (start + result.extent) * self.itemsize
    if result.extent and needed > self.storage.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize "
            f"{self.itemsize} requiring a storage size of {needed} are out of bounds for storage of size "
            f"{self.storage.nbytes}"
        )
    return result


def slice_inverse(self: Array, src: Array) -> Array:
    """The memory under ``self`` as ``src`` has its own. Raises RuntimeError when the view leaves it."""
    return as_strided(self, src.shape, element_strides(src), storage_offset(src))


def diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonal of the planes of ``dim1`` and ``dim2``, as the last dimension. RuntimeError where these
    are one."""
    a, b = wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if type(self) is not np.ndarray:
        return _meta_diagonal(self, offset, a, b)
    offset = max(min(offset, self.shape[b]), -self.shape[a])  # NumPy takes no more than 32 bits
    result = self.diagonal(offset, a, b) if self.size else full_strides(self).diagonal(offset, a, b)
    if self.flags.writeable:
        result.flags.writeable = True  # NumPy protects this view alone of all
    return result


def _meta_diagonal(self: Array, offset: int, a: int, b: int) -> Array:
    rows, columns = self.shape[a] - max(-offset, 0), self.shape[b] - max(offset, 0)
    count = max(min(rows, columns), 0)
    strides = self.element_strides
    start = self.offset
    if count:
        start += offset * strides[b] if offset >= 0 else -offset * strides[a]
    kept = [d for d in range(self.ndim) if d not in (a, b)]
    shape = [self.shape[d] for d in kept] + [count]
    return self.restrided(shape, [strides[d] for d in kept] + [strides[a] + strides[b]], start)


def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    """All windows of ``size`` along ``dimension``, ``step`` apart; what is in them is the last dimension.
    RuntimeError for a size that is negative or does not fit, and a step below 1."""
    d = wrap_dim(dimension, self.ndim)
    n = self.shape[d] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not self.ndim:
        return restrided(self, (size,), (1,))
    shape, strides = list(self.shape), list(element_strides(self))
    strides.append(strides[d])
    shape[d] = (n - size) // step + 1
    strides[d] *= step
    return restrided(self, (*shape, size), strides)


# ----------------------------------------------------------------------------- many views


def split_sizes(total: int, split_size: int) -> Shape:
    """The sizes of the pieces of ``split_size`` that ``total`` makes, the last one smaller if need be.

    Raises RuntimeError for a size of zero where there is something to split.
    """
    if split_size == 0:
        if total:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {total}"
            )
        return (0,)
    full, rest = divmod(total, split_size)
    sizes = (split_size,) * full
    return (*sizes, rest) if rest or not full else sizes


def checked_split(self: Array, split_size: int, dim: int) -> tuple[Shape, int]:
    """The sizes of the pieces of ``split_size`` along ``dim``, and ``dim`` counted from the front.

    Raises RuntimeError for a 0-d ``self``, and for a size that is negative, or zero where there are elements.
    """
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    d = wrap_dim(dim, self.ndim)
    return split_sizes(self.shape[d], split_size), d


def check_split_sizes(self: Array, sizes: Shape, dim: int) -> int:
    """``dim`` counted from the front, along which there are pieces of these sizes.

    Raises RuntimeError for a 0-d ``self``, a negative size, and for sizes of another sum.
    """
    if self.ndim == 0:
        raise RuntimeError("split_with_sizes expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, self.ndim)
    if any([n < 0 for n in sizes]):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(sizes)}"
        )
    if sum(sizes) != self.shape[d]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.shape[d]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(sizes)}"
        )
    return d


@operation("parts_along")
def split_tensor(self: Array, split_size: int, dim: int = 0) -> tuple[Array, ...]:
    """``self`` in pieces of ``split_size`` along ``dim``; the last one may be smaller."""
    return _pieces(self, *checked_split(self, split_size, dim))


@operation("parts_along")
def split_with_sizes(self: Array, sizes: Shape, dim: int = 0) -> tuple[Array, ...]:
    """``self`` in pieces of the given sizes along ``dim``."""
    return _pieces(self, sizes, check_split_sizes(self, sizes, dim))


def _pieces(self: Array, sizes: Shape, d: int) -> tuple[Array, ...]:
    lead = (ALL,) * d
    pieces, start = [], 0
    if d and not self.size:
        self = full_strides(self)
    for n in sizes:
        pieces.append(self[(*lead, slice(start, start + n))])
        start += n
    return tuple(pieces)


@operation("each_along")
def unbind_int(self: Array, dim: int = 0) -> tuple[Array, ...]:
    """The slices along ``dim``, without that dimension. IndexError for a 0-d array."""
    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, self.ndim)
    lead = (ALL,) * d
    if d and not self.size:
        self = full_strides(self)
    return tuple([self[(*lead, i, ...)] for i in range(self.shape[d])])
