"""Operands of different dtypes, shapes and kinds in PyTorch: what they promote to, and what is an error."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import promoting
import pytest
from promoting import DTYPES, NUMBERS, PROMOTING, given, operands, tensor_and_number

import tengen
from tengen.codegen.model.operators import Operator
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import run

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

BINARY = [n for n in promoting.BINARY if side.same_schema(PROMOTING[n])]
NUMBERED = [n for n in promoting.NUMBERED if side.same_schema(PROMOTING[n])]
INPLACE = [
    (n, base) for n, base in promoting.INPLACE.items() if base in BINARY and side.overload(n) is not None
]


def differences(operator: Operator, name: str, what: str, ours: list[Any], theirs: list[Any]) -> list[str]:
    """How the results of two calls differ, as a list of at most one text."""
    found, expected = side.outcome(run, name, ours), side.outcome(side.call, name, operator, theirs)
    if isinstance(expected, Exception):
        same = isinstance(found, Exception) or "ComplexHalf" in str(expected)
        return [] if same else [f"{what}: {found}, but torch: {expected!r}"]
    if isinstance(found, Exception):
        return [f"{what}: {found!r}, but torch: {expected}"]
    if not side.same_dtype(found, expected):
        return [f"{what}: {found.dtype}, but torch: {expected.dtype}"]
    try:
        close(found.numpy(), side.to_array(expected), tolerance(operator, found.dtype), what)
    except AssertionError as error:
        return [str(error)]
    return []


def both(values: list[Any]) -> tuple[list[Any], list[Any]]:
    """Arguments of each side, made of the same arrays."""
    sides = []
    for make in (tengen.from_numpy, side.from_array):
        sides.append([make(v.copy()) if isinstance(v, np.ndarray) else v for v in values])
    return sides[0], sides[1]


@pytest.mark.parametrize("name", BINARY)
def test_two_tensors(name: str) -> None:
    """Every pair of dtypes, both with elements or one of them a 0-d tensor."""
    first, second = operands(PROMOTING[name])
    found = []
    for one, other in itertools.product(DTYPES, DTYPES):
        for shape in ((3,), ()):
            values = given(name, {first: one, second: other}, {first: (3,), second: shape})
            found += differences(PROMOTING[name], name, f"{one}, {other}{list(shape)}", *both(values))
    side.fail_for(found, PROMOTING[name], "promotion")


@pytest.mark.parametrize("name", NUMBERED)
def test_tensor_and_number(name: str) -> None:
    """Every dtype with a number of every class."""
    operator = PROMOTING[name]
    tensor, number = tensor_and_number(operator)
    found = []
    for kind, value in itertools.product(DTYPES, NUMBERS):
        for shape in ((3,), ()):
            values = given(name, {tensor: kind}, {tensor: shape})
            values[number] = value
            found += differences(operator, name, f"{kind}{list(shape)}, {value}", *both(values))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("name", "base"), INPLACE)
def test_in_place(name: str, base: str) -> None:
    """In place the first operand keeps its dtype, where the result can be cast to it."""
    first, second = operands(PROMOTING[base])
    found = []
    for one, other in itertools.product(DTYPES, DTYPES):
        values = given(base, {first: one, second: other}, {first: (3,), second: (3,)})
        found += differences(PROMOTING[base], name, f"{one}, {other}", *both(values))
    side.fail_for(found, PROMOTING[base], "promotion")
