"""Kernels that copy or rearrange elements: by the places that NumPy's kernels find from shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import shape as host, views as host_views
from ..dims import wrap_dim
from ..moves import check_moved
from ..nn import columns as host_columns
from ..view_plans import Form, viewed
from .common import Array, cast, moved_back, replaced
from .views import element_key, of_shape, sliced

Shape = tuple[int, ...]


def cat(xp: Any, tensors: Sequence[Array], dim: int = 0) -> Array:
    """The arrays one after the other along ``dim``; 1-d ones without elements count for nothing. ValueError
    for no arrays; RuntimeError for 0-d ones, and for sizes that differ beside ``dim``."""
    if not tensors:
        raise ValueError("cat(): expected a non-empty list of Tensors")
    kept = [t for t in tensors if tuple(t.shape) != (0,)] or [tensors[0]]
    for t in kept:
        if not t.ndim:
            raise RuntimeError("zero-dimensional tensor cannot be concatenated")
    d = wrap_dim(dim, kept[0].ndim)
    for number, t in enumerate(kept):
        if t.ndim != kept[0].ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {kept[0].ndim} and {t.ndim}"
            )
        if any(a != b for i, (a, b) in enumerate(zip(t.shape, kept[0].shape, strict=True)) if i != d):
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {d}. Got {list(kept[0].shape)} and "
                f"{list(t.shape)} (tensor number {number} in the list)"
            )
    return kept[0] if len(kept) == 1 else xp.concat(kept, axis=d)


def stack(xp: Any, tensors: Sequence[Array], dim: int = 0) -> Array:
    """The arrays along a new dimension. RuntimeError for no arrays, or for shapes that differ."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    for number, t in enumerate(tensors):
        if t.shape != first.shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and "
                f"{list(t.shape)} at entry {number}"
            )
    return xp.stack(list(tensors), axis=wrap_dim(dim, first.ndim + 1))


def repeat_interleave_indices(xp: Any, repeats: Array, output_size: int | None = None) -> Array:
    """The index of each element, as often as it is to be repeated: that is known by values only."""
    return xp.on_host(host.repeat_interleave_indices, None, repeats, output_size)[0]


def diag_embed_shape(xp: Any, shape: Shape, offset: int, dim1: int, dim2: int) -> Shape:
    """The shape of ``diag_embed``."""
    return host_views.diag_embed_shape(tuple(shape), offset, dim1, dim2)


def viewed_back(xp: Any, form: Form, grad: Array, sizes: Shape, *arguments: Any) -> Array:
    """What ``kernels.shape.viewed_back`` gives, and its errors."""
    check_moved(viewed(form, of_shape(sizes), *arguments).shape, grad.shape)
    return moved_back(xp, partial(viewed, form), grad, sizes, *arguments)


def viewed_scatter(xp: Any, form: Form, self: Array, src: Array, *arguments: Any) -> Array:
    """``self`` with ``src`` where the view of a form is. RuntimeError for a ``src`` of another shape."""
    _check_source(src, viewed(form, of_shape(tuple(self.shape)), *arguments).shape)
    return replaced(xp, partial(viewed, form), self, src, *arguments)


def select_backward(xp: Any, grad: Array, sizes: Shape, dim: int, index: int) -> Array:
    """Zeros of shape ``sizes`` with the gradient as a slice."""
    key = element_key(tuple(sizes), dim, index)
    return xp.put(xp.zeros(tuple(sizes), dtype=grad.dtype), key, grad)


def select_scatter(xp: Any, self: Array, src: Array, dim: int, index: int) -> Array:
    """``self`` with ``src`` as the ``index``-th slice along ``dim``."""
    return _put(xp, self, element_key(tuple(self.shape), dim, index), src)


def slice_backward(xp: Any, grad: Array, sizes: Shape, dim: int, start: int, end: int, step: int) -> Array:
    """Zeros of shape ``sizes`` with the gradient at ``start:end:step``."""
    key = sliced(tuple(sizes), dim, start, end, step)
    return xp.put(xp.zeros(tuple(sizes), dtype=grad.dtype), key, grad)


def slice_scatter(xp: Any, self: Array, src: Array, dim: int, start: Any, end: Any, step: int) -> Array:
    """``self`` with ``src`` at ``start:end:step`` along ``dim``."""
    return _put(xp, self, sliced(tuple(self.shape), dim, start, end, step), src)


def _put(xp: Any, self: Array, key: tuple[Any, ...], src: Array) -> Array:
    _check_source(src, of_shape(tuple(self.shape))[key].shape)
    return xp.put(self, key, cast(xp, src, self.dtype))


def _check_source(src: Array, shape: Shape) -> None:
    if tuple(src.shape) != shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice "
            f"size = {list(shape)}"
        )


# -- columns ------------------------------------------------------------------------


def im2col(xp: Any, self: Array, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape) -> Array:
    """The windows of images as columns."""
    numbers = np.arange(1, self.size + 1).reshape(self.shape)
    places = host_columns.im2col(numbers, kernel_size, dilation, padding, stride)
    extended = xp.concat([xp.zeros((1,), dtype=self.dtype), xp.reshape(self, (-1,))], axis=0)
    return xp.at(extended, xp.constant(places))


def col2im(
    xp: Any,
    self: Array,
    output_size: Shape,
    kernel_size: Shape,
    dilation: Shape,
    padding: Shape,
    stride: Shape,
) -> Array:
    """Columns added up where windows of images are."""
    kernel = int(np.prod(kernel_size))
    shape = (*self.shape[:-2], self.shape[-2] // kernel, *output_size)
    host_columns.col2im(np.zeros(self.shape, np.bool_), output_size, kernel_size, dilation, padding, stride)
    numbers = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    places = host_columns.im2col(numbers, kernel_size, dilation, padding, stride)
    zeros = xp.zeros((int(np.prod(shape)) + 1,), dtype=self.dtype)
    summed = xp.scatter(zeros, xp.constant(places), xp.reshape(self, places.shape), "add")
    return xp.reshape(summed[1:], shape)
