"""Gradients of the bounds of ``clamp``: at ties, where bounds are equal or crossed, NaN and infinite."""

from __future__ import annotations

import itertools
import math
from types import ModuleType
from typing import Any

import pytest

import tengen

NUMBERS = [-1.0, 0.0, 1.0, 2.0, math.nan, math.inf, -math.inf]
FUNCTIONS = {
    "clamp": lambda m, x, low, high: m.clamp(x, low, high),
    "clamp with min": lambda m, x, low, high: m.clamp(x, low, None),
    "clamp with max": lambda m, x, low, high: m.clamp(x, None, high),
    "clamp_min": lambda m, x, low, high: m.clamp_min(x, low),
    "clamp_max": lambda m, x, low, high: m.clamp_max(x, high),
    "maximum": lambda m, x, low, high: m.maximum(x, low),
    "minimum": lambda m, x, low, high: m.minimum(x, high),
    "fmax": lambda m, x, low, high: m.fmax(x, low),
    "fmin": lambda m, x, low, high: m.fmin(x, high),
    "equal numbers": lambda m, x, low, high: m.clamp(x, 1.0, 1.0),
    "crossed numbers": lambda m, x, low, high: m.clamp(x, 1.0, 0.0),
}


def gradients(m: ModuleType, name: str) -> list[Any]:
    """The gradients of x and the bounds, for all triples of the numbers."""
    columns = zip(*itertools.product(NUMBERS, repeat=3), strict=True)
    given = [m.tensor(c, dtype=m.float64, requires_grad=True) for c in columns]
    result = FUNCTIONS[name](m, *given)
    found = m.autograd.grad(result.sum(), given, allow_unused=True)
    return [None if g is None else g.tolist() for g in found]


@pytest.mark.oracle
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_at_ties_and_ends(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert gradients(tengen, name) == gradients(torch, name)


def test_equal_bounds() -> None:
    """The lower bound has no gradient; the upper one has it where x is above."""
    x, low, high = (tengen.tensor(v, requires_grad=True) for v in ([1.0, 2, 3], [2.0] * 3, [2.0] * 3))
    found = tengen.autograd.grad(tengen.clamp(x, low, high).sum(), (x, low, high))
    assert [g.tolist() for g in found] == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_crossed_bounds() -> None:
    """The result is the upper bound, whatever x is."""
    x, low, high = (tengen.tensor(v, requires_grad=True) for v in ([0.0, 2, 4], [3.0] * 3, [1.0] * 3))
    found = tengen.autograd.grad(tengen.clamp(x, low, high).sum(), (x, low, high))
    assert [g.tolist() for g in found] == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
