"""Each operator through dual numbers: its tangents, and the tangents of its gradients, against differences.

Along a random direction u of the inputs and one v of the results, ``<v, J u>`` is had of the tangents and of
the difference of the operator along u; the same for the operator's gradient in place of the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd.forward_grad import ForwardLevel
from tengen.generated.operators import OPERATORS as TABLE
from tengen.operator import operator
from tengen.testing import declared
from tengen.testing.declared import operators, run
from tengen.testing.differentiable import as_function, cases, inexact, recorded, seed
from tengen.testing.numeric import assert_close, difference, directions, inner, leaves

Function = Callable[..., Sequence[Any]]

OPERATORS = operators()
DIFFERENTIABLE = [n for n in OPERATORS if recorded(n)]
INPLACE = [n for n in TABLE if operator(n).kind == "inplace" and operator(n).base in DIFFERENTIABLE]
#: Made of an operator that has no derivative in either mode, or cutting the history off on purpose.
WITHOUT = ("derivative for", "Trying to use forward AD with")


def tangents(function: Function, points: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """The tangents of the results along a direction; None where there is none."""
    with ForwardLevel() as level:
        results = function(*[level.make_dual(x, u) for x, u in zip(points, along, strict=True)])
        found = [level.unpack(r)[1] for r in results]
        for tangent, result in zip(found, results, strict=True):
            assert tangent is None or (tangent.shape, tangent.dtype) == (result.shape, result.dtype)
    return found


def check(
    function: Function, points: Sequence[Any], rng: np.random.Generator, tolerance: float, what: str
) -> None:
    """The tangents of a function against its difference, along a random direction."""
    along = directions(points, rng)
    found = tangents(function, points, along)
    expected = difference(function, points, along)
    v = directions(expected, rng)
    assert_close(inner(v, found), inner(v, expected), tolerance, what)


def has_no_derivative(name: str, error: Exception) -> bool:
    """Whether an operator is made of one that has no derivative."""
    return declared.composite(OPERATORS[name]) and str(error).startswith(WITHOUT)


def constant(function: Function, inputs: Sequence[Any]) -> bool:
    """Whether no result depends on the inputs differentiably, as the results of ``detach`` do not."""
    return not any(r.requires_grad for r in function(*leaves(inputs)))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangent(name: str) -> None:
    for call, kind in cases(name):
        function, inputs = as_function(call, kind)
        points = [t.detach().clone() for t in inputs]
        try:
            if not constant(function, inputs):
                check(function, points, np.random.default_rng(seed(call)), 1e-4, f"{call} in {kind}: tangent")
        except (RuntimeError, NotImplementedError) as error:
            if not has_no_derivative(name, error):
                raise


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_tangent_of_gradient(name: str) -> None:
    """Forward over reverse: what Nodes saved has its tangents."""
    for call, kind in cases(name):
        function, inputs = as_function(call, kind)
        rng = np.random.default_rng(seed(call))
        try:
            gradient = gradient_of(function, inputs, rng)
            if gradient is not None:
                check(gradient, leaves(inputs), rng, 1e-3, f"{call} in {kind}: tangent of the gradient")
        except (RuntimeError, NotImplementedError) as error:
            if not has_no_derivative(name, error):
                raise


def gradient_of(function: Function, inputs: Sequence[Any], rng: np.random.Generator) -> Function | None:
    """The gradient along random cotangents as a function of the inputs; None where there is none."""
    results = function(*leaves(inputs))
    v = [directions([r], rng)[0] if r.requires_grad else None for r in results]
    if all(x is None for x in v):
        return None

    def gradient(*points: Any) -> list[Any]:
        with tengen.enable_grad():
            x = [p if p.requires_grad else p.detach().clone().requires_grad_() for p in points]
            wanted = [(r, w) for r, w in zip(function(*x), v, strict=True) if w is not None]
            found = tengen.autograd.grad([r for r, _ in wanted], x, [w for _, w in wanted], allow_unused=True)
        return [tengen.zeros_like(p) if g is None else g for p, g in zip(x, found, strict=True)]

    return gradient


@pytest.mark.parametrize("name", INPLACE)
def test_tangent_in_place(name: str) -> None:
    """An in-place variant makes of the tangent what the operator makes of it, where it writes as much."""
    base = str(operator(name).base)
    for call, kind in cases(base):
        function, inputs = as_function(call, kind)
        if constant(function, inputs):
            continue
        values = call.tensors(kind)
        with ForwardLevel() as level:
            duals = [dual_of(level, v) for v in values]
            expected = run(base, duals)
            target = duals[0]
            if (expected.shape, expected.dtype) != (target.shape, target.dtype):
                continue
            written = target * 1
            result = run(name, [written, *duals[1:]])
            assert result is written
            found, wanted = level.unpack(written)[1], level.unpack(expected)[1]
            np.testing.assert_allclose(written.numpy(), expected.numpy(), rtol=1e-12)
            np.testing.assert_allclose(
                found.numpy(), wanted.numpy(), rtol=1e-9, atol=1e-12, err_msg=str(call)
            )


def dual_of(level: ForwardLevel, value: Any) -> Any:
    """A dual of a tensor, or of each of a list."""
    if isinstance(value, list):
        return [dual_of(level, v) for v in value]
    if not inexact(value):
        return value
    return level.make_dual(value, tengen.linspace(-1, 1, value.numel()).to(value.dtype).reshape(value.shape))
