"""Writes into memory that an operand shares in part.

In place all is read before it is written: ``x[1:].add_(x[:-1])`` adds what was there before, whatever the
size. An out argument of that kind is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import (
    calls,
    deterministic,
    flat,
    has_values,
    operators,
    run,
    variants,
    working_dtypes,
)
from tengen.testing.samples import Call

PARTNERS = {
    (str(v.operator.name), v.kind): str(v.base)
    for v in variants().values()
    if v.kind in ("inplace", "out") and str(v.base) in operators()
}
TESTED = {
    key: base
    for key, base in PARTNERS.items()
    if deterministic(operators()[base]) and has_values(operators()[base])
}


def named(kind: str) -> list[str]:
    """The variants of a kind."""
    return [name for name, found in TESTED if found == kind]


def shifted(values: list[Any]) -> list[Any] | None:
    """The arguments, the first tensor and those of its shape being parts of one memory, one row apart."""
    first = values[0]
    if not isinstance(first, tengen.Tensor) or not first.ndim or not first.numel():
        return None
    memory = tengen.cat([first, first[:1]])
    others = [
        i
        for i, v in enumerate(values)
        if i and isinstance(v, tengen.Tensor) and (v.shape, v.dtype) == (first.shape, first.dtype)
    ]
    found = [memory[1:], *values[1:]]
    for i in others:
        found[i] = memory[:-1]
    return found


def cases(name: str, kind: str) -> Iterator[tuple[Call, Any, list[Any], list[Any]]]:
    """Calls with arguments that share memory, each with what copies of these give."""
    base = TESTED[name, kind]
    for call in calls(base):
        for dtype in working_dtypes(call):
            given = shifted(call.tensors(dtype))
            if given is None:
                continue
            copies = [v.clone() if isinstance(v, tengen.Tensor) else v for v in given]
            try:
                expected = flat(run(base, copies))
            except RuntimeError:
                continue  # the operator asks for operands of some kind, which parts of a memory are not
            if all((e.shape, e.dtype) == (given[0].shape, given[0].dtype) for e in expected):
                yield call, dtype, given, expected


@pytest.mark.parametrize("name", named("inplace"))
def test_operands_are_read_before(name: str) -> None:
    """In place the result is as with copies of the operands."""
    for call, dtype, given, expected in cases(name, "inplace"):
        found = run(name, given)
        close(found.numpy(), expected[0].numpy(), tolerance(call.operator, dtype), name)


@pytest.mark.parametrize("name", named("out"))
def test_out_shares_no_part(name: str) -> None:
    """An out argument that shares a part of an operand's memory is refused, and nothing is written."""
    for call, _, given, expected in cases(name, "out"):
        memory = given[0]._base
        if len(expected) != 1 or len(given[0]) < 2:
            continue  # it takes several, or what is before the operand lies beside it
        before = memory.clone()
        with pytest.raises(RuntimeError, match="single memory location"):
            run(name, [memory[1:], *given[1:], memory[:-1]])
        np.testing.assert_array_equal(memory.numpy(), before.numpy(), str(call))
