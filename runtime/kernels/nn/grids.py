"""Sampling of images at the points of grids, its transpose, and the gradient of the points.

An image is (..., C, sizes), a grid (..., points, dims), whose dims count from the last one. Native kernels go
over the points in parts, so that their taps stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core.costs import CHUNK, NATIVE_GRAIN
from ..native_kernels import kernel_of_floats
from ..parallel import in_threads
from ..scatter import check_gather, check_scatter, gather_along, scatter_along
from .common import Array, Shape
from .grid_taps import (
    BICUBIC,
    BILINEAR,
    DEGREES,
    NEAREST,
    ZEROS,
    Axis,
    Tap,
    axes_of,
    cubics,
    rows_and_columns,
    sample,
    spread,
    taps,
)

#: Some of the images of a batch, and some of the points of each.
Part = tuple[slice, slice]
_WHOLE = (slice(None), slice(None))
#: The numbers of elements below which kernels compute all places exactly, by dtype.char.
_EXACT = {"f": 1 << 24, "d": 1 << 31}
#: How many taps there are along a dim, and the kernels that make them, by mode.
_COUNTS = {BILINEAR: 2, NEAREST: 1, BICUBIC: 4}
_NAMES = {BILINEAR: "linear_taps", NEAREST: "nearest_taps", BICUBIC: "cubic_taps"}


class Points(NamedTuple):
    """The points of a grid, (N, points, dims), in images of C channels."""

    grid: Array
    channels: int
    axes: list[Axis]
    mode: int

    @classmethod
    def of(
        cls,
        grid: Array,
        channels: int,
        sizes: Sequence[int],
        mode: int,
        padding: int,
        align_corners: bool,
        orders: Sequence[int],
    ) -> Points:
        """Of a grid with more dims: those before the last ones of the image are the batch."""
        dims = len(sizes)
        rows = grid.reshape(math.prod(grid.shape[: -dims - 1]), math.prod(grid.shape[-dims - 1 : -1]), dims)
        return cls(rows, channels, axes_of(sizes, padding, align_corners, orders), mode)

    @property
    def shape(self) -> Shape:
        """That of what is sampled."""
        return (self.grid.shape[0], self.channels, self.grid.shape[1])

    @property
    def elements(self) -> int:
        """How many an image has in a channel."""
        return self.axes[0].pitch * self.axes[0].size

    @property
    def vanish(self) -> bool:
        """Whether so many derivatives of the weights are zero."""
        return max([axis.order for axis in self.axes]) > DEGREES[self.mode]

    def along(self, part: Part) -> list[Array]:
        """The coordinates of points by the dims of the image, (n, 1, points)."""
        found = self.grid[part[0], np.newaxis, part[1]]
        return [found[..., d] for d in reversed(range(len(self.axes)))]

    def taps(self) -> tuple[list[Tap], list[Tap]]:
        """The rows and the columns that all points are made of."""
        both = zip(self.along(_WHOLE), self.axes, strict=True)
        return rows_and_columns(np, [taps(np, x, axis, self.mode) for x, axis in both])

    def kernel(self, name: str) -> np.ufunc | None:
        """The kernel for such images and points; None where there is none."""
        if self.elements >= _EXACT.get(self.grid.dtype.char, 0):
            return None
        columns = _COUNTS[self.mode]
        name = f"{name}_{columns ** (len(self.axes) - 1)}x{columns}"
        found: np.ufunc | None = kernel_of_floats(name, self.grid.dtype)
        return found

    def each(self, task: Callable[[Part, list[Array], list[Array]], None], alone: bool = False) -> None:
        """Call ``task`` for parts of the points, with their taps; those of an image in turn, if ``alone``."""
        batch, count = self.grid.shape[:2]
        several = max(CHUNK // max(count, 1), 1)
        images = [slice(n, n + several) for n in range(0, batch, several)]
        places = [slice(begin, begin + CHUNK) for begin in range(0, count, CHUNK)]
        parts = [[(n, p) for p in places] for n in images]
        groups = parts if alone else [[part] for of_image in parts for part in of_image]

        def run(begin: int, end: int) -> None:
            along = [Taps(axis, self.mode, self.grid.dtype) for axis in self.axes]
            for part in [part for group in groups[begin:end] for part in group]:
                found = [taps_of(x) for taps_of, x in zip(along, self.along(part), strict=True)]
                task(part, as_operands([taps for taps, _ in found]), [slope for _, slope in found])

        if groups:
            in_threads(run, len(groups), math.prod(self.shape) // len(groups), NATIVE_GRAIN)


class Taps:
    """What makes the taps of points along a dimension, in memory that is used again."""

    def __init__(self, axis: Axis, mode: int, dtype: np.dtype[Any]) -> None:
        numbers: list[float] = [axis.scale, axis.shift, axis.pitch, axis.last]
        name = _NAMES[mode]
        folded = axis.padding != ZEROS
        if mode == BICUBIC or folded:
            numbers += [axis.low, axis.span, axis.padding]
        if mode == BICUBIC:
            numbers += [c for power in zip(*cubics(axis.order, axis.scale), strict=True) for c in power]
        elif folded:
            name = f"folded_{name}"
        self.kernel = kernel_of_floats(name, dtype)
        self.numbers = list(np.array(numbers, dtype).reshape(-1, 1, 1, 1))
        self.count = _COUNTS[mode]
        self.is_steep = axis.order > 0 and mode == BILINEAR
        self.slope = np.array([[[axis.scale]]], dtype)
        self.memory: dict[Shape, tuple[Array, ...]] = {}

    def __call__(self, points: Array) -> tuple[list[Tap], Array]:
        """The taps of points, (n, 1, points), until it is called again; the slopes of linear ones."""
        out = self.memory.get(points.shape)
        if out is None:
            kinds = [np.dtype(np.int64)] * self.count + [points.dtype] * (self.kernel.nout - self.count)
            out = self.memory[points.shape] = tuple([np.empty(points.shape, kind) for kind in kinds])
        self.kernel(np.ascontiguousarray(points), *self.numbers, out=out)
        places, weights = out[: self.count], out[self.count : 2 * self.count]
        slope = out[4] if len(out) == 5 else self.slope
        if self.is_steep:
            weights = (np.broadcast_to(-slope, points.shape), np.broadcast_to(slope, points.shape))
        return list(zip(places, weights, strict=True)), slope


def as_operands(along: list[list[Tap]]) -> list[Array]:
    """Taps as kernels take them: how far rows are, their weights, how far columns are, and theirs."""
    sides = rows_and_columns(np, along)
    return [array for side in sides for of in zip(*side, strict=True) for array in of]


def _channels(array: Array, dims: int, places: int) -> Array:
    """(..., C, sizes) as (N, C, places), contiguous."""
    shape = (math.prod(array.shape[: -dims - 1]), array.shape[-dims - 1], places)
    return np.ascontiguousarray(array).reshape(shape)


def grid_sample(
    input: Array, grid: Array, mode: int, padding: int, align_corners: bool, orders: Sequence[int]
) -> Array:
    """The values of images at points, or their derivatives by the coordinates: ``orders`` says which."""
    dims = len(orders)
    sizes = input.shape[-dims:]
    points = Points.of(grid, input.shape[-dims - 1], sizes, mode, padding, align_corners, orders)
    shape = (*input.shape[:-dims], *grid.shape[-dims - 1 : -1])
    if points.vanish:
        return np.zeros(shape, input.dtype)
    image = _channels(input, dims, points.elements)
    kernel = points.kernel("sample")
    if kernel is None:
        return sample(np, partial(gather_along, check_gather), image, *points.taps()).reshape(shape)
    out = np.empty(points.shape, input.dtype)

    def task(part: Part, taps: list[Array], slopes: list[Array]) -> None:
        kernel(image[part[0]], *taps, out=out[part[0], :, part[1]])

    points.each(task)
    return out.reshape(shape)


def grid_sample_backward(
    grad_output: Array,
    grid: Array,
    input_size: Sequence[int],
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> Array:
    """What reaches images with the last sizes of ``input_size`` of a gradient of the values at points."""
    dims = len(orders)
    input_size = input_size[-dims:]
    channels = grad_output.shape[-dims - 1]
    points = Points.of(grid, channels, input_size, mode, padding, align_corners, orders)
    shape = (*grad_output.shape[:-dims], *input_size)
    out = np.zeros((*points.shape[:2], points.elements), grad_output.dtype)
    if points.vanish:
        return out.reshape(shape)
    grad = _channels(grad_output, dims, points.shape[2])
    kernel = points.kernel("spread")
    if kernel is None:
        return spread(
            np, partial(scatter_along, check_scatter, fold="sum"), grad, out, *points.taps()
        ).reshape(shape)

    def task(part: Part, taps: list[Array], slopes: list[Array]) -> None:
        kernel(grad[part[0], :, part[1]], *taps, out=out[part[0]])

    points.each(task, alone=True)
    return out.reshape(shape)


def grid_sample_gradient(
    grad: Array,
    input: Array,
    grid: Array,
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> Array:
    """The gradient of the points: as ``grid_sample_gradient`` of the formulas, over arrays."""
    dims = len(orders)
    sizes, channels = input.shape[-dims:], input.shape[-dims - 1]
    out = np.zeros(grid.shape, grid.dtype)
    plain = Points.of(grid, channels, sizes, mode, padding, align_corners, orders)
    if mode == NEAREST or plain.vanish:
        return out
    both = _channels(grad, dims, plain.shape[2]), _channels(input, dims, plain.elements)
    found = out.reshape(plain.grid.shape)
    if mode == BILINEAR and dims == 2 and not any(orders) and plain.kernel("add_slopes") is not None:
        _add_slopes(plain, *both, found)
        return out
    for d in range(dims):
        raised = [order + (place == d) for place, order in enumerate(orders)]
        points = Points.of(grid, channels, sizes, mode, padding, align_corners, raised)
        if not points.vanish:
            _add_sampled(points, *both, found[..., dims - 1 - d])
    return out


def _add_slopes(points: Points, grad: Array, image: Array, out: Array) -> None:
    """Add to ``out`` what linear values, times ``grad``, change by with all coordinates."""
    kernel = points.kernel("add_slopes")
    assert kernel is not None

    def task(part: Part, taps: list[Array], slopes: list[Array]) -> None:
        rows = [array[:, 0] for array in taps]
        totals = tuple([np.zeros(out[part].shape[:2], out.dtype) for _ in slopes])
        for channel in range(points.channels):
            given = (image[part[0], channel], grad[part[0], channel, part[1]])
            kernel(*given, *rows, *totals, out=totals)
        for place, (total, slope) in enumerate(zip(totals, slopes, strict=True)):
            out[*part, len(slopes) - 1 - place] = total * slope[:, 0]

    points.each(task)


def _add_sampled(points: Points, grad: Array, image: Array, out: Array) -> None:
    """Add to ``out`` the values at points, times ``grad``: the sum over the channels."""
    kernel = points.kernel("add_sampled")
    if kernel is None:
        out += (sample(np, partial(gather_along, check_gather), image, *points.taps()) * grad).sum(1)
        return

    def task(part: Part, taps: list[Array], slopes: list[Array]) -> None:
        rows = [array[:, 0] for array in taps]
        total = np.zeros(out[part].shape, out.dtype)
        for channel in range(points.channels):
            kernel(image[part[0], channel], grad[part[0], channel, part[1]], *rows, total, out=total)
        out[part] = total

    points.each(task)
