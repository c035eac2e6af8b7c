"""What the windows of a convolution see of its input: views, and copies as columns of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..native_kernels import kernel_of_floats
from .common import Array, Shape, as_numbers


class Geometry(NamedTuple):
    """Strides, zeros around the input and spacing of the kernel taps, for each spatial dimension."""

    stride: Shape
    padding: Shape
    dilation: Shape
    groups: int

    def out(self, spatial: Shape, kernel: Shape) -> Shape:
        """The spatial size of the result."""
        sizes = zip(spatial, kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes])

    def transposed_out(self, spatial: Shape, kernel: Shape, output_padding: Shape) -> Shape:
        """The spatial size of the transposed convolution's result."""
        sizes = zip(spatial, kernel, self.stride, self.padding, self.dilation, output_padding, strict=True)
        return tuple([(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in sizes])


def tap_slices(kernel: Shape, out: Shape, geometry: Geometry) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
    """Each kernel tap, and which elements of the padded input it sees."""
    for tap in product(*[range(k) for k in kernel]):
        yield (
            tap,
            tuple(
                [
                    slice(t * d, t * d + s * (n - 1) + 1, s)
                    for t, d, s, n in zip(tap, geometry.dilation, geometry.stride, out, strict=True)
                ]
            ),
        )


def with_padding(x: Array, padding: Shape) -> Array:
    """``x`` with zeros around its spatial dimensions; ``x`` itself when there are none."""
    if not any(padding):
        return x
    spatial = x.shape[2:]
    out: Array = np.zeros(
        (*x.shape[:2], *[n + 2 * p for n, p in zip(spatial, padding, strict=True)]), x.dtype
    )
    out[(..., *[slice(p, p + n) for n, p in zip(spatial, padding, strict=True)])] = x
    return out


def windows_of(x: Array, kernel: Shape, out: Shape, geometry: Geometry) -> Array:
    """A view (batch, channels, *kernel, *out) of a padded array: what each tap sees at each place."""
    x = np.ascontiguousarray(x)
    shape, strides = _windows_layout(x.shape, x.strides, kernel, out, geometry)
    # ndarray() is as_strided without its overhead, which is that of a whole small convolution.
    return np.ndarray(shape, x.dtype, x, 0, strides)


@lru_cache(256)
def _windows_layout(
    shape: Shape, strides: Shape, kernel: Shape, out: Shape, geometry: Geometry
) -> tuple[Shape, Shape]:
    """Shape and strides of the windows of an array of this layout."""
    taps = [s * d for s, d in zip(strides[2:], geometry.dilation, strict=True)]
    places = [s * d for s, d in zip(strides[2:], geometry.stride, strict=True)]
    return (*shape[:2], *kernel, *out), (*strides[:2], *taps, *places)


def column_filler(x: Array, kernel: Shape, out: Shape, geometry: Geometry) -> Callable[[slice, Array], Any]:
    """A function that copies the columns (count, channels, *kernel, *out) of a block of samples."""
    native = kernel_of_floats("columns_of_windows", x.dtype) if len(kernel) < 3 else None
    if native is None:
        windows = windows_of(with_padding(x, geometry.padding), kernel, out, geometry)
        return lambda block, columns: np.copyto(columns, windows[block])
    numbers = _numbers(geometry)
    if len(kernel) == 2:
        return lambda block, columns: native(x[block], *numbers, out=columns)
    images = x[:, :, None]
    return lambda block, columns: native(images[block], *numbers, out=columns[:, :, None, :, None])


@lru_cache(256)
def _numbers(geometry: Geometry) -> tuple[Array, ...]:
    """What a native kernel over windows takes of a geometry of one or two dims: steps, gaps, padding."""
    return as_numbers((geometry.stride, 1), (geometry.dilation, 1), (geometry.padding, 0))


def windows_with_channels_last(x: Array, kernel: Shape, out: Shape, geometry: Geometry) -> Array:
    """As ``windows_of`` the padded input, a view (batch, *out, *kernel, channels) of a copy."""
    batch, channels = x.shape[:2]
    sizes = list(zip(x.shape[2:], geometry.padding, strict=True))
    padded: Array = np.zeros((batch, *[n + 2 * p for n, p in sizes], channels), x.dtype)
    padded[(slice(None), *[slice(p, p + n) for n, p in sizes])] = np.moveaxis(x, 1, -1)
    sample, *steps, last = padded.strides
    taps = [s * d for s, d in zip(steps, geometry.dilation, strict=True)]
    places = [s * d for s, d in zip(steps, geometry.stride, strict=True)]
    shape = batch, *out, *kernel, channels
    return np.ndarray(shape, x.dtype, padded, 0, (sample, *places, *taps, last))
