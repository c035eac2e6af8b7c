"""Maxima over windows at random places, which differ from plane to plane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .common import Array, Shape


def _chosen(values: Array, places: Array, axis: int) -> tuple[Array, Array]:
    """The maximum along an axis, the first of equal ones or the last NaN, and its place."""
    unknown = np.isnan(values)
    last = values.shape[axis] - 1 - np.flip(unknown, axis).argmax(axis)
    first = np.expand_dims(np.where(unknown.any(axis), last, values.argmax(axis)), axis)
    best = np.take_along_axis(values, first, axis).squeeze(axis)
    return best, np.take_along_axis(np.broadcast_to(places, values.shape), first, axis).squeeze(axis)


def fractional_shape(
    self: Any, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Any
) -> Shape:
    """The shape of the maxima; also used on Meta. RuntimeError for sizes that do not fit."""
    dims = len(kernel_size)
    if self.ndim not in (dims + 1, dims + 2) or 0 in self.shape[-dims - 1 :]:
        raise RuntimeError(
            f"fractional_max_pool{dims}d: Expected {dims + 1}D or {dims + 2}D tensor with non-zero sizes, "
            f"but got {list(self.shape)}"
        )
    if random_samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {random_samples.ndim}")
    batch = self.shape[0] if self.ndim == dims + 2 else 1
    expected = (batch, self.shape[-dims - 1], dims)
    fits = random_samples.shape[0] >= batch and tuple(random_samples.shape[1:]) == expected[1:]
    if not fits:
        raise RuntimeError(
            f"Expect _random_samples of shape {list(expected)}, but got {list(random_samples.shape)}"
        )
    for n, k, new in zip(self.shape[-dims:], kernel_size, output_size, strict=True):
        if new < 0 or k < 1 or new + k - 1 > n - (dims == 3):
            raise RuntimeError(
                f"fractional_max_pool{dims}d: {new} windows of size {k} do not fit into {n} elements"
            )
    return (*self.shape[:-dims], *output_size)


def _starts(samples: Array, n: int, new: int, kernel: int) -> Array:
    """Where the windows of each plane begin; the last one ends at the end."""
    out: Array = np.full((len(samples), new), n - kernel, np.int64)
    if new > 1:
        alpha = samples.dtype.type((n - kernel) / (new - 1))
        moved = (np.arange(new - 1, dtype=samples.dtype) + samples[:, np.newaxis]) * alpha
        out[:, :-1] = moved.astype(np.int64) - (samples * alpha).astype(np.int64)[:, np.newaxis]
    return out


def fractional_max_pool(
    self: Array, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Array
) -> tuple[Array, Array]:
    """The maxima of windows that begin at random places, and where they are in the flattened image."""
    dims = len(kernel_size)
    shape = fractional_shape(self, kernel_size, output_size, random_samples)
    if 0 in output_size:
        return np.zeros(shape, self.dtype), np.zeros(shape, np.int64)
    sizes = self.shape[-dims:]
    planes = self.reshape(math.prod(self.shape[:-dims]), math.prod(sizes))
    samples = random_samples.reshape(-1, dims)[: len(planes)].astype(self.dtype, copy=False)
    # Images have the sample of their last dimension first, volumes in the order of the dimensions.
    order = samples[:, ::-1] if dims == 2 else samples
    places: Any = np.zeros((1,) * (2 * dims + 1), np.int64)
    for d, (n, k, new) in enumerate(zip(sizes, kernel_size, output_size, strict=True)):
        taps = _starts(order[:, d], n, new, k)[:, :, np.newaxis] + np.arange(k)
        spread = [len(planes), *[1] * (2 * dims)]
        spread[1 + d], spread[1 + dims + d] = new, k
        places = places * n + taps.reshape(spread)
    windows, taps = math.prod(output_size), math.prod(kernel_size)
    every = places.reshape(len(planes), windows, taps)
    found = np.take_along_axis(planes, every.reshape(len(planes), windows * taps), 1).reshape(every.shape)
    best, where = _chosen(found, every, 2)
    return best.reshape(shape), where.reshape(shape)
