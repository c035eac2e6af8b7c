"""How the parameters of a group are gone through: which are a loop each, and which are one loop together.

A call of NumPy costs as much as a few thousand elements. So the states of small parameters stand one behind
the other in one array, of which the tensors in ``optimizer.state`` are views. Their values and gradients,
whose memory is not ours, are put together for a step, and the values copied back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.ownership import is_locals_only
from ..autograd.view import renew_views
from ..core.costs import CHUNK
from ..core.function_dispatch import without_overrides
from ..core.storage import storage_of
from .blocks import Array, Update, run

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

#: Makes the kernel of a step for a dtype, and says how many scratch arrays it takes, and what the counters
#: become. It is given whether this is the first step, the counters' values and their types.
Maker = Callable[[bool, Sequence[float], tuple[Any, ...], Any], tuple[Update, Sequence[float]]]

_REAL = {"F": np.dtype("f"), "D": np.dtype("d")}


class Single:
    """One parameter: the loop is over its own memory."""

    __slots__ = ("buffers", "counters", "first", "index", "kinds", "order", "real", "values")

    def __init__(
        self, index: int, array: Array, buffers: Sequence[Array], counters: list[Array], first: bool
    ) -> None:
        self.index = index
        self.order: Any = "C" if array.flags.c_contiguous else "F"
        self.real = _REAL.get(array.dtype.char)
        self.values = self._line(array)
        self.buffers = [self._line(b) for b in buffers]
        self.counters, self.kinds = counters, _types(counters)
        self.first = first

    def _line(self, array: Array) -> Array:
        """The elements in one dimension, complex ones as pairs; a view where the layout allows."""
        line = array.reshape(-1, order=self.order)
        return line if self.real is None else np.ascontiguousarray(line).view(self.real)

    def run(self, make: Maker, grads: Sequence[Any]) -> None:
        """Do a step."""
        counts = [c.item() for c in self.counters]
        (kernel, spare), after = make(self.first, counts, self.kinds, self.values.dtype)
        self.first = False
        for counter, value in zip(self.counters, after, strict=True):
            counter.fill(value)
        run(kernel, [self.values, self._line(grads[self.index]._array), *self.buffers], spare)


class Together:
    """Several small parameters: the loop is over what stands together."""

    __slots__ = (
        "axis",
        "bounds",
        "buffers",
        "counters",
        "first",
        "grads",
        "indices",
        "into",
        "kinds",
        "outof",
        "places",
        "values",
    )

    def __init__(
        self,
        indices: list[int],
        arrays: list[Array],
        buffers: Sequence[Array],
        counters: list[Array],
        first: bool,
    ) -> None:
        self.indices = indices
        self.places = arrays
        self.buffers = buffers
        self.counters, self.kinds = counters, _types(counters)
        self.first = first
        self.bounds: list[int] = [0, *np.cumsum([a.size for a in arrays]).tolist()]
        self.values: Array = np.empty(self.bounds[-1], arrays[0].dtype)
        self.grads: Array = np.empty_like(self.values)
        ranges = zip(arrays, self.bounds, self.bounds[1:], strict=False)
        self.outof = [self.values[i:j].reshape(a.shape) for a, i, j in ranges]
        rows = {a.shape[1:] if a.ndim and a.size else None for a in arrays}
        # along an axis concatenating is twice as fast as when it has to flatten
        self.axis = 0 if len(rows) == 1 and None not in rows else None
        shape = (-1,) if self.axis is None else (-1, *arrays[0].shape[1:])
        self.into = [line.reshape(shape) for line in (self.values, self.grads)]

    def run(self, make: Maker, grads: Sequence[Any]) -> None:
        """Do a step."""
        np.concatenate(self.places, self.axis, self.into[0])
        np.concatenate([grads[i]._array for i in self.indices], self.axis, self.into[1])
        counts = [c.item(0) for c in self.counters]
        if all([(c == count).all() for c, count in zip(self.counters, counts, strict=True)]):
            (kernel, spare), after = make(self.first, counts, self.kinds, self.values.dtype)
            for counter, value in zip(self.counters, after, strict=True):
                counter.fill(value)
            run(kernel, [self.values, self.grads, *self.buffers], spare)
        else:
            self._each(make)
        self.first = False
        for place, new in zip(self.places, self.outof, strict=True):
            place[...] = new

    def _each(self, make: Maker) -> None:
        """The parameters one by one, for they have not had the same number of steps."""
        each = zip(*[c.tolist() for c in self.counters], strict=True)
        for i, (counts, begin, end) in enumerate(zip(each, self.bounds, self.bounds[1:], strict=False)):
            (kernel, spare), after = make(self.first, counts, self.kinds, self.values.dtype)
            for line, value in zip(self.counters, after, strict=True):
                line[i] = value
            run(kernel, [a[begin:end] for a in (self.values, self.grads, *self.buffers)], spare)


class Plan:
    """The passes over parameters with the states that they have now.

    ``states`` are their dicts, in which ``names`` are the tensors like the parameter and ``counters`` those
    of one element; ``first`` says of which the next step is the first. ``rest`` are the indices of the
    parameters that are left to operators.
    """

    __slots__ = (
        "arrays",
        "kernels",
        "kinds",
        "names",
        "params",
        "passes",
        "rest",
        "shapes",
        "states",
        "tensors",
        "written",
    )

    def __init__(
        self,
        params: list[Tensor],
        grads: list[Tensor],
        states: list[dict[str, Any]],
        names: tuple[str, ...],
        counters: tuple[str, ...],
        first: list[bool],
    ) -> None:
        slots = (*names, *counters)
        plain = [i for i in _plain(params, grads) if _usable(params[i], [states[i][n] for n in names])]
        self.passes: list[Single | Together] = []
        single = set(plain)
        for indices in _small(params, plain, first):
            lines = _joined([states[i] for i in indices], slots)
            if lines is not None:
                arrays = [params[i]._array for i in indices]
                buffers, counts = [lines[n] for n in names], [lines[n] for n in counters]
                self.passes.append(Together(indices, arrays, buffers, counts, first[indices[0]]))
                single.difference_update(indices)
        for i in sorted(single):
            buffers, counts = [[states[i][n]._array for n in kind] for kind in (names, counters)]
            self.passes.append(Single(i, params[i]._array, buffers, counts, first[i]))
        known = set(plain)
        self.rest = [i for i in range(len(params)) if i not in known]
        self.params, self.names, self.states = params, names, states
        self.kernels: Any = None  # of the steps before, kept by who makes them
        self.arrays = [p._array for p in params]
        self.kinds = [g._type for g in grads]
        self.shapes = [p._array.shape for p in params]
        #: The arrays of each slot, by which it is seen that somebody replaced one.
        self.tensors = [(n, [s[n]._array for s in states]) for n in slots]
        written = [params[i] for i in plain] + [states[i][n] for n in slots for i in plain]
        self.written = [(t, storage_of(t)) for t in written]

    def fits(
        self, params: list[Tensor], grads: list[Tensor], states: list[Any], names: tuple[str, ...]
    ) -> bool:
        """Whether all is where it was."""
        if len(params) != len(self.params) or names != self.names:
            return False
        try:
            return (
                all(map(is_, params, self.params))
                and all(map(is_, [p._array for p in params], self.arrays))
                and all(map(is_, [g._type for g in grads], self.kinds))
                and [g._array.shape for g in grads] == self.shapes
                and all(map(is_, states, self.states))
                and all([all(map(is_, [s[n]._array for s in states], known)) for n, known in self.tensors])
            )
        except (KeyError, AttributeError):  # somebody took a state away
            return False

    def run(self, make: Maker, grads: list[Tensor]) -> None:
        """Do a step of all but the ``rest``."""
        views: Any
        for tensor, storage in self.written:
            storage.version += 1
            views = storage.views
            if views is not None and views.waiting:
                renew_views(tensor)
        for found in self.passes:
            found.run(make, grads)


def _types(arrays: Sequence[Array]) -> tuple[Any, ...]:
    """The types of the arrays' numbers."""
    return tuple([a.dtype.type for a in arrays])


def _plain(params: list[Tensor], grads: list[Tensor]) -> list[int]:
    """The indices of parameters that loops over arrays may change; none if some of them share memory."""
    arrays = [p._array for p in params if isinstance(p._array, np.ndarray) and p._array.size]
    bounds = sorted([np.lib.array_utils.byte_bounds(a) for a in arrays])
    if any([b[0] < a[1] for a, b in pairwise(bounds)]) or len(set(params)) < len(params):
        return []
    return [i for i, (p, g) in enumerate(zip(params, grads, strict=True)) if _is_plain(p, g)]


def _is_plain(p: Tensor, g: Tensor) -> bool:
    """Whether a parameter and its gradient are arrays of NumPy's with which its loops compute exactly."""
    T, array = p._type, p._array
    return (
        p.__class__ in without_overrides
        and g.__class__ in without_overrides
        and array.__class__ is np.ndarray
        and array.dtype.char in "fdFD"
        and (array.flags.c_contiguous or array.flags.f_contiguous)
        and array.flags.writeable
        and T.recording
        and g._type.scalar_type is T.scalar_type
        and g._type.backend is T.backend
        and g._array.shape == array.shape
    )


def _usable(p: Tensor, states: list[Any]) -> bool:
    """Whether the states are laid out as the parameter is."""
    array = p._array
    flags = array.flags
    for state in states:
        T, found = state._type, state._array
        if state.__class__ not in without_overrides or found.__class__ is not np.ndarray:
            return False
        if found.dtype != array.dtype or found.shape != array.shape:
            return False
        same = found.flags.c_contiguous if flags.c_contiguous else found.flags.f_contiguous
        if not (same and found.flags.writeable and T.recording):
            return False
    return True


def _small(params: list[Tensor], plain: list[int], first: list[bool]) -> list[list[int]]:
    """The parameters that go together, at least two."""
    found: dict[Any, list[int]] = defaultdict(list)
    for i in plain:
        array = params[i]._array
        if array.size <= CHUNK // 4 and array.dtype.kind == "f" and array.flags.c_contiguous:
            found[array.dtype, first[i]].append(i)
    return [indices for indices in found.values() if len(indices) > 1]


def _joined(states: list[dict[str, Any]], names: tuple[str, ...]) -> dict[str, Array] | None:
    """For each name the array in which the states stand one behind the other, put there if need be.

    None, with nothing changed, where somebody else has a share in their memory.
    """
    found = {}
    for name in names:
        tensors = [s[name] for s in states]
        line = _standing(tensors)
        if line is None and not (
            all([_movable(t) for t in tensors]) and len({t._type for t in tensors}) == 1
        ):
            return None
        found[name] = line
    return {n: _put_together([s[n] for s in states]) if a is None else a for n, a in found.items()}


def _standing(tensors: list[Any]) -> Array | None:
    """The array in which the tensors stand one behind the other, if they do."""
    lib, array = tensors[0]._type.backend.lib, tensors[0]._array
    root = lib.root(array)
    memory, address = lib.data_ptr(root), lib.data_ptr(array)
    for t in tensors:
        a = t._array
        if not (a.flags.c_contiguous and a.flags.writeable and a.dtype == array.dtype):
            return None
        if lib.data_ptr(a) != address or lib.data_ptr(lib.root(a)) != memory:
            return None
        address += a.nbytes
    begin = lib.storage_offset(array)
    line: Array = root[begin : begin + sum([t._array.size for t in tensors])]
    return line


def _movable(tensor: Any) -> bool:
    """Whether nobody would notice if the tensor's elements were elsewhere."""
    if tensor._base is not None or tensor._edge is not None:
        return False
    array, tensor._array = tensor._array, None
    alone = is_locals_only(array)
    tensor._array = array
    return alone


def _put_together(tensors: list[Any]) -> Array:
    """Give the tensors, whose elements stay the same, memory in one array, which is returned."""
    line: Array = np.empty(sum([t._array.size for t in tensors]), tensors[0]._array.dtype)
    begin = 0
    for t in tensors:
        end = begin + t._array.size
        place = line[begin:end].reshape(t._array.shape)
        place[...] = t._array
        t._array = place
        begin = end
    return line
