"""Kernels of histograms: elements, or points of several coordinates, counted between edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .creation import made

Array = Any
Shape = tuple[int, ...]
Form = Callable[..., Any]


def check_bins(shape: Shape, bins: Sequence[int]) -> Shape:
    """The shape of the histogram of points in so many bins. RuntimeError where they do not fit."""
    if len(shape) < 2:
        raise RuntimeError(f"the points must have at least 2 dimensions, but got shape {list(shape)}")
    _check_count(shape[-1], len(bins))
    for d, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(f"bins must be > 0, but got {count} for dimension {d}")
    return tuple(bins)


def check_edges(shape: Shape, dtype: Any, bins: Sequence[Array]) -> Shape:
    """The shape of the histogram of points between edges. RuntimeError where they do not fit."""
    _check_count(shape[-1] if shape else 1, len(bins))
    for d, edges in enumerate(bins):
        if edges.dtype != dtype:
            raise RuntimeError(
                f"the input and the bins should have the same dtype, but got {dtype} and, for dimension {d}, "
                f"{edges.dtype}"
            )
        if edges.ndim != 1 or not edges.size:
            raise RuntimeError(
                f"the bins must be vectors of at least 1 element, but got shape {list(edges.shape)} for "
                f"dimension {d}"
            )
    return check_bins(shape, [edges.size - 1 for edges in bins])


def _check_count(coordinates: int, count: int) -> None:
    if count != coordinates:
        raise RuntimeError(
            f"expected {coordinates} bins for a {coordinates}-dimensional histogram, but got {count}"
        )


def histogram_edges(
    self: Array, bins: Sequence[int], range: Sequence[float] | None, line: Form
) -> list[Array]:
    """The edges of equal parts along each coordinate, as the form of a line says them.

    RuntimeError for a range that is none.
    """
    check_bins(self.shape, bins)
    count = len(bins)
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(
            f"for a {count}-dimensional histogram range should have {2 * count} elements, but got "
            f"{len(range)}"
        )
    points = self.reshape(-1, count) if self.size else self[:0].reshape(0, count)
    found = []
    for d, parts in enumerate(bins):
        if range is not None:
            low, high = range[2 * d : 2 * d + 2]
        elif len(points):
            low, high = float(points[:, d].min()), float(points[:, d].max())
        else:
            low, high = 0.0, 1.0
        if not np.isfinite([low, high]).all():
            raise RuntimeError(f"dimension {d}'s range [{low}, {high}] is not finite")
        if low > high:
            raise RuntimeError(f"min should not exceed max, but got min {low} max {high} for dimension {d}")
        if low == high:
            low, high = low - 0.5, high + 0.5
        found.append(made(line, low, high, parts + 1, self.dtype))
    return found


def histogram_of(self: Array, bins: Sequence[Array], weight: Array | None, density: bool) -> Array:
    """The counts of points between edges, in their dtype; each counts as much as its ``weight``.

    What is beyond the outermost edges, or NaN, does not count. RuntimeError for weights of another shape or
    dtype.
    """
    shape = check_edges(self.shape, self.dtype, bins)
    if weight is not None:
        if weight.shape != self.shape[:-1]:
            raise RuntimeError(
                "if weight tensor is provided it should have the shape of the input tensor excluding its "
                f"innermost dimension, but got input with shape {list(self.shape)} and weight with shape "
                f"{list(weight.shape)}"
            )
        if weight.dtype != self.dtype:
            raise RuntimeError(
                "if weight tensor is provided, input tensor and weight tensor should have one dtype, but "
                f"got input({self.dtype}), and weight({weight.dtype})"
            )
        weight = weight.reshape(-1)
    count = self.size // len(shape)
    points = self.reshape(count, len(shape))
    cell, inside = np.zeros(count, np.int64), np.ones(count, bool)
    for column, edges in zip(points.T, bins, strict=True):
        inside &= (column >= edges[0]) & (column <= edges[-1])
        place = np.searchsorted(edges, column, "right") - 1
        cell = cell * (edges.size - 1) + np.clip(place, 0, edges.size - 2)
    weights = None if weight is None else weight[inside].astype(np.float64)
    hist = np.bincount(cell[inside], weights, np.prod(shape, dtype=np.int64)).reshape(shape)
    if not density:
        return hist.astype(self.dtype)
    wide = hist / hist.sum()
    for d, edges in enumerate(bins):
        widths = np.diff(edges.astype(np.float64))
        wide /= widths.reshape((-1, *(1,) * (len(shape) - d - 1)))
    return wide.astype(self.dtype)


def checked_weight(self: Array, weight: Array | None) -> Array | None:
    """The weights as a vector. RuntimeError where there is not one for each element."""
    if weight is not None and weight.shape != self.shape:
        raise RuntimeError(
            "if weight tensor is provided it should have the same shape as the input tensor, but got input "
            f"with shape {list(self.shape)} and weight with shape {list(weight.shape)}"
        )
    return None if weight is None else weight.reshape(-1)


def histogram_by_count(
    self: Array, bins: int, range: Sequence[float] | None, weight: Array | None, density: bool, line: Form
) -> tuple[Array, Array]:
    """The counts of elements in equal parts, and the edges of these."""
    points = self.reshape(-1, 1)
    edges = histogram_edges(points, (bins,), range, line)
    return histogram_of(points, edges, checked_weight(self, weight), density), edges[0]


def histogram_by_edges(self: Array, bins: Array, weight: Array | None, density: bool) -> tuple[Array, Array]:
    """The counts of elements between edges, and a copy of these."""
    found = histogram_of(self.reshape(-1, 1), [bins], checked_weight(self, weight), density)
    return found, bins.copy()
