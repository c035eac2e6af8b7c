"""Operators over nothing: samples in which all dims of one size have size 0."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

import tengen
from tengen.testing import declared
from tengen.testing.declared import operators, run
from tengen.testing.samples import Call, Random

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = [
    n
    for n, o in operators().items()
    # Those that are not public are called with sizes that fit.
    if not (o.is_composite or n.startswith("_") or o.name.base.endswith("_backward"))
    and declared.runs_on_meta(o)
]
#: What an operator says of arguments that it does not take; other errors are those of what it calls.
REFUSALS = (RuntimeError, IndexError)


def emptied(value: Any, size: int) -> Any:
    """An argument with 0 in the place of a size."""
    if isinstance(value, Random):
        return replace(value, shape=tuple(0 if s == size else s for s in value.shape))
    return [emptied(v, size) for v in value] if isinstance(value, list) else value


def shapes(value: Any) -> Iterator[tuple[int, ...]]:
    """Those of the random tensors in an argument."""
    if isinstance(value, Random):
        yield value.shape
    for v in value if isinstance(value, list) else ():
        yield from shapes(v)


def shapes_of(results: Any) -> list[tuple[int, ...]]:
    return [tuple(t.shape) for t in declared.flat(results)]


@pytest.mark.parametrize("name", NAMES)
def test_empty_sizes(name: str) -> None:
    """Where Meta knows a shape there is a result of that shape, or a refusal in the operator's own words."""
    operator = operators()[name]
    kind = next((k for k in (tengen.float32, tengen.int64) if k in declared.dtypes_of(operator)), None)
    for call in declared.calls(name) if kind is not None else ():
        if not call.takes(kind) or call.hand_picked:
            continue
        for size in sorted({s for v in call.values for shape in shapes(v) for s in shape} - {0}):
            values = tuple(emptied(v, size) for v in call.values)
            tried = Call(operator, f"{call.text} with 0 for {size}", values)
            try:
                meta = run(name, tried.tensors(kind, lambda a: tengen.from_numpy(a).to("meta")))
            except Exception:
                continue
            with suppress(*REFUSALS):
                assert shapes_of(run(name, tried.tensors(kind))) == shapes_of(meta), str(tried)
