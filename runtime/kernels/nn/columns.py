"""Windows of images as columns of matrices, and the sums of such columns as images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..native_kernels import kernel_of_floats
from .common import Array, Shape
from .conv_windows import Geometry, column_filler, tap_slices


class Columns(NamedTuple):
    """How windows lie in an image."""

    kernel: Shape
    geometry: Geometry
    padded: Shape  # the image's size with its padding
    out: Shape  # how many windows there are

    def taps(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """For each place of the kernel its number, and what it sees of padded images."""
        return enumerate(_seen(self.kernel, self.out, self.geometry))

    @property
    def inner(self) -> tuple[slice, ...]:
        """The image in the padded one."""
        return tuple([slice(p, n - p) for p, n in zip(self.geometry.padding, self.padded, strict=True)])


@lru_cache(256)
def _seen(kernel: Shape, out: Shape, geometry: Geometry) -> tuple[tuple[Any, ...], ...]:
    """What each place of the kernel sees, as indices of padded images."""
    return tuple([(..., *seen) for _, seen in tap_slices(kernel, out, geometry)])


def columns_of(
    size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Columns:
    """The windows of an image of the size. RuntimeError where there are none."""
    return _columns_of(tuple(size), tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@lru_cache(256)
def _columns_of(size: Shape, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape) -> Columns:
    """As ``columns_of``, of tuples."""
    for name, given, least in (
        ("kernel_size", kernel_size, 1),
        ("dilation", dilation, 1),
        ("padding", padding, 0),
        ("stride", stride, 1),
    ):
        if len(given) != 2 or min(given) < least:
            raise RuntimeError(f"{name} should be two numbers of at least {least}, but got {list(given)}")
    geometry = Geometry(stride, padding, dilation, 1)
    padded = tuple([n + 2 * p for n, p in zip(size, padding, strict=True)])
    out = geometry.out(size, kernel_size)
    if min(out) < 1:
        raise RuntimeError(
            f"Given an image of size {list(size)}, kernel_size={list(kernel_size)}, "
            f"dilation={list(dilation)}, padding={list(padding)}, stride={list(stride)}, calculated shape of "
            f"the array of sliding blocks as {list(out)}, but its components must be at least one."
        )
    return Columns(kernel_size, geometry, padded, out)


def im2col_shape(self: Any, *geometry: Sequence[int]) -> Shape:
    """(N, C, H, W) or (C, H, W) to (N, C * kH * kW, windows); also used on Meta. RuntimeError for other
    numbers of dimensions, or a size of 0 behind N."""
    if self.ndim not in (3, 4) or 0 in self.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(self.shape)}"
        )
    windows = columns_of(self.shape[-2:], *geometry)
    return (
        *self.shape[:-3],
        self.shape[-3] * windows.kernel[0] * windows.kernel[1],
        windows.out[0] * windows.out[1],
    )


def im2col(self: Array, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape) -> Array:
    """Each window as a column."""
    geometry = (kernel_size, dilation, padding, stride)
    shape = im2col_shape(self, *geometry)
    windows = columns_of(self.shape[-2:], *geometry)
    if kernel_of_floats("columns_of_windows", self.dtype) is not None:
        images = self if self.ndim == 4 else self[None]
        columns = np.empty((*images.shape[:2], *windows.kernel, *windows.out), self.dtype)
        column_filler(images, windows.kernel, windows.out, windows.geometry)(slice(None), columns)
        return columns.reshape(shape)
    padded: Array = np.zeros((*self.shape[:-2], *windows.padded), self.dtype)
    padded[(..., *windows.inner)] = self
    count = prod(windows.kernel)
    out: Array = np.empty((*self.shape[:-2], count, *windows.out), self.dtype)
    for number, seen in windows.taps():
        out[..., number, :, :] = padded[seen]
    return out.reshape(shape)


def col2im_shape(self: Any, output_size: Sequence[int], *geometry: Sequence[int]) -> Shape:
    """(N, C * kH * kW, windows) or without N to (N, C, H, W); also used on Meta. RuntimeError for rows or
    windows in another number than kernel and ``output_size`` make."""
    if len(output_size) != 2 or min(output_size) < 1:
        raise RuntimeError(f"output_size should be two positive numbers, but got {list(output_size)}")
    if self.ndim not in (2, 3) or 0 in self.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
            f"dimensions for input, but got: {list(self.shape)}"
        )
    windows = columns_of(output_size, *geometry)
    count = prod(windows.kernel)
    if self.shape[-2] % count:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.shape[-2]} and kernel_size={list(windows.kernel)}."
        )
    if self.shape[-1] != windows.out[0] * windows.out[1]:
        raise RuntimeError(
            f"Given output_size={list(output_size)} and the kernel, expected size of input's dimension 2 to "
            f"match the calculated number of sliding blocks {windows.out[0]} * {windows.out[1]}, but got "
            f"input.size(2)={self.shape[-1]}."
        )
    return (*self.shape[:-2], self.shape[-2] // count, *output_size)


def col2im(
    self: Array, output_size: Shape, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape
) -> Array:
    """The columns added up where their windows lie."""
    geometry = (kernel_size, dilation, padding, stride)
    shape = col2im_shape(self, output_size, *geometry)
    windows = columns_of(output_size, *geometry)
    columns = self.reshape((*shape[:-2], prod(windows.kernel), *windows.out))
    padded: Array = np.zeros((*shape[:-2], *windows.padded), self.dtype)
    for number, seen in windows.taps():
        padded[seen] += columns[..., number, :, :]
    return np.ascontiguousarray(padded[(..., *windows.inner)])
