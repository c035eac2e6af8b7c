"""Resizing of the last dimensions: of what old elements, by what weights, the new ones are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from .common import Array

#: Of a dimension's new places the old ones, (new, taps), and their weights.
Taps = tuple[Array, Array]


def resized_dims(
    shape: Sequence[int], mode: str, output_size: Sequence[int], scales: Sequence[float | None] | None
) -> tuple[tuple[int, float | None], ...]:
    """The new sizes of the last dimensions, each with its scale.

    RuntimeError for a size that is not positive, and for an unknown mode.
    """
    dims = len(output_size)
    old = shape[len(shape) - dims :]
    if min(*old, *output_size, 1) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {[*old]} and output "
            f"{[*output_size]}"
        )
    if mode not in MODES:
        raise RuntimeError(f"mode must be one of {', '.join(MODES)}, but got {mode!r}")
    return tuple(zip(output_size, scales or (None,) * dims, strict=True))


def _step(n: int, new: int, align_corners: bool, scale: float | None) -> float:
    """How far apart the new places are, in old ones."""
    if align_corners:
        return (n - 1) / (new - 1) if new > 1 else 0.0
    return 1 / scale if scale is not None and scale > 0 else n / new


def _middles(n: int, new: int, align_corners: bool, scale: float | None) -> Array:
    """Where the middles of the new places lie among those of the old ones."""
    step = _step(n, new, align_corners, scale)
    place = np.arange(new, dtype=np.float64)
    return place * step if align_corners else (place + 0.5) * step - 0.5


def _nearest(n: int, new: int, align_corners: bool, scale: float | None, middle: float = 0.0) -> Taps:
    # In float32, as PyTorch: a place that falls between two is a matter of rounding.
    step = np.float32(_step(n, new, False, scale))
    places = np.floor((np.arange(new, dtype=np.float32) + np.float32(middle)) * step)
    return np.minimum(places, n - 1).astype(np.int64)[:, np.newaxis], np.ones((new, 1))


def _nearest_of_images(n: int, new: int, align_corners: bool, scale: float | None) -> Taps:
    """In PyTorch, where the size of an image stays or doubles, the scale says nothing."""
    return _nearest(n, new, align_corners, None if new in (n, 2 * n) else scale)


def _nearest_exact(n: int, new: int, align_corners: bool, scale: float | None) -> Taps:
    return _nearest(n, new, align_corners, scale, 0.5)


def _linear(n: int, new: int, align_corners: bool, scale: float | None) -> Taps:
    if n == new:  # whatever the scale
        return np.arange(n)[:, np.newaxis], np.ones((n, 1))
    middles = np.maximum(_middles(n, new, align_corners, scale), 0)
    first = np.minimum(middles.astype(np.int64), n - 1)
    share = np.clip(middles - first, 0, 1)
    return np.stack([first, np.minimum(first + 1, n - 1)], 1), np.stack([1 - share, share], 1)


def _cubic_weight(x: Array, a: float) -> Array:
    """Keys' cubic convolution kernel."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _cubic(n: int, new: int, align_corners: bool, scale: float | None) -> Taps:
    middles = _middles(n, new, align_corners, scale)
    first = np.floor(middles)[:, np.newaxis]
    around = first + np.arange(-1, 3)
    weights = _cubic_weight(middles[:, np.newaxis] - around, -0.75)
    return np.clip(around, 0, n - 1).astype(np.int64), weights


def _triangle(x: Array) -> Array:
    return np.maximum(1 - np.abs(x), 0)


def _keys(x: Array) -> Array:
    return _cubic_weight(x, -0.5)


def _lanczos(x: Array) -> Array:
    counts = (np.abs(x) < 3) & ((x == 0) | (x != np.rint(x)))  # the sine of a multiple of pi is rounded
    return np.where(counts, np.sinc(x) * np.sinc(x / 3), 0)


def _antialiased(filter: Callable[[Array], Array], reach: float) -> Callable[..., Taps]:
    """Taps of a filter that is stretched where the image becomes smaller."""

    def taps(n: int, new: int, align_corners: bool, scale: float | None) -> Taps:
        step = _step(n, new, align_corners, scale)
        stretch = max(step, 1.0)
        center = (np.arange(new) + 0.5) * step
        start = np.maximum((center - reach * stretch + 0.5).astype(np.int64), 0)
        end = np.minimum((center + reach * stretch + 0.5).astype(np.int64), n)
        places = start[:, np.newaxis] + np.arange(max(int((end - start).max()), 1))
        weights = filter((places - center[:, np.newaxis] + 0.5) / stretch)
        weights = np.where(places < end[:, np.newaxis], weights, 0)
        total = weights.sum(1, keepdims=True)
        return np.minimum(places, n - 1), weights / np.where(total == 0, 1, total)

    return taps


MODES: dict[str, Callable[[int, int, bool, float | None], Taps]] = {
    "nearest": _nearest,
    "nearest-image": _nearest_of_images,
    "nearest-exact": _nearest_exact,
    "linear": _linear,
    "cubic": _cubic,
    "linear-antialias": _antialiased(_triangle, 1),
    "cubic-antialias": _antialiased(_keys, 2),
    "lanczos-antialias": _antialiased(_lanczos, 3),
}


@lru_cache(64)
def taps_of(mode: str, n: int, new: int, align_corners: bool, scale: float | None) -> Taps:
    """What the ``new`` places of a dimension of ``n`` are made of, by a mode of ``MODES``."""
    return MODES[mode](n, new, align_corners, scale)
