"""Kernels of the view operators: the result shares the memory of ``self``.

They run on NumPy's arrays and on MetaArrays. NumPy's own indexing serves where its strides
are torch's; a dimension of size 1 that NumPy would give another stride is strided by hand.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from ..fast_paths import operation
from . import cpu
from .dims import permutation, wrap_dim
from .layout import check_window, expanded, infer_size, packed_strides, view_strides
from .strided import Array, Shape, element_strides, empty_view, full_strides, restrided, storage_offset

ALL = slice(None)


# --------------------------------------------------------------------------- by shape and stride


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


def t(self: Array) -> Array:
    """A matrix transposed; 0-d and 1-d arrays as they are. RuntimeError for more dimensions."""
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T if self.size else full_strides(self).T


# ------------------------------------------------------------------------- what bodies show at once


@operation("with_dim")
def with_dim(self: Array, dim: int) -> Array:
    """``self`` with a dimension of size 1 inserted before ``dim``."""
    d = wrap_dim(dim, self.ndim + 1)
    shape = self.shape
    shape = (*shape[:d], 1, *shape[d:])
    if type(self) is np.ndarray and self.flags.c_contiguous and 1 not in self.shape and self.size:
        return self.reshape(shape)
    old = element_strides(self)
    new = 1 if d == self.ndim else self.shape[d] * old[d]
    return restrided(self, shape, (*old[:d], new, *old[d:]))


@operation("without_dim")
def without_dim(self: Array, dim: int) -> Array:
    """``self`` without ``dim``, if that has size 1."""
    d = wrap_dim(dim, self.ndim)
    return self.squeeze(d) if self.ndim and self.shape[d] == 1 else self[...]


def without_ones(self: Array) -> Array:
    """``self`` without its dimensions of size 1."""
    return self.squeeze()


@operation("with_dims_exchanged")
def with_dims_exchanged(self: Array, dim0: int, dim1: int) -> Array:
    """``self`` with two dimensions exchanged."""
    ndim = self.ndim
    a, b = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    if not self.size:
        self = full_strides(self)
    return self.swapaxes(a, b) if ndim else self[...]


@operation("with_dims_ordered")
def with_dims_ordered(self: Array, dims: Shape) -> Array:
    """``self`` with its dimensions in the order ``dims``."""
    order = permutation(dims, self.ndim)
    return self.transpose(order) if self.size else full_strides(self).transpose(order)


def element(index: int, shape: Shape, dim: int) -> int:
    """``index`` along ``dim``, from the front. IndexError for a 0-d shape, and for one out of range."""
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = dim if 0 <= dim < len(shape) else wrap_dim(dim, len(shape))
    n = shape[d]
    if not -n <= index < n:
        raise IndexError(f"index {index} out of range for tensor of size {list(shape)} at dimension {d}")
    return index if index >= 0 else index + n


@operation("at_index")
def at_index(self: Array, dim: int, index: int) -> Array:
    """What stands at ``index`` along ``dim``, without that dimension; raises what ``element`` does."""
    if dim == 0 and self.ndim > 1:
        try:
            return self[index]
        except IndexError:
            pass  # it is said below what is wrong
    shape = self.shape
    if not (0 <= dim < len(shape) and 0 <= index < shape[dim]):
        index = element(index, shape, dim)
        dim %= len(shape)
    if not self.size:
        self = full_strides(self)
    # The Ellipsis makes NumPy give a 0-d view where it would give a scalar.
    return self[index, ...] if dim == 0 else self[(*(ALL,) * dim, index, ...)]


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
    """A view by size and stride (in elements) of the memory under ``self``; errors are ``check_window``'s.

    ``offset`` counts from the start of that memory; None is where ``self`` begins.
    """
    start = storage_offset(self) if offset is None else offset
    if type(self) is np.ndarray:
        return cpu.as_strided(self, tuple(size), tuple(stride), start)
    check_window(tuple(size), tuple(stride), start, self.itemsize, self.storage.nbytes)
    return self.restrided(size, stride, start)


def slice_inverse(self: Array, src: Array) -> Array:
    """The memory under ``self`` as ``src`` has its own. Raises RuntimeError when the view leaves it."""
    return as_strided(self, src.shape, element_strides(src), storage_offset(src))


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


def sizes_of_parts(lengths: int | Shape, shape: Shape, dim: int) -> Shape:
    """The sizes of parts along ``dim``, one behind the other: of one length, save the last, or as given.

    Raises RuntimeError for a 0-d shape, a negative length, lengths of another sum, and for one of zero where
    there are elements.
    """
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if isinstance(lengths, int):
        if lengths < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={lengths}")
        return split_sizes(shape[wrap_dim(dim, len(shape))], lengths)
    n = shape[wrap_dim(dim, len(shape))]
    if lengths and min(lengths) < 0:
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(lengths)}"
        )
    if sum(lengths) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(lengths)}"
        )
    return lengths


def parts(lengths: int | Shape, shape: Shape, dim: int) -> list[tuple[int, int]]:
    """Where such parts begin, and their sizes; raises what ``sizes_of_parts`` does."""
    sizes = sizes_of_parts(lengths, shape, dim)
    return [(end - n, n) for end, n in zip(accumulate(sizes), sizes, strict=True)]


@operation("parts_along")
def parts_along(self: Array, lengths: int | Shape, dim: int) -> tuple[Array, ...]:
    """Parts along ``dim``, one behind the other; raises what ``sizes_of_parts`` does."""
    sizes = sizes_of_parts(lengths, self.shape, dim)
    lead = (ALL,) * (dim if dim >= 0 else dim + self.ndim)
    found, start = [], 0
    if lead and not self.size:
        self = full_strides(self)
    for n in sizes:
        found.append(self[(*lead, slice(start, start + n), ...)])
        start += n
    return tuple(found)


def indices_along(shape: Shape, dim: int) -> range:
    """All places along ``dim``. IndexError for a 0-d shape."""
    if not shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return range(shape[wrap_dim(dim, len(shape))])


@operation("each_along")
def each_along(self: Array, dim: int) -> tuple[Array, ...]:
    """All that stands along ``dim``, without that dimension. IndexError for a 0-d array."""
    found = indices_along(self.shape, dim)
    lead = (ALL,) * (dim if dim >= 0 else dim + self.ndim)
    if lead and not self.size:
        self = full_strides(self)
    return tuple([self[(*lead, i, ...)] for i in found])


def windows_along(n: int, size: int, step: int, dim: int, ndim: int) -> int:
    """How many windows of ``size``, ``step`` apart, ``n`` elements along ``dim`` have.

    Raises RuntimeError for a size that is negative or does not fit, and a step below 1.
    """
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(
            f"maximum size for tensor at dimension {wrap_dim(dim, ndim)} is {n} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return (n - size) // step + 1


def diag_embed_shape(shape: Shape, offset: int, dim1: int, dim2: int) -> Shape:
    """The shape of ``diag_embed``. RuntimeError where the two dims are one."""
    a, b = wrap_dim(dim1, len(shape) + 1), wrap_dim(dim2, len(shape) + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    result = list(shape[:-1])
    for d in sorted((a, b)):
        result.insert(d, (shape[-1] if shape else 1) + abs(offset))
    return tuple(result)
