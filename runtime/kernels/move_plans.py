"""Plans of operators that move elements: from shapes and arguments what of a result comes from where.

A form, which is made of an operator's body, says for each dim how long the result is and where each place of
it comes from. Of that a plan has runs, in which places and sources go on in constant steps. Plans are kept by
shapes and arguments, and know no array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import steps
from .dims import wrap_dim, wrap_dims
from .steps import Steps, TooMany
from .window_plans import WindowPlan, windows

Array = Any
Shape = tuple[int, ...]
Form = Callable[..., "Plan"]
FormOfWindows = Callable[..., WindowPlan]
Kept = TypeVar("Kept", "Plan", WindowPlan)
#: What gives, of the functions of integers, the places along a dim, and sizes, the sources and where there
#: are some; None for everywhere.
Sources = Callable[..., tuple[Any, Any]]

#: How many plans are kept, the bytes of the largest, and of all together.
_KEPT, _LARGEST, _KEPT_BYTES = 1024, 1 << 24, 1 << 25
#: Masks are computed in blocks of so many elements, of 32 bits where no number is larger than this.
_BLOCK, _NARROW = 1 << 15, 1 << 26


class Run(NamedTuple):
    """Places of a result one behind the other, and the elements of the source that they show."""

    start: int
    count: int  # type: ignore[assignment]  # tuples have a method of this name
    first: int
    step: int

    @property
    def places(self) -> slice:
        """The places."""
        return slice(self.start, self.start + self.count)

    @property
    def sources(self) -> slice:
        """The elements."""
        if not self.step:
            return slice(self.first, self.first + 1)
        end = self.first + self.step * self.count
        return slice(self.first, None if end < 0 else end, self.step)

    def goes_on(self, start: int, first: int) -> bool:
        """Whether a run of the same step that begins there is the rest of this one."""
        return self.start + self.count == start and self.first + self.count * self.step == first

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest source."""
        last = self.first + self.step * (self.count - 1)
        return min(self.first, last), max(self.first, last)


class Along:
    """What moves along one dim: in runs, or, where there are many, element by element."""

    __slots__ = ("extent", "index", "is_filled", "ordered", "repeated", "runs", "size", "there")

    def __init__(self, size: int, extent: int, sources: Sources, given: Sequence[Any]) -> None:
        """``size`` elements become ``extent``. RuntimeError for a negative extent, IndexError for a source
        that is not there."""
        if extent < 0:
            raise RuntimeError(f"of a dimension of size {size} {extent} elements cannot be made")
        self.size, self.extent = size, extent
        self.index: Array = None
        self.there: Array = None
        self.runs: tuple[Run, ...] | None = None
        #: The runs, first that which the others go out from: the longest, of step 1 if there is one.
        self.ordered: list[Run] = []
        places = steps.places(extent)
        try:
            index, there = sources(steps, places, size, *given)
            self._in_runs(index if isinstance(index, Steps) else places * 0 + int(index), there)
        except TooMany:
            self._by_element(*sources(np, np.arange(extent), size, *given))
            self.repeated = _period(self.index) if self.there is None else None
        if self.ordered:
            self._check([end for run in self.ordered for end in run.ends])
        elif self.index is not None and extent:
            self._check([int(self.index.min()), int(self.index.max())])

    def _in_runs(self, values: Steps, there: Any) -> None:
        runs: list[Run] = []
        start = 0
        pieces: Any = values.pieces
        if there is not None:
            holds = there if isinstance(there, Steps) else values * 0 + int(there)
            pieces = [p[:3] if p[3] else (p[0], None, 0) for p in steps.beside(values, holds)]
        for count, first, step in pieces:
            if first is not None:
                before = runs[-1] if runs else None
                if before and before.step == step and before.goes_on(start, first):
                    runs[-1] = Run(before.start, before.count + count, before.first, step)
                else:
                    runs.append(Run(start, count, first, step))
            start += count
        self.runs = tuple(runs)
        #: Whether some places show no element.
        self.is_filled = sum([r.count for r in runs]) < self.extent
        self.repeated = None if self.is_filled else _repeated(runs)
        self.ordered = runs
        if len(runs) > 1:
            first_of_all = min(runs, key=lambda r: (r.step != 1, r.step == 0, -r.count))
            self.ordered = [first_of_all, *[r for r in runs if r is not first_of_all]]

    def _check(self, sources: Sequence[int]) -> None:
        wrong = next((n for n in sources if not 0 <= n < self.size), None)
        if wrong is not None:
            raise IndexError(f"a dimension of size {self.size} has no element {wrong}")

    def _by_element(self, index: Any, there: Any) -> None:
        self.index = np.broadcast_to(np.asarray(index, np.int64), (self.extent,))
        if there is not None:
            self.there = np.broadcast_to(np.asarray(there, bool), (self.extent,))
            if self.there.all():
                self.there = None
            else:
                self.index = np.where(self.there, self.index, 0)
        self.is_filled = self.there is not None

    @property
    def stays(self) -> bool:
        """Whether all remains where it is."""
        return self.runs == (Run(0, self.size, 0, 1),) and self.extent == self.size

    def by_element(self) -> tuple[Array, Array]:
        """The source of each place, 0 where there is none, and which have one; None for all."""
        if self.runs is None:
            return self.index, self.there
        index, there = np.zeros(self.extent, np.int64), np.zeros(self.extent, bool)
        for run in self.runs:
            index[run.places] = run.first + np.arange(run.count) * run.step
            there[run.places] = True
        return index, there if self.is_filled else None


def _repeated(runs: Sequence[Run]) -> tuple[int, Run] | None:
    """How often the result is one run, and that run; None where it is something else."""
    if not runs:
        return None
    first = runs[0]
    if len(runs) == 1 and not first.step and first.count > 1:
        return first.count, Run(0, 1, first.first, 1)
    alike = all([r[1:] == first[1:] for r in runs])
    return (len(runs), first) if alike else None


def _period(index: Array) -> tuple[int, Run] | None:
    """The same of sources one by one."""
    again = np.flatnonzero(index[1:] == index[0])
    count = int(again[0]) + 1 if len(again) else 0
    if count < 2 or len(index) % count or index[0] == index[1]:
        return None
    first, step = int(index[0]), int(index[1] - index[0])
    whole = np.tile(first + step * np.arange(count), len(index) // count)
    return (len(index) // count, Run(0, count, first, step)) if np.array_equal(index, whole) else None


class Plan:
    """What a result of a shape is made of, a source of one.

    ``seen`` is the shape in which the source is looked at, with its dims in the order ``axes`` if there are
    some, ``dims`` what moves along which of its dims, ``mask`` where there is something, with one dim for
    each of the last ones, or None.
    """

    __slots__ = ("axes", "dims", "kept", "made", "mask", "seen", "shape", "source")

    def __init__(
        self,
        source: Shape,
        seen: Shape,
        dims: Mapping[int, Along],
        mask: Array = None,
        axes: Shape | None = None,
        flat: bool = False,
    ) -> None:
        self.source, self.seen, self.mask, self.axes = source, seen, mask, axes
        self.dims = {d: a for d, a in sorted(dims.items()) if not a.stays}
        #: The shape as it is made, and that of the result.
        self.made = tuple([dims[d].extent if d in dims else n for d, n in enumerate(seen)])
        self.shape = source if flat else self.made
        #: What functions over arrays keep here of what they found out.
        self.kept: dict[Any, Any] = {}

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        arrays = [self.mask, *[a.index for a in self.dims.values()]]
        return sum(a.nbytes for a in arrays if a is not None)


def plan_of(form: Callable[..., Kept], shape: Shape, arguments: tuple[Any, ...]) -> Kept:
    """The plan of a form for a source of this shape. Raises what the form does."""
    try:
        found = _plans.get((form, shape, arguments))
    except TypeError:  # of lists there are no hashes
        found = None
        arguments = tuple([tuple(a) if isinstance(a, list) else a for a in arguments])
        found = _plans.get((form, shape, arguments))
    if found is None:
        found = form(Plans, tuple(shape), *arguments)
        _plans.keep((form, tuple(shape), arguments), found)
    return found


class _Kept(dict[Any, Any]):
    """Plans by forms, shapes and arguments."""

    nbytes = 0

    def keep(self, key: Any, plan: Plan | WindowPlan) -> None:
        """Keep one that is not too large, without the others where these are many."""
        more = plan.nbytes
        if more > _LARGEST:
            return
        if len(self) >= _KEPT or self.nbytes + more > _KEPT_BYTES:
            self.clear()
            self.nbytes = 0
        self.nbytes += more
        self[key] = plan


_plans = _Kept()


class Plans:
    """What makes the plans of bodies: of the two kinds that move elements, and of windows."""

    windows = staticmethod(windows)

    @staticmethod
    def each(
        shape: Shape,
        dims: int | Sequence[int],
        checked: bool,
        in_one: bool,
        lists: Sequence[tuple[Sequence[Any], int]],
        extent: Callable[..., int],
        sources: Sources,
    ) -> Plan:
        """The same along each of some dims.

        ``checked``: a function has said which they are, and may name some in front of those that there are,
        of size 1. ``in_one``: where there is none, all elements are one row. ``lists`` go with the dims, each
        with how many of its elements go with one; a dim that is named twice is then moved twice.
        IndexError for a bad dim, RuntimeError for one that is named twice where no list goes with it, and
        for lists of other lengths.
        """
        named = (dims,) if isinstance(dims, int) else tuple(dims)
        ndim = len(shape)
        if in_one and not named:
            seen: Shape = (math.prod(shape),)
            at = [0]
        elif checked:
            front = max([0, *[-d - ndim for d in named]])
            seen = (1,) * front + tuple(shape)
            at = [d % (ndim + front) for d in named]
        else:
            seen = tuple(shape)
            at = [wrap_dim(d, ndim) for d in named] if lists and ndim else list(wrap_dims(named, ndim))
        wrong = [values for values, count in lists if len(values) != count * len(at)]
        if wrong and 0 not in shape:
            raise RuntimeError(f"{len(wrong[0])} numbers do not go with {len(at)} dimensions")
        found: dict[int, Along] = {}
        for number, d in enumerate(at):
            given = [v for values, count in lists for v in values[number * count : (number + 1) * count]]
            size = seen[d]
            if d in found:
                found[d] = _again(found[d], extent, sources, given)
            else:
                found[d] = Along(size, extent(size, *given), sources, given)
        return Plan(tuple(shape), seen, found, flat=in_one and not named)

    @staticmethod
    def fixed(
        shape: Shape,
        dims: Sequence[int],
        order: Sequence[int],
        extents: Callable[..., Sequence[int]],
        sources: Callable[..., Any],
        numbers: Sequence[int] | None,
    ) -> Plan:
        """Along dims that the body names, each in its own way; a condition over several is a mask.

        ``order`` is for each dim of the result the number of that which its elements are from, ``numbers``
        are those of the mask, where it has no products: None where it has.
        RuntimeError where there are fewer dims.
        """
        ndim = len(shape)
        fewest = max([d + 1 if d >= 0 else -d for d in dims])
        if ndim < fewest:
            raise RuntimeError(f"input tensor must have at least {fewest} dimension{'s'[: fewest - 1]}")
        at = [wrap_dim(d, ndim) for d in dims]
        sizes = [shape[d] for d in at]
        made = extents(*sizes)
        each, mask = sources(*sizes)
        found = {}
        axes = list(range(ndim))
        for d, extent, number, of_dim in zip(at, made, order, each, strict=True):
            axes[d] = at[number]
            found[d] = Along(sizes[number], extent, of_dim, ())
        seen = tuple([shape[d] for d in axes])
        turned = None if axes == sorted(axes) else tuple(axes)
        if mask is None:
            return Plan(tuple(shape), seen, found, axes=turned)
        narrow = numbers is not None and max(map(abs, (*numbers, *made, *sizes))) < _NARROW
        counted = [np.arange(n, dtype=np.int32 if narrow else np.int64) for n in made]
        first, *others = [a.reshape(-1, *(1,) * (len(at) - d - 1)) for d, a in enumerate(counted)]
        holds = np.empty(tuple(made), bool)
        step = max(1, _BLOCK * len(first) // max(1, holds.size))
        for begin in range(0, len(first), step):
            holds[begin : begin + step] = mask(np, first[begin : begin + step], *others, *sizes)
        return Plan(tuple(shape), seen, found, _over(holds, at, ndim), turned)


def _over(mask: Array, dims: Sequence[int], ndim: int) -> Array:
    """A mask over some dims as one over the last ones, from the first of them on."""
    first = min(dims)
    if [*dims] == [*range(first, ndim)]:
        return mask
    order = np.argsort(dims)
    sizes = iter(mask.transpose(order).shape)
    return mask.transpose(order).reshape([next(sizes) if d in dims else 1 for d in range(first, ndim)])


def _again(before: Along, extent: Callable[..., int], sources: Sources, given: Sequence[Any]) -> Along:
    """What moves along a dim that has moved already."""
    after = Along(before.extent, extent(before.extent, *given), sources, given)
    index, there = after.by_element()
    first, first_there = before.by_element()

    def _both(_: Any, places: Any, size: int) -> tuple[Any, Any]:
        if isinstance(places, Steps):
            raise TooMany
        holds = np.ones(after.extent, bool) if there is None else there
        return first[index], holds if first_there is None else holds & first_there[index]

    return Along(before.size, after.extent, _both, ())
