"""Calls that follow from declared ones: with the numbers that samples seldom have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tengen.scalar_type import dtype
from tengen.testing.samples import Call

#: What is added to a number to make it complex.
IMAGINARY = 0.5j


def with_complex_numbers(
    calls: Sequence[Call], refused: Sequence[Call], kinds: Callable[[Call], list[dtype]]
) -> list[Call]:
    """For each Scalar argument the first call that gives it, with a complex number in place of a real one.

    They are for the complex dtypes of the call, which ``kinds`` tells. There is none where a call gives a
    complex number already, or one of ``refused``, the declared bad calls, says that it is an error.
    """
    found = []
    for place, argument in enumerate(calls[0].arguments):
        if str(argument.type).rstrip("?") != "Scalar":
            continue
        if any(isinstance(c.values[place], complex) for c in [*calls, *refused]):
            continue
        giving = (c for c in calls if c.values[place] is not None and c.follows_dtype)
        call = next((c for c in giving if kinds(c)), None)
        if call is not None:
            value = call.values[place] + IMAGINARY
            values = (*call.values[:place], value, *call.values[place + 1 :])
            text = f"{call.text} with {argument.name}={value}"
            found.append(replace(call, text=text, values=values, only=frozenset(kinds(call))))
    return found
