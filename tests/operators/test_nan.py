"""NaN reaches what depends on its element: of every operator that is not elementwise, whatever its kernel.

Elementwise ones say by their own ``expected`` what they give at NaN.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing import declared
from tengen.testing.declared import calls, flat, operators, run, working_dtypes
from tengen.testing.samples import Call

Array = Any
#: How many elements of a tensor are tried, of an operator to which NaN means something up to so many.
PLACES, MORE_PLACES = 2, 12
#: By how much an element is moved; a result that is continuous there moves by less for the smaller step.
STEPS = (2.0**-10, -(2.0**-10)), (2.0**-22, -(2.0**-22))


@dataclass(frozen=True)
class Place:
    """An element of a tensor among the arguments."""

    argument: int
    number: int | None  # in a list of tensors
    index: tuple[int, ...]

    def changed(self, call: Call, kind: Any, change: Callable[[Any], Any]) -> list[Any]:
        """The arguments, with arrays where tensors belong, of which this element is another one."""
        arrays = call.arrays(kind)
        at = arrays[self.argument] if self.number is None else arrays[self.argument][self.number]
        array = at.copy()
        array[self.index] = change(array[self.index])
        if self.number is None:
            arrays[self.argument] = array
        else:
            arrays[self.argument][self.number] = array
        return arrays


def places(call: Call, kind: Any) -> Iterator[Place]:
    """Some elements of each tensor of inexact numbers."""
    count = MORE_PLACES if "interprets_nan" in call.operator.tags else PLACES
    for i, given in enumerate(call.arrays(kind)):
        listed = isinstance(given, list)
        for j, array in enumerate(given if listed else [given]):
            if isinstance(array, np.ndarray) and array.dtype.kind in "fc" and array.size:
                rng = np.random.default_rng(zlib.crc32(f"{call} {i} {j}".encode()))
                for position in rng.permutation(array.size)[:count]:
                    index = np.unravel_index(position, array.shape)
                    yield Place(i, j if listed else None, tuple(map(int, index)))


def tensors(arrays: list[Any], make: Callable[[Array], Any]) -> list[Any]:
    """The arguments with tensors of their own."""
    return [
        tensors(v, make) if isinstance(v, list) else make(v.copy()) if isinstance(v, np.ndarray) else v
        for v in arrays
    ]


def results(name: str, arrays: list[Any], parts: Callable[[Any], list[Any]] = flat) -> list[Array] | None:
    """What an operator gives, of that ``parts``; None where that is an error."""
    try:
        found = run(name, tensors(arrays, tengen.from_numpy))
    except (RuntimeError, ValueError):
        return None
    return [t.resolve_conj().resolve_neg().numpy() for t in parts(found)]


def nans(array: Array) -> Array:
    """Which elements are NaN; of integers none."""
    return np.isnan(array) if array.dtype.kind in "fc" else np.zeros(array.shape, bool)


def distances(a: Array, b: Array) -> Array:
    """How far the elements are from each other; 0 of integers, and of what is infinite in both."""
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0, abs(a - b)) if b.dtype.kind in "fc" else np.zeros(b.shape)


def nan_of(element: Any) -> Any:
    return element * complex(np.nan, np.nan) if isinstance(element, complex) else np.nan


def dependent(call: Call, kind: Any, place: Place) -> list[Array] | None:
    """Which elements of the results move with an element, continuously; None where there are others then."""
    base = results(str(call.operator.name), call.arrays(kind))
    moved = []
    for steps in STEPS:
        found = []
        for step in steps:
            near = results(str(call.operator.name), place.changed(call, kind, lambda e, by=step: e + by))
            if near is None or base is None or [n.shape for n in near] != [b.shape for b in base]:
                return None
            found.append([distances(n, b) for n, b in zip(near, base, strict=True)])
        moved.append([np.maximum(*pair) for pair in zip(*found, strict=True)])
    return [(far > 0) & (near < far / 2) for far, near in zip(*moved, strict=True)]


def lost(call: Call, kind: Any, place: Place) -> bool:
    """Whether NaN in a place leaves an element of the results as a number that depends on it."""
    found = results(str(call.operator.name), place.changed(call, kind, nan_of))
    if found is None or all(nans(f).all() for f in found if f.dtype.kind in "fc"):
        return False
    depends = dependent(call, kind, place)
    if depends is None or [d.shape for d in depends] != [f.shape for f in found]:
        return False
    return any((d & ~nans(f)).any() for d, f in zip(depends, found, strict=True))


def tried(name: str) -> Iterator[tuple[Call, Any, Place]]:
    """The elements of samples that become NaN."""
    for call in calls(name):
        for kind in working_dtypes(call):
            if kind in (tengen.float64, tengen.complex128):
                yield from ((call, kind, place) for place in places(call, kind))


NAMES = [
    n
    for n, o in operators().items()
    if not {"pointwise", "elementwise"} & o.tags and declared.deterministic(o) and declared.has_values(o)
]


@pytest.mark.parametrize("name", NAMES)
def test_nan_reaches_what_depends_on_it(name: str) -> None:
    found = (f"{call} in {kind}, of {place}" for call, kind, place in tried(name) if lost(call, kind, place))
    first = next(found, None)
    assert (first is not None) is ("interprets_nan" in operators()[name].tags), first


@pytest.mark.parametrize("size", [5, 40, 200])  # libraries factor larger matrices by blocks
@pytest.mark.parametrize("place", [(0, 0), (-1, 0), (2, 2), (0, -1), (-1, -1)])
def test_nan_in_matrices_of_all_sizes(size: int, place: tuple[int, int]) -> None:
    matrices = np.random.default_rng(size).standard_normal((2, size, size))
    clean = tengen.linalg.inv(tengen.from_numpy(matrices))[1]
    matrices[0][place] = np.nan
    given = tengen.from_numpy(matrices)
    for found in (tengen.linalg.inv(given), tengen.linalg.solve(given, tengen.eye(size, dtype=given.dtype))):
        assert found[0].isnan().all() and tengen.allclose(found[1], clean)
    lu = tengen.linalg.lu_factor(given).LU
    first = place[1] % size  # the column of the pivot that is NaN
    assert lu[0, first:, first].isnan().all() and lu[0, first + 1 :, first + 1 :].isnan().all()
    assert not lu[0, :, :first].isnan().any() and not lu[1].isnan().any()


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_what_is_nan_in_torch_is_nan(name: str) -> None:
    """A declared difference may be of either side; torch leaves some of what is not determined unwritten."""
    side, operator = pytest.importorskip("torch_side"), operators()[name]
    declares, different = "nonfinite" in operator.differs, False
    for call, kind, place in tried(name) if side.same_schema(operator) else ():
        arrays = place.changed(call, kind, nan_of)
        found = results(name, arrays, lambda result: declared.determined(operator, result))
        if found is None or (all(nans(f).all() for f in found) and not declares):
            continue  # torch may end the process there, as for eigenvalues
        theirs = side.outcome(side.run, operator, tensors(arrays, side.from_array))
        if side.failed(theirs):
            continue
        expected = [nans(side.to_array(t)) for t in side.determined(operator, theirs)]
        for f, e in zip(map(nans, found), expected, strict=True):
            different |= f.shape == e.shape and bool((f != e).any())
            lost = f.shape == e.shape and bool((e & ~f).any())
            assert declares or not lost, f"{call} in {kind}, of {place}"
    assert different or not declares, f"{name} declares a difference (nonfinite), but there is none"
