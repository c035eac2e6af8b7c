"""Independent computations of pools, windows and resizing, one element or window after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any
Shape = Sequence[int]


def adaptive_max(x: Array, size: Shape | int, dims: int) -> tuple[Array, Array]:
    """Each window looked at by itself."""
    out = (size,) * dims if isinstance(size, int) else tuple(size) * (dims if len(size) == 1 else 1)
    bounds = [
        [(i * n // new, -(-(i + 1) * n // new)) for i in range(new)]
        for n, new in zip(x.shape[-dims:], out, strict=True)
    ]
    return greatest_within(x, bounds, dims)


def greatest_within(x: Array, bounds: Any, dims: int) -> tuple[Array, Array]:
    """The greatest element of each window between bounds, and its place in the flattened image."""
    sizes = x.shape[-dims:]
    places = np.arange(math.prod(sizes)).reshape(sizes)
    shape = (*x.shape[:-dims], *[len(b) for b in bounds])
    best, where = np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    for index in np.ndindex(shape):
        window = tuple(slice(*b[i]) for b, i in zip(bounds, index[-dims:], strict=True))
        values = x[index[:-dims]][window]
        best[index] = values.max()
        where[index] = places[window].flat[values.argmax()]
    return best, where


def fractional_max(
    x: Array, kernel: Shape | int, size: Shape | int, samples: Array, dims: int
) -> tuple[Array, Array]:
    kernels = (kernel,) * dims if isinstance(kernel, int) else tuple(kernel) * (dims // len(kernel))
    sizes = (size,) * dims if isinstance(size, int) else tuple(size) * (dims // len(size))
    results = []
    planes = x.reshape(-1, *x.shape[-dims:])
    for plane, sample in zip(planes, samples.reshape(-1, dims), strict=True):
        order = sample[::-1] if dims == 2 else sample
        bounds = []
        for n, k, new, s in zip(plane.shape, kernels, sizes, order, strict=True):
            step = (n - k) / (new - 1) if new > 1 else 0
            starts = [int((i + s) * step) - int(s * step) for i in range(new - 1)] + [n - k] * (new > 0)
            bounds.append([(a, a + k) for a in starts])
        results.append(greatest_within(plane, bounds, dims))
    shape = (*x.shape[:-dims], *sizes)
    best, where = (np.array(part).reshape(shape) for part in zip(*results, strict=True))
    return best.astype(x.dtype), where.astype(np.int64)


def pairs(*given: Shape | int) -> list[tuple[int, int]]:
    return [(g, g) if isinstance(g, int) else (g[0], g[-1]) for g in given]


def columns(x: Array, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    """One window after the other."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = pairs(kernel, dilation, padding, stride)
    wide = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(ph, ph), (pw, pw)])
    tall, broad = dh * (kh - 1) + 1, dw * (kw - 1) + 1
    found = [
        wide[..., i : i + tall : dh, j : j + broad : dw].reshape(*x.shape[:-3], -1)
        for i in range(0, wide.shape[-2] - tall + 1, sh)
        for j in range(0, wide.shape[-1] - broad + 1, sw)
    ]
    return np.stack(found, -1)


def columns_back(x: Array, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Array:
    """As the transpose of ``columns``: where the number of each element of an image stands in these."""
    (height, width), ((kh, kw),) = pairs(size)[0], pairs(kernel)
    channels = x.shape[-2] // (kh * kw)
    count = channels * height * width
    numbers = np.arange(1, count + 1).reshape(channels, height, width)
    places = columns(numbers, kernel, dilation, padding, stride)
    flat = x.reshape(-1, *x.shape[-2:])
    out = np.zeros((len(flat), count + 1), x.dtype)
    for row, values in zip(out, flat, strict=True):
        for place, value in zip(places.flat, values.flat, strict=True):
            row[place] += value
    return out[:, 1:].reshape(*x.shape[:-2], channels, height, width)


def resized(x: Array, mode: str, size: Shape, align: bool, scales: Any) -> Array:
    """Every new element along one dimension as a sum over all old ones."""
    out = x
    for d, new in enumerate(size):
        axis = x.ndim - len(size) + d
        n = x.shape[axis]
        scale = scales[d] if scales and not (mode == "nearest-image" and new in (n, 2 * n)) else 0
        step = (1 / scale if scale else n / new) if not align else (n - 1) / max(new - 1, 1)
        matrix = np.array([new_element(mode, i, n, step, align) for i in range(new)])
        out = np.moveaxis(np.tensordot(matrix, np.moveaxis(out, axis, 0), 1), 0, axis)
    return out.astype(x.dtype)


def new_element(mode: str, i: int, n: int, step: float, align: bool) -> Array:
    """The weights of the ``n`` old elements in new element ``i``."""
    row = np.zeros(n)
    middle = i * step if align else (i + 0.5) * step - 0.5
    if mode.startswith("nearest"):
        row[min(int((i + (0.5 if mode == "nearest-exact" else 0)) * step), n - 1)] = 1
        return row
    kind, _, smooth = mode.partition("-")
    reach, filters = (
        {"linear": 1, "cubic": 2, "lanczos": 3}[kind],
        {
            "linear": lambda t: max(1 - abs(t), 0),
            "cubic": lambda t: keys(abs(t), -0.5 if smooth else -0.75),
            "lanczos": lambda t: np.sinc(t) * np.sinc(t / 3) if abs(t) < 3 else 0,
        },
    )
    if smooth:
        wide, center = max(step, 1), (i + 0.5) * step
        used = range(max(int(center - reach * wide + 0.5), 0), min(int(center + reach * wide + 0.5), n))
        for j in used:
            row[j] = filters[kind]((j + 0.5 - center) / wide)
        return row / row.sum()
    middle = max(middle, 0) if kind == "linear" else middle
    for j in range(math.floor(middle) - reach + 1, math.floor(middle) + reach + 1):
        row[min(max(j, 0), n - 1)] += filters[kind](middle - j)
    return row


def keys(t: float, a: float) -> float:
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0


def affine_points(theta: Array, size: Shape, align: bool) -> Array:
    """What affine maps make of the points of a grid, each of which has its coordinates and 1."""
    places = list(np.ndindex(*size[2:]))
    points = [[*(place_of(i, n, align) for i, n in zip(p, size[2:], strict=True)), 1.0] for p in places]
    grid = np.array(points).reshape(-1, len(size) - 1)
    grid = np.concatenate([grid[:, -2::-1], grid[:, -1:]], 1)
    return np.array([grid @ m.T for m in theta]).reshape(theta.shape[0], *size[2:], len(size) - 2)


def place_of(i: int, n: int, align: bool) -> float:
    """Where the element ``i`` of ``n`` is from -1 to 1: the middles of the outermost ones, or their ends."""
    if align:
        return 2 * i / (n - 1) - 1 if n > 1 else 0.0
    return (2 * i + 1) / n - 1


def on_grid(images: Array, grid: Array, mode: int, padding: int, aligned: bool) -> Array:
    """Images at points, each the sum over all elements, weighted by how near they are in each dimension."""
    sizes = images.shape[2:]
    out = np.zeros((*images.shape[:2], *grid.shape[1:-1]))
    for number, *point in np.ndindex(grid.shape[0], *grid.shape[1:-1]):
        weights = np.ones(())
        for x, size in zip(grid[(number, *point)][::-1], sizes, strict=True):
            along = _near(
                (x + 1) / 2 * (size - 1) if aligned else ((x + 1) * size - 1) / 2,
                size,
                mode,
                padding,
                aligned,
            )
            weights = weights[..., None] * along
        out[(number, slice(None), *point)] = (images[number] * weights).sum(tuple(range(1, len(sizes) + 1)))
    return out.astype(images.dtype)


def _near(x: float, size: int, mode: int, padding: int, aligned: bool) -> Array:
    """The weights that the elements of one dimension have at a place."""
    if mode != 2:
        x = _inside(x, size, padding, aligned)
    weights = np.zeros(size)
    for place in range(math.floor(x) - 1, math.floor(x) + 3):
        away = abs(x - place)
        if mode == 0:
            weight = max(0.0, 1 - away)
        elif mode == 1:
            weight = float(place == np.round(x))
        else:  # Keys' kernel
            far = -0.75 * (((away - 5) * away + 8) * away - 4)
            weight = (1.25 * away - 2.25) * away * away + 1 if away <= 1 else far if away < 2 else 0.0
        index = int(_inside(place, size, padding, aligned)) if mode == 2 else place
        if 0 <= index < size:
            weights[index] += weight
    return weights


def _inside(x: float, size: int, padding: int, aligned: bool) -> float:
    """A place as ``padding`` has it: as it is (0), at the border (1), or reflected (2)."""
    low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
    while padding == 2 and high > low and not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return x if padding == 0 else min(max(x, 0.0), size - 1.0)


def on_grid_backward(
    grad: Array, grid: Array, size: Shape, mode: int, padding: int, aligned: bool, dims: int
) -> Array:
    """What each element of the images counts at all points."""
    sizes = tuple(size)[-dims:]
    one = np.eye(math.prod(sizes)).reshape(1, -1, *sizes)
    found = [on_grid(one, g[None], mode, padding, aligned)[0] for g in grid]
    each = [
        np.tensordot(g, f, (range(1, dims + 1), range(1, dims + 1))) for g, f in zip(grad, found, strict=True)
    ]
    return np.array(each).reshape(*grad.shape[:2], *sizes).astype(grad.dtype)
