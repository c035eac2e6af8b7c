"""Calls that follow from declared ones: with the numbers that samples seldom have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..core.scalar_type import dtype
from .samples import Buffer, Call, Random

#: What is added to a number to make it complex.
IMAGINARY = 0.5j


def of_one_element(call: Call) -> list[Call]:
    """The call with random tensors of no dimension, and with all their dimensions of size 1.

    Whether the operator takes them is for the caller to see: dimensions that are named become the first.
    """
    if not call.follows_dtype or any(isinstance(v, Buffer) for v in call.values):
        return []
    named = [a.name in ("dim", "dim0", "dim1") and str(a.type) == "int" for a in call.arguments]
    first = [0 if n else v for n, v in zip(named, call.values, strict=True)]
    scalars = tuple(_shaped(v, lambda shape: ()) for v in first)
    ones = tuple(_shaped(v, lambda shape: (1,) * len(shape)) for v in call.values)
    return [
        replace(call, text=f"{call.text} of no dimension", values=scalars),
        replace(call, text=f"{call.text} of one element", values=ones),
    ]


def _shaped(value: Any, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    """A value of a call, with the random tensors in it of another shape."""
    if isinstance(value, list):
        return [_shaped(v, shape) for v in value]
    return replace(value, shape=shape(value.shape)) if isinstance(value, Random) else value


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
