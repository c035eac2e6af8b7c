"""vmap of integers with numbers that have fractions: the result, or the error, of each slice alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import tengen
from tengen.testing.aspects import Case
from tengen.testing.batching import at, compare_errors, slices, slots_of, unbatched
from tengen.testing.declared import calls, operators


def cases(name: str) -> Iterator[Case]:
    """The samples with int64 tensors, and a half more in one of the arguments that are numbers."""
    for call in calls(name):
        for i, (argument, value) in enumerate(zip(call.arguments, call.values, strict=True)):
            if (
                str(argument.type) == "Scalar"
                and value.__class__ in (int, float)
                and call.follows_dtype
                and call.takes(tengen.int64)
            ):
                values = (*call.values[:i], value + 0.5, *call.values[i + 1 :])
                yield Case(replace(call, values=values), tengen.int64)


NAMES = [
    name
    for name, operator in operators().items()
    if not unbatched(operator) and not operator.name.inplace and any(True for _ in cases(name))
]


@pytest.mark.parametrize("name", NAMES)
def test_fractions_count_as_for_each_slice(name: str) -> None:
    for case in cases(name):
        slots = slots_of(case.values)
        columns = [slices(t) for t in at(case.values, slots)]
        compare_errors(case, "batched numbers", slots, columns, "where a number has a fraction")
