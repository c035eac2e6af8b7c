"""Writes into memory that an operand shares in part: the operator reads all before it writes.

``x[1:].add_(x[:-1])`` adds what was there before, whatever the size, in place and with ``out=``.
"""

from __future__ import annotations

from typing import Any

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
    str(v.operator.name): str(v.base)
    for v in variants().values()
    if v.kind in ("inplace", "out") and str(v.base) in operators()
}
TESTED = [
    n for n, base in PARTNERS.items() if deterministic(operators()[base]) and has_values(operators()[base])
]


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


def cases(name: str) -> list[tuple[Call, Any]]:
    return [(c, k) for c in calls(PARTNERS[name]) for k in working_dtypes(c)]


@pytest.mark.parametrize("name", TESTED)
def test_operands_are_read_before(name: str) -> None:
    """As with copies of the operands."""
    for call, kind in cases(name):
        given = shifted(call.tensors(kind))
        if given is None:
            continue
        copies = [v.clone() if isinstance(v, tengen.Tensor) else v for v in given]
        try:
            expected = flat(run(PARTNERS[name], copies))
        except RuntimeError:
            continue  # the operator asks for operands of some kind, which parts of a memory are not
        if name.partition(".")[0].endswith("_"):
            if (expected[0].shape, expected[0].dtype) != (given[0].shape, given[0].dtype):
                continue
            found = [run(name, given)]
        else:
            memory = given[0]._base
            fits = [e for e in expected if (e.shape, e.dtype) == (given[0].shape, given[0].dtype)]
            if len(fits) != len(expected) or len(expected) > 1:
                continue
            found = [run(name, [memory[1:], *given[1:], memory[:-1]])]
        for f, e in zip(found, expected, strict=True):
            close(f.numpy(), e.numpy(), tolerance(call.operator, kind), name)
