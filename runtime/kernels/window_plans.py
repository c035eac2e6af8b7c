"""Plans of operators over windows: from shapes and arguments what each place of a result is made of.

A form, which is made of an operator's body, says it for each dim by itself: the windows along it, or taps
with weights. Plans are kept with those of moves, and know no array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .dims import wrap_dims

Array = Any
Shape = tuple[int, ...]
_ALL = slice(None)
#: Of equal windows in equal steps so many elements are taken one after the other, from all windows at once.
_SLICED = 16


class Taps:
    """The elements along a dim of ``size`` that each of ``count`` places is made of: a window of them.

    Windows go from ``begin`` to ``end`` in steps of ``gap``; what lies outside of the dim is not there.
    """

    def __init__(self, size: int, count: int, begin: Any, end: Any, gap: int = 1) -> None:
        self.size, self.count, self.gap = size, count, gap
        self.begin, end = [_each(at, count) for at in (begin, end)]
        #: How many elements each window has, those outside too, and how many the largest has.
        self.lengths = np.maximum(-((self.begin - end) // gap), 0)
        self.most = int(self.lengths.max(initial=0))

    @cached_property
    def first(self) -> Array:
        """Of each window the number of the first element inside."""
        return np.maximum(-(self.begin // self.gap), 0)

    @cached_property
    def last(self) -> Array:
        """Of each window the number of the first element behind the dim."""
        return np.minimum(-((self.begin - self.size) // self.gap), self.lengths)

    @cached_property
    def inside(self) -> Array:
        """How many elements of each window are there."""
        return np.maximum(self.last - self.first, 0)

    @cached_property
    def nothing(self) -> Array:
        """Which windows see no element; None where all see some."""
        return None if self.inside.all() else self.inside == 0

    @cached_property
    def step(self) -> int | None:
        """How far equal windows lie apart; None where they differ."""
        steps = self.begin[1:] - self.begin[:-1]
        if not self.count or (self.lengths != self.most).any() or (steps[1:] != steps[:-1]).any():
            return None
        step = int(steps[0]) if len(steps) else max(1, self.most * self.gap)
        return step if step > 0 else None

    @cached_property
    def is_apart(self) -> bool:
        """Whether no element is in two windows."""
        return self.count < 2 or (self.step is not None and self.step > self.gap * (self.most - 1))

    @cached_property
    def slices(self) -> list[tuple[slice, slice]] | None:
        """Of equal windows in equal steps, for each tap, places for which it is there, and what they see."""
        if self.step is None or self.most > _SLICED:
            return None
        found = []
        for tap in range(self.most):
            at = int(self.begin[0]) + tap * self.gap
            low = max(0, -(at // self.step))
            high = max(low, min(self.count, -((at - self.size) // self.step)))
            start = at + low * self.step
            found.append((slice(low, high), slice(start, start + (high - low) * self.step, self.step)))
        return found

    @cached_property
    def is_whole(self) -> bool:
        """Whether all taps have slices, and are there for all places."""
        every = slice(0, self.count)
        return bool(self.slices) and all([places == every for places, _ in self.slices or ()])

    @cached_property
    def ranges(self) -> tuple[Array, Array] | None:
        """Where the windows begin and end inside the dim, if they have no gaps."""
        if self.gap != 1:
            return None
        starts = np.clip(self.begin, 0, self.size)
        return starts, starts + self.inside

    @cached_property
    def table(self) -> tuple[Array, Array, Array]:
        """(count, taps) of the elements, 0 where there is none, of their weights, and of which are there.

        The last two are None where all weights are 1, and where all are there.
        """
        tap = np.arange(self.most)
        there = (self.first[:, np.newaxis] <= tap) & (tap < self.last[:, np.newaxis])
        places = self.begin[:, np.newaxis] + tap * self.gap
        return (places, None, None) if there.all() else (np.where(there, places, 0), None, there)

    @cached_property
    def nearest(self) -> tuple[Array, Array]:
        """(count, taps) of tap numbers, in the place of those outside the nearest inside, and what they see.

        RuntimeError for windows of no elements.
        """
        if not self.most:
            raise RuntimeError("a window of no elements has no maximum")
        first = np.minimum(self.first, self.most - 1)[:, np.newaxis]
        last = np.maximum(self.last[:, np.newaxis] - 1, first)
        taps = np.clip(np.arange(self.most), first, last)
        return taps, np.clip(self.begin[:, np.newaxis] + taps * self.gap, 0, self.size - 1)

    @cached_property
    def transposed(self) -> Taps:
        """For each element the places that are made of it."""
        if self.ranges is not None:
            starts, ends = self.ranges
            if (starts[1:] >= starts[:-1]).all() and (ends[1:] >= ends[:-1]).all():
                every = np.arange(self.size)
                begin, end = [np.searchsorted(at, every, "right") for at in (ends, starts)]
                return Taps(self.count, self.size, begin, np.maximum(begin, end))
        return WeightedTaps(self.count, *_transposed(self.size, *self.table))


class WeightedTaps(Taps):
    """A table of elements for each place, (count, taps), and of what each is multiplied with."""

    def __init__(self, size: int, places: Array, weights: Array) -> None:
        self.size, (self.count, self.most) = size, places.shape
        self.places, self.weights = places, weights
        self.slices = self.ranges = self.step = None

    @cached_property
    def table(self) -> tuple[Array, Array, Array]:
        """As that of ``Taps``; what has no weight is not there, even where it is not finite."""
        there = self.weights != 0
        weights = None if (self.weights[there] == 1).all() else self.weights
        return self.places, weights, None if there.all() else there


def _each(at: Any, count: int) -> Array:
    """An integer for each of so many places."""
    found = np.asarray(at, np.int64)
    return found if found.shape == (count,) else np.broadcast_to(found, (count,))


def _transposed(size: int, places: Array, weights: Array, there: Array) -> tuple[Array, Array]:
    """The transposed of a table with ``size`` elements: their places, in order, and the weights."""
    count = len(places)
    rows = np.broadcast_to(np.arange(count)[:, np.newaxis], places.shape)
    every = np.ones(places.shape) if weights is None else weights
    chosen = _ALL if there is None else there
    pairs, which = np.unique((places * count + rows)[chosen].ravel(), return_inverse=True)
    sums = np.bincount(which.ravel(), every[chosen].ravel(), len(pairs))
    sources, rows = np.divmod(pairs, max(1, count))
    rank = np.arange(len(pairs)) - np.searchsorted(sources, sources)
    made = np.zeros((size, int(rank.max(initial=0)) + 1), np.int64), np.zeros((size, rank.max(initial=0) + 1))
    for table, values in zip(made, (rows, sums), strict=True):
        table[sources, rank] = values
    return made


class WindowPlan:
    """What a result of a shape is made of, a source of one: along some of its dims what their taps see."""

    def __init__(
        self,
        source: Shape,
        axes: Sequence[int],
        counts: Sequence[int],
        taps: Callable[[int], Taps],
        divisor: Callable[[int], Any] | int | None,
    ) -> None:
        """``taps`` and ``divisor`` are asked with the number of a dim, when that is first needed."""
        self.source, self.axes, self.counts = source, tuple(axes), tuple(counts)
        self._taps, self._divisor = taps, divisor
        made = dict(zip(axes, counts, strict=True))
        self.shape = tuple([made.get(axis, n) for axis, n in enumerate(source)])
        #: What functions over arrays keep here of what they found out.
        self.kept: dict[Any, Any] = {}

    @property
    def nbytes(self) -> int:
        """How much memory it takes, about."""
        return 128 * (sum(self.counts) + sum(self.source)) + 16 * self.count * (self._divisor is not None)

    @cached_property
    def taps(self) -> tuple[tuple[int, Taps], ...]:
        """The dims, each with what its places are made of."""
        return tuple([(axis, self._taps(number)) for number, axis in enumerate(self.axes)])

    @cached_property
    def looks(self) -> list[tuple[int, Taps, list[tuple[Any, Any]]]]:
        """The same, each with the slices of its taps as keys of arrays; without any where there are none."""
        return [(a, t, [(along(p, a), along(s, a)) for p, s in t.slices or ()]) for a, t in self.taps]

    @cached_property
    def divisor(self) -> Any:
        """What sums are divided by: a number, an array that is broadcast against the result, or None."""
        if not callable(self._divisor):
            return self._divisor
        product: Array = np.ones((1,) * len(self.shape), np.int64)
        for number, (axis, count) in enumerate(zip(self.axes, self.counts, strict=True)):
            own = _each(self._divisor(number), count)
            product = product * own.reshape(-1, *(1,) * (len(self.shape) - axis - 1))
        first = product.flat[0] if product.size else 1
        if not (product == first).all():
            return product
        return None if first == 1 else int(first)

    @cached_property
    def offsets(self) -> tuple[Array, Array]:
        """Flat places in the dims: of taps, from where their window begins, and of these beginnings."""
        offsets: Array = np.zeros(1, np.int64)
        base: Array = np.zeros((1,) * len(self.shape), np.int64)
        for axis, taps in self.taps:
            offsets = (offsets[:, np.newaxis] * taps.size + np.arange(taps.most) * taps.gap).ravel()
            base = base * taps.size + taps.begin.reshape(-1, *(1,) * (len(self.shape) - axis - 1))
        return offsets, base

    @cached_property
    def plane(self) -> int:
        """How many elements the dims have."""
        return math.prod([self.source[axis] for axis in self.axes])

    @cached_property
    def count(self) -> int:
        """How many places there are for them."""
        return math.prod(self.counts)

    @cached_property
    def work(self) -> int:
        """How many elements all windows see, those outside too."""
        return math.prod(self.shape) * len(self.offsets[0])


def along(index: Any, axis: int) -> tuple[Any, ...]:
    """The key of places along an axis."""
    return (*(_ALL,) * axis, index)


def windows(
    shape: Shape,
    dims: Any,
    lists: Sequence[Any],
    extent: Callable[..., int],
    taps: Callable[..., Any],
    divisor: Callable[..., Any] | int | None,
) -> WindowPlan:
    """The plan of a body over windows along some dims.

    ``dims`` are named as those of moves, or None for as many of the last ones as the first list has elements.
    ``lists`` go with the dims: an element, or a tuple of numbers, with each. ``extent`` says how many places
    there are, of a size and these, ``taps``, with the functions of integers and the places before them, where
    windows begin, end, and the gap in them, or with these alone the table of a dim. Sums are divided by the
    product of what ``divisor`` says of each dim, by a number, or by how many elements are there: True.
    IndexError for a bad dim, RuntimeError for one that is named twice, for too few, for lists of other
    lengths and for negative extents.
    """
    ndim = len(shape)
    if dims is None:
        if len(lists[0]) > ndim:
            raise RuntimeError(f"input tensor must have at least {len(lists[0])} dimensions")
        axes: Sequence[int] = range(ndim - len(lists[0]), ndim)
    else:
        axes = wrap_dims((dims,) if isinstance(dims, int) else tuple(dims), ndim)
        if not ndim:
            raise RuntimeError("input tensor must have at least 1 dimension")
    wrong = next((values for values in lists if len(values) != len(axes)), None)
    if wrong is not None:
        raise RuntimeError(f"{len(wrong)} numbers do not go with {len(axes)} dimensions")
    given: list[list[Any]] = []
    for number, axis in enumerate(axes):
        each = [values[number] for values in lists]
        given.append([shape[axis], *[v for e in each for v in (e if isinstance(e, tuple) else (e,))]])
    counts = [int(extent(*own)) for own in given]
    for count, (size, *_) in zip(counts, given, strict=True):
        if count < 0:
            raise RuntimeError(f"of a dimension of size {size} {count} windows cannot be made")

    def _of(number: int) -> Taps:
        size, count = given[number][0], counts[number]
        found = taps(np, np.arange(count), *given[number])
        return Taps(size, count, *found) if len(found) == 3 else WeightedTaps(size, *found)

    def _divided(number: int) -> Any:
        if divisor is True:
            return plan.taps[number][1].inside
        assert callable(divisor)
        return divisor(np, np.arange(counts[number]), *given[number])

    by_dim = divisor is True or callable(divisor)
    plan = WindowPlan(tuple(shape), axes, counts, _of, _divided if by_dim else divisor)
    return plan
