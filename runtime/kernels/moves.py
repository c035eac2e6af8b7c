"""Operators that move elements, declared by where each comes from: over NumPy's arrays.

As few copies of slices as there are runs, or NumPy's ``take`` where there are many. The transposed puts back:
it writes, and adds where several places have shown one element.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from .creation import held
from .dtypes import REDUCED
from .layout import check_bytes
from .move_plans import Along, Form, Plan, Run, plan_of
from .reduced import converted, upcast
from .steps import MANY

Array = Any
Key = tuple[Any, ...]
Shape = tuple[int, ...]
#: Copies of slices: where to, and where from, of the source or of the result itself.
Copies = tuple[list[tuple[Key, Key]], list[tuple[Key, Key]]]
_ALL = slice(None)


def move(form: Form, order: str, fill: Any, self: Array, *arguments: Any) -> Array:
    """What a form makes of an array: elements of it, and ``fill`` where there is none.

    ``order``: "K" for a copy that may lie in memory as the array does, else "C".
    RuntimeError for a shape that is negative or too large, and for a ``fill`` that the dtype does not hold;
    IndexError for a dim, or an element, that is not there; and what the form raises.
    """
    plan = plan_of(form, self.shape, arguments)
    try:
        key = plan.kept["copy"]
    except KeyError:
        key = plan.kept["copy"] = _of_one_copy(plan)
    if key is not None:
        return (self if plan.axes is None else self.transpose(plan.axes))[key].copy(order)
    return _moved(plan, fill, self)


def seen(plan: Plan, self: Array) -> Array:
    """The source as a plan sees it."""
    if plan.axes is not None:
        return self.transpose(plan.axes)
    return self if self.shape == plan.seen else self.reshape(plan.seen)


def _moved(plan: Plan, fill: Any, self: Array) -> Array:
    """What a plan that is not one copy makes of an array."""
    check_bytes(plan.made, self.itemsize)
    source = seen(plan, self)
    made = _elements(plan, fill, source) if plan.dims else source
    if plan.mask is not None:
        return np.where(plan.mask, made, _number(fill, self.dtype))
    if made is source:
        made = made.copy()
    return made if made.shape == plan.shape else made.reshape(plan.shape)


def _elements(plan: Plan, fill: Any, self: Array) -> Array:
    """What the dims of a plan make of an array in the shape that they see."""
    repeated = _kept(plan, "repeated", _as_repeated)
    if repeated is not None:
        key, single, twice = repeated
        out = np.empty(plan.made, self.dtype)
        out.reshape(twice)[...] = self[key].reshape(single)
        return out
    if not self.size:
        return np.full(plan.made, _number(fill, self.dtype), self.dtype)
    copies = _kept(plan, "copies", _as_copies)
    if copies is None:
        return _taken(plan, fill, self)
    out = np.empty(plan.made, self.dtype)
    if any([a.is_filled for a in plan.dims.values()]):
        out[...] = _number(fill, self.dtype)
    for place, of_source in copies[0]:
        out[place] = self[of_source]
    for place, of_result in copies[1]:
        out[place] = out[of_result]
    return out


def _taken(plan: Plan, fill: Any, self: Array) -> Array:
    """Dim by dim, element by element."""
    out = self
    for d, along in plan.dims.items():
        index, there = along.by_element()
        out = out.take(index, d)
        if there is not None:
            out[(*(_ALL,) * d, ~there)] = _number(fill, self.dtype)
    return out


def _number(value: Any, dtype: Any) -> Any:
    """A number as an element of the dtype."""
    return np.full((), held(value, dtype), dtype)


def _kept(plan: Plan, name: str, make: Any) -> Any:
    """What ``make`` found out of a plan, once."""
    try:
        return plan.kept[name]
    except KeyError:
        found = plan.kept[name] = make(plan)
        return found


# -- ways to copy ----------------------------------------------------------------------------------------


def _of_one_copy(plan: Plan) -> Key | None:
    """The slices that are the whole result; None where there is more to it."""
    if plan.mask is not None or plan.shape != plan.made or (plan.axes is None and plan.seen != plan.source):
        return None
    found = [a.repeated for a in plan.dims.values()]
    if any([r is None or r[0] != 1 for r in found]):
        return None
    return _key(plan, {d: a.repeated[1].sources for d, a in plan.dims.items() if a.repeated})


def _as_repeated(plan: Plan) -> tuple[Key, Shape, Shape] | None:
    """Where the result is slices, repeated: these, and the shapes in which they are broadcast."""
    runs = {d: a.repeated for d, a in plan.dims.items()}
    if None in runs.values():
        return None
    single: list[int] = []
    twice: list[int] = []
    for d, size in enumerate(plan.made):
        times, run = runs.get(d) or (1, Run(0, size, 0, 1))
        two = times != 1 and run.count != 1  # no more dims than an array may have
        single += (1, run.count) if two else (run.count,)
        twice += (times, run.count) if two else (size,)
    return _key(plan, {d: r[1].sources for d, r in runs.items() if r}), tuple(single), tuple(twice)


def _as_copies(plan: Plan) -> Copies | None:
    """Copies of slices; None where there are too many."""
    alongs = plan.dims.items()
    if any([a.runs is None for _, a in alongs]):
        return None
    if any([not a.runs for _, a in alongs]):
        return [], []
    if all([_goes_out_from_one(a) for _, a in alongs]):
        return _outwards(plan)
    if math.prod([len(a.runs or ()) for _, a in alongs]) > MANY:
        return None
    chosen = product(*[a.ordered for a in plan.dims.values()])
    return [_keys(plan, dict(zip(plan.dims, runs, strict=True))) for runs in chosen], []


def _goes_out_from_one(along: Along) -> bool:
    """Whether all runs show elements that the first one has brought into the result."""
    first, *others = along.ordered
    least, most = first.ends
    return abs(first.step) == 1 and all([least <= r.ends[0] and r.ends[1] <= most for r in others])


def _outwards(plan: Plan) -> Copies:
    """The middle from the source, then what is around it from the result, dim by dim."""
    firsts = {d: a.ordered[0] for d, a in plan.dims.items()}
    copies: Copies = [_middle(plan)], []
    for d, run in _around(plan):
        copies[1].append((_beside(plan, d, run.places), _beside(plan, d, _shown(run, firsts[d]))))
    return copies


def _inwards(plan: Plan) -> list[tuple[Key, Key]] | None:
    """The transposed steps: of parts of a gradient the parts that they are added to; None where one way there
    is not enough. What shows one element again and again is added place by place."""
    if any([not a.runs or not _goes_out_from_one(a) for a in plan.dims.values()]):
        return None
    firsts = {d: a.ordered[0] for d, a in plan.dims.items()}
    around = [(d, part) for d, run in _around(plan) for part in reversed([*_one_by_one(run)])]
    return [(_beside(plan, d, r.places), _beside(plan, d, _shown(r, firsts[d]))) for d, r in reversed(around)]


def _middle(plan: Plan) -> tuple[Key, Key]:
    """Where the first runs of all dims are, and what they show."""
    return _keys(plan, {d: a.ordered[0] for d, a in plan.dims.items()})


def _around(plan: Plan) -> Iterator[tuple[int, Run]]:
    """All other runs; the last come first."""
    for d, along in reversed(plan.dims.items()):
        for run in reversed(along.ordered[1:]):
            yield d, run


def _shown(run: Run, first: Run) -> slice:
    """The places of the first run that show what a run shows."""
    begin, step = first.start + (run.first - first.first) * first.step, run.step * first.step
    return Run(run.start, run.count, begin, step).sources


def _beside(plan: Plan, dim: int, places: slice) -> Key:
    """The key of places along a dim; those behind it are there already, of those before it the middle is."""
    middle = {d: a.ordered[0].places for d, a in plan.dims.items() if d < dim}
    return _key(plan, {**middle, dim: places})


def _key(plan: Plan, slices: Mapping[int, slice]) -> Key:
    """The key of an array in the shape that a plan sees; of one without dims it would be a number."""
    return tuple([slices.get(d, _ALL) for d in range(len(plan.seen))]) or (...,)


def _keys(plan: Plan, runs: Mapping[int, Run]) -> tuple[Key, Key]:
    """Those of the places of runs, and of what they show."""
    places, sources = {d: r.places for d, r in runs.items()}, {d: r.sources for d, r in runs.items()}
    return _key(plan, places), _key(plan, sources)


# -- the transposed --------------------------------------------------------------------------------------


def move_back(form: Form, grad_output: Array, sizes: Sequence[int], *arguments: Any) -> Array:
    """The transposed of what a form makes of an array of these sizes: elements go back where they were from.

    RuntimeError for an array of another shape than that has, and what ``move`` raises.
    """
    plan = plan_of(form, tuple(sizes), arguments)
    check_moved(plan.shape, grad_output.shape)
    check_bytes(plan.source, grad_output.itemsize)
    adds = _kept(plan, "adds", _adds)
    grad = upcast(grad_output) if adds else grad_output
    if plan.mask is not None:
        grad = np.where(plan.mask, grad, _number(0, grad.dtype))
    grad = grad.reshape(plan.made)
    inwards = _kept(plan, "inwards", _inwards)
    if not grad.size:
        out = np.full(plan.seen, _number(0, grad.dtype), grad.dtype)
    elif inwards is not None:
        own = plan.mask is not None or grad.dtype != grad_output.dtype
        out = _added_inwards(plan, inwards, grad, own)
    elif adds and any([a.runs is None for a in plan.dims.values()]):
        out = _scattered(plan, grad)
    else:
        out = np.empty(plan.seen, grad.dtype)
        _put_back(out, grad, list(plan.dims.items()))
    out = out.reshape(plan.source) if plan.axes is None else out.transpose(np.argsort(plan.axes)).copy("C")
    return converted(out, grad_output.dtype) if adds and grad_output.dtype.char in REDUCED else out


def check_moved(shape: Shape, given: Shape) -> None:
    """RuntimeError where a gradient has not the shape of what was made."""
    if tuple(given) != shape:
        raise RuntimeError(f"expected grad_output of size {[*shape]}, but got {[*given]}")


def _adds(plan: Plan) -> bool:
    """Whether some element is shown more than once, for all that is known."""
    return not all([_shows_once(a) for a in plan.dims.values()])


def _shows_once(along: Along) -> bool:
    """Whether no element is shown twice, as runs say it."""
    if along.runs is None or any([r.count > 1 and not r.step for r in along.runs]):
        return False
    ends = sorted([r.ends for r in along.runs])
    return all([a[1] < b[0] for a, b in pairwise(ends)])


def _added_inwards(plan: Plan, inwards: list[tuple[Key, Key]], grad: Array, own: bool) -> Array:
    """Step by step into the middle; ``own``: the array may be written."""
    places, sources = _kept(plan, "middle", _middle)
    if inwards and not own:
        grad = grad.copy()
    for part, into in inwards:
        grad[into] += grad[part]
    out = np.empty(plan.seen, grad.dtype)
    if math.prod(out[sources].shape) < out.size:
        out[...] = _number(0, out.dtype)
    out[sources] = grad[places]
    return out


def _put_back(out: Array, grad: Array, alongs: Sequence[tuple[int, Along]]) -> None:
    """Write what each run was made of, the first dims first; what was shown more than once are sums."""
    if not alongs:
        out[...] = grad
        return
    *others, (d, along) = alongs
    runs = along.ordered
    once = _shows_once(along)
    if not _is_whole(runs, along.size, once):
        out[...] = _number(0, out.dtype)
    before = (_ALL,) * d
    for number, run in enumerate(r for whole in runs for r in _one_by_one(whole)):
        part, into = grad[(*before, run.places)], out[(*before, run.sources)]
        if once or not number:
            _put_back(into, part, others)
        else:
            if others:
                sums = np.empty(into.shape, into.dtype)
                _put_back(sums, part, others)
                part = sums
            into += part


def _is_whole(runs: Sequence[Run], size: int, once: bool) -> bool:
    """Whether all elements are written to: by the first run, or by all where none meets another."""
    if not runs:
        return False
    return sum([r.count for r in runs]) == size if once else runs[0].count == size and bool(runs[0].step)


def _one_by_one(run: Run) -> Iterator[Run]:
    """A run that shows one element again and again as so many of one place."""
    if run.step or run.count == 1:
        yield run
        return
    for place in range(run.count):
        yield Run(run.start + place, 1, run.first, 1)


def _scattered(plan: Plan, grad: Array) -> Array:
    """Dim by dim, what shows one element brought together."""
    for d, along in plan.dims.items():
        index, there = along.by_element()
        places = np.argsort(index, kind="stable")
        if there is not None:
            places = places[there[places]]
        sources, first = np.unique(index[places], return_index=True)
        sums = grad.take(places, d)
        grad = np.zeros((*grad.shape[:d], along.size, *grad.shape[d + 1 :]), grad.dtype)
        if len(places):
            at: Key = (*(_ALL,) * d, sources)
            grad[at] = np.add.reduceat(sums, first, d)
    return grad
