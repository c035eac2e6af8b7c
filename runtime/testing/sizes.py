"""Calls of other sizes than the declared samples have: around the sizes at which kernels change their way."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from types import FunctionType, ModuleType
from typing import Any

from .declared import flat, run, runs
from .samples import Call, Random
from .without_data import on_meta

_KERNELS = "tengen.kernels."


def sizes_of(call: Call) -> list[int]:
    """The different sizes above 1 of the random tensors of a call, in their order."""
    return list(dict.fromkeys(n for r in _randoms(call) for n in r.shape if n > 1))


def _randoms(call: Call) -> list[Random]:
    flat = [w for v in call.values for w in (v if isinstance(v, list) else [v])]
    return [w for w in flat if isinstance(w, Random)]


def grown(call: Call, sizes: Mapping[int, int]) -> list[Call]:
    """The call with other sizes of random tensors: with such numbers in its lists changed alike, and without.

    Which of them is one that the operator takes, only trying it tells.
    """
    text = f"{call.text}, where {', '.join(f'{old} is {new}' for old, new in sizes.items())}"

    def tensors(value: Any) -> Any:
        if isinstance(value, Random):
            return replace(value, shape=tuple([sizes.get(n, n) for n in value.shape]))
        return [tensors(v) for v in value] if isinstance(value, list) else value

    def everything(value: Any) -> Any:
        if isinstance(value, tuple) and all([type(n) is int for n in value]):
            return tuple([sizes.get(n, n) for n in value])
        return tensors(value)

    ways = [tuple([way(v) for v in call.values]) for way in (everything, tensors)]
    return [replace(call, text=text, values=values) for values in (ways if ways[0] != ways[1] else ways[:1])]


def along_dims(call: Call) -> Iterator[Call]:
    """A call of a reduction along the first and the last dim, and both where it may name several.

    With ``keepdim`` and without, where it is an argument. Of other calls there is only the call itself.
    """
    names = [a.name for a in call.arguments]
    given = call.values[names.index("dim")] if "dim" in names else None
    several = isinstance(given, tuple) and bool(given)
    named = "reduction" in call.operator.tags and (several or type(given) is int)
    if not named or any(0 in r.shape for r in _randoms(call)):
        yield call
        return
    for dim, keep in product([(0,), (-1,), (0, -1)] if several else [0, -1], (False, True)):
        changed = {"dim": dim, "keepdim": keep}
        values = tuple([changed.get(n, v) for n, v in zip(names, call.values, strict=True)])
        if keep <= ("keepdim" in names):
            yield replace(call, text=f"{call.text} over {dim}{', which stay' * keep}", values=values)


def thresholds(name: str, values: list[Any]) -> list[int]:
    """The sizes at which the kernels that a call runs go another way.

    They are the whole numbers among the constants, in capitals, of the modules whose functions the call runs,
    and of those whose functions these may call.
    """
    ran: set[str] = set()

    def note(frame: Any, event: str, arg: Any) -> None:
        ran.add(frame.f_globals.get("__name__", ""))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run(name, values)
    finally:
        sys.setprofile(before)
    modules = {m for m in ran if m.startswith(_KERNELS)}
    modules |= {m for name in modules for m in _used(name)}
    return sorted({n for name in modules for n in _constants(name)})


@functools.cache
def _used(name: str) -> frozenset[str]:
    """The modules of kernels whose functions, or which themselves, are names of a module."""
    found = [
        v.__name__ if isinstance(v, ModuleType) else v.__module__
        for v in vars(sys.modules[name]).values()
        if isinstance(v, (ModuleType, FunctionType))
    ]
    return frozenset([m for m in found if m.startswith(_KERNELS) and m in sys.modules])


@functools.cache
def _constants(name: str) -> tuple[int, ...]:
    """The numbers above 4 among a module's constants, those of tuples and tables too."""
    found: list[Any] = []
    for key, value in vars(sys.modules[name]).items():
        if key.lstrip("_").isupper():
            several = value.values() if isinstance(value, dict) else value
            found += several if isinstance(several, (tuple, type({}.values()))) else [value]
    return tuple([n for n in found if type(n) is int and n > 4])


def around(numbers: list[int], most: int) -> list[int]:
    """The numbers up to ``most``, each with its neighbours."""
    return sorted({n + d for n in numbers if n <= most for d in (-1, 0, 1)})


def works(call: Call, kind: Any) -> bool:
    """Whether the operator takes a call."""
    return runs(str(call.operator.name), lambda: call.tensors(kind))


def works_on_meta(call: Call, kind: Any) -> bool:
    """Whether the operator takes a call's shapes."""
    return runs(str(call.operator.name), lambda: on_meta(call, kind))


def first_working(calls: list[Call], kind: Any) -> Call | None:
    """The first of the calls that the operator takes, with not too many elements."""
    return next((c for c in calls if affordable(c, kind) and works(c, kind)), None)


def shaped(call: Call, long: int, short: int) -> Iterator[list[Call]]:
    """The call with each of its sizes in turn long and the others short, in the ways of ``grown``."""
    sizes = sizes_of(call)
    for one in sizes:
        yield grown(call, {n: long if n == one else short + i for i, n in enumerate(sizes)})


#: So many elements may the inputs and the results of a grown call have; and the inputs where nothing is known
#: of the results, of which there may be as many.
MOST, FEW = 1 << 18, 1 << 11


def affordable(call: Call, kind: Any) -> bool:
    """Whether inputs and results have not too many elements, as far as that is known without computing."""
    shapes = [r.shape for r in _randoms(call)]
    if sum(map(math.prod, shapes)) > MOST:
        return False
    try:
        found = flat(run(str(call.operator.name), on_meta(call, kind)))
    except Exception:
        return sum(map(math.prod, shapes)) <= FEW
    return len(found) <= FEW and sum([t.numel() for t in found]) <= MOST
