"""Writes into memory that an operand shares: what PyTorch refuses is refused, and no more.

But here a part of an operand is never written to: where PyTorch does not look, it reads what it has half
written.
"""

from __future__ import annotations

from typing import Any

import pytest
from sharing import PARTNERS, Place, named, places, samples, together

import tengen
from tengen.testing.declared import declared_operators, flat, run, variants

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

DECLARED = declared_operators()


def comparable(name: str) -> bool:
    """Whether torch has the variant, with the same arguments; what it generates looks at no memory."""
    base, found = PARTNERS[name][1], side.overload(name)
    if base not in DECLARED or found is None or not side.same_schema(DECLARED[base]):
        return False
    return torch.Tag.generated not in found.tags


IN_PLACE = [n for n in named("inplace") if comparable(n)]
OUT = [n for n in named("out") if comparable(n) and variants()[n].operator.factory is None]


def theirs(name: str, values: list[Any], outs: list[Any]) -> Any:
    """What torch's variant gives."""
    schema = DECLARED[PARTNERS[name][1]].schema
    overload, count = side.overload(name), len(schema.positional)
    words = [a.name for a in overload._schema.arguments if a.is_out]
    keywords = {a.name: side.value(v) for a, v in zip(schema.kwarg_only, values[count:], strict=True)}
    outs_by_name = dict(zip(words, outs, strict=True))
    return overload(*[side.value(v) for v in values[:count]], **keywords, **outs_by_name)


def refused(function: Any, *arguments: Any) -> bool:
    """Whether memory that is shared is what is wrong with a call."""
    found = side.outcome(function, *arguments)
    return side.failed(found) and "single memory location" in str(found)


def differs(ours: bool, there: bool, whole: bool) -> bool:
    return ours is not there if whole else there and not ours


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    differences = []
    for call, kind in samples(name):
        values = call.tensors(kind)
        if not isinstance(values[0], tengen.Tensor):
            continue
        if side.failed(side.outcome(theirs, name, call.tensors(kind, make=side.from_array), [])):
            continue
        for place in places(values):
            for whole in (False, True):
                found = []
                for library, make, function in sides(name):
                    given = call.tensors(kind, make=make)
                    pair = place.argument and together(given[0], place.get(given), whole, library)
                    if pair:
                        found.append(refused(function, place.put([pair[0], *given[1:]], pair[1])))
                if found and differs(*found, whole):
                    differences.append(described(call, place, whole, found))
    assert not differences, "\n".join(differences)


def sides(name: str) -> tuple[tuple[Any, Any, Any], ...]:
    """The two libraries: how they make tensors, and call the in-place variant."""
    return (
        (tengen, tengen.from_numpy, lambda values: run(name, values)),
        (torch, side.from_array, lambda values: theirs(name, values, [])),
    )


def described(call: Any, place: Place, whole: bool, found: list[bool]) -> str:
    what = "all" if whole else "a part"
    argument = call.arguments[place.argument].name
    return f"{call}: {what} of {argument}: {'refused' if found[0] else 'taken'}"


@pytest.mark.parametrize("name", OUT)
def test_out(name: str) -> None:
    """Of the first result, where torch takes results of its own first."""
    differences = []
    base = DECLARED[PARTNERS[name][1]]
    for call, kind in samples(name):
        there = call.tensors(kind, make=side.from_array)
        results = side.outcome(side.run, base, there)
        if side.failed(results) or side.failed(side.outcome(run, str(base.name), call.tensors(kind))):
            continue
        outs = [torch.empty(tuple(r.shape), dtype=r.dtype) for r in side.flat(results)]
        if side.failed(side.outcome(theirs, name, there, outs)):
            continue
        for place in places(there, torch):
            pair = together(outs[0], place.get(there), True, torch)
            if pair is None:
                continue
            other = refused(theirs, name, place.put(there, pair[1]), [pair[0], *outs[1:]])
            values = call.tensors(kind)
            mine = flat(run(str(base.name), values))
            fresh = [tengen.empty(tuple(r.shape), dtype=r.dtype) for r in mine]
            ours = together(fresh[0], place.get(values), True)
            assert ours is not None
            out = (ours[0], *fresh[1:]) if len(fresh) > 1 else ours[0]
            found = [refused(run, name, [*place.put(values, ours[1]), out]), other]
            if differs(*found, True):
                differences.append(described(call, place, True, found))
    assert not differences, "\n".join(differences)
