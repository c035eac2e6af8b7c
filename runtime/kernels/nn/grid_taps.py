"""Points between the elements of an image as taps: along each dimension the elements that a point is made of.

What is here computes with any array namespace, ``xp``. A derivative by a dimension is made of the same
elements as the values are: its weights are the derivatives of theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

Array = Any
#: How far an element is from the image's begin, -1 for one outside, which counts for nothing; its weight.
Tap = tuple[Array, Array]

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
#: How often weights have a derivative that is not zero, by mode.
DEGREES = (1, 0, 3)
#: Keys' cubics of an element's distance, the highest power first, of the elements from the last but one on.
_A = -0.75
_CUBICS = (
    (_A, -2 * _A, _A, 0.0),
    (_A + 2, -(_A + 3), 0.0, 1.0),
    (-(_A + 2), 2 * _A + 3, -_A, 0.0),
    (-_A, _A, 0.0, 0.0),
)


class Axis(NamedTuple):
    """A dimension of an image: what brings -1 to 1 to its elements, and where its mirror images meet."""

    size: int
    pitch: int  # from one element to the next, in elements
    scale: float
    shift: float
    low: float
    span: float
    padding: int
    order: int  # which derivative is asked for

    @property
    def last(self) -> int:
        return self.size - 1


def axes_of(sizes: Sequence[int], padding: int, align_corners: bool, orders: Sequence[int]) -> list[Axis]:
    """The dimensions of an image."""
    axes: list[Axis] = []
    pitch = 1
    for n, order in zip(reversed(sizes), reversed(orders), strict=True):
        place = ((n - 1) / 2, 0.0, 0.0, n - 1.0) if align_corners else (n / 2, 0.5, -0.5, float(n))
        axes.insert(0, Axis(n, pitch, *place, padding, order))
        pitch *= n
    return axes


@lru_cache(64)
def cubics(order: int, scale: float) -> tuple[tuple[float, ...], ...]:
    """The polynomials of cubic weights, or of a derivative by the point that ``scale`` brings to elements."""
    found = _CUBICS
    for _ in range(order):
        found = tuple([(0.0, 3 * a, 2 * b, c) for a, b, c, _ in found])  # type: ignore[assignment]
    return tuple([tuple([c * scale**order for c in row]) for row in found])


def in_elements(points: Array, axis: Axis) -> Array:
    """Points from -1 to 1 as places among the elements."""
    return (points + 1) * axis.scale - axis.shift


def _mirrored(xp: Any, x: Array, axis: Axis) -> tuple[Array, Array]:
    """Mirrored at the middles of the outermost elements, or at their edges; whether it runs backwards."""
    if axis.span == 0:
        return x * 0, xp.isnan(x)
    away = xp.abs(x - axis.low)
    turns = xp.floor(away / axis.span)
    rest = away - turns * axis.span
    odd = turns != 2 * xp.floor(turns * 0.5)
    return xp.where(odd, axis.span - rest, rest) + axis.low, odd ^ (x < axis.low)


def folded_places(xp: Any, x: Array, axis: Axis) -> tuple[Array, Array]:
    """Places brought into the image, NaN to its begin, and the slopes of that."""
    folded, backwards = _mirrored(xp, x, axis) if axis.padding == REFLECTION else (x, xp.isnan(x))
    inside = (folded > 0) & (folded < axis.last)
    zeros = xp.zeros_like(x)
    place = xp.where(inside, folded, xp.where(folded > 0, zeros + axis.last, zeros))
    return place, xp.where(inside, xp.where(backwards, zeros - 1, zeros + 1), zeros)


def _tap(xp: Any, place: Array, axis: Axis, weight: Array) -> Tap:
    """The tap of a place that is whole; NaN is the first one, with its weight."""
    within = (place >= 0) & (place <= axis.last)
    index = xp.astype(xp.where(within, place, xp.zeros_like(place)), xp.int64) * axis.pitch
    return xp.where(within | xp.isnan(place), index, xp.zeros_like(index) - 1), weight


def taps(xp: Any, points: Array, axis: Axis, mode: int) -> list[Tap]:
    """What points, from -1 to 1, are made of along a dimension."""
    x = in_elements(points, axis)
    if mode == BICUBIC:
        first = xp.floor(x)
        share = x - first
        found = []
        for k, (a, b, c, d) in enumerate(cubics(axis.order, axis.scale), -1):
            place = first + k
            if axis.padding != ZEROS:
                place = folded_places(xp, place, axis)[0]
            found.append(_tap(xp, place, axis, ((a * share + b) * share + c) * share + d))
        return found
    slope = xp.zeros_like(x) + 1
    if axis.padding != ZEROS:
        x, slope = folded_places(xp, x, axis)
    if mode == NEAREST:
        index, one = _tap(xp, xp.round(x), axis, xp.zeros_like(x) + 1)
        return [(xp.where(xp.isnan(x), xp.zeros_like(index) - 1, index), one)]
    first = xp.floor(x)
    weights = (1 - (x - first), x - first) if not axis.order else (-slope * axis.scale, slope * axis.scale)
    return [_tap(xp, first + k, axis, w) for k, w in enumerate(weights)]


def rows_and_columns(xp: Any, along: Sequence[list[Tap]]) -> tuple[list[Tap], list[Tap]]:
    """The taps of the last dimension, and those of all before it together."""
    *before, columns = along
    rows = before[0]
    for more in before[1:]:
        rows = [_both(xp, one, other) for one in rows for other in more]
    return rows, columns


def _both(xp: Any, one: Tap, other: Tap) -> Tap:
    (i, v), (j, w) = one, other
    return xp.where((i < 0) | (j < 0), xp.zeros_like(i) - 1, i + j), v * w


def sample(xp: Any, gather: Callable[..., Array], image: Array, rows: list[Tap], columns: list[Tap]) -> Array:
    """The values (N, C, points) of an image (N, C, elements) at points, whose taps are (N, 1, points)."""
    total: Any = 0
    for r, b in rows:
        row: Any = 0
        for c, a in columns:
            found = gather(image, -1, _places(xp, image, r, c))
            row = row + xp.where(c < 0, xp.zeros_like(found), found * a)
        total = total + xp.where(r < 0, xp.zeros_like(row), row * b)
    return total


def spread(
    xp: Any, scatter_add: Callable[..., Array], grad: Array, out: Array, rows: list[Tap], columns: list[Tap]
) -> Array:
    """``out`` (N, C, elements) with what reaches its elements of a gradient (N, C, points)."""
    for r, b in rows:
        part = xp.where(r < 0, xp.zeros_like(grad), grad * b)
        for c, a in columns:
            value = xp.where(c < 0, xp.zeros_like(grad), part * a)
            out = scatter_add(out, -1, _places(xp, grad, r, c), value)
    return out


def _places(xp: Any, like: Array, r: Array, c: Array) -> Array:
    """Where the elements of a row and a column are, of each channel."""
    index = xp.where((r < 0) | (c < 0), xp.zeros_like(r), r + c)
    return xp.broadcast_to(index, (*like.shape[:2], index.shape[2]))
