"""Derivatives by finite differences, along random directions, in float64 and complex128.

For a function f, a direction u of its inputs and one v of its results, <v, J u> is had three
ways: from the difference of f along u, from the gradient of <v, f> (reverse mode), and from the
tangent of f along u (forward mode). Complex numbers count as pairs of reals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tengen

Function = Callable[..., Sequence[Any]]  # differentiable tensors -> differentiable results

STEP = 1e-6
DIRECTIONS = 2


def directions(tensors: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """Random tensors of the shapes and dtypes given."""
    return [tengen.from_numpy(_random(tuple(t.shape), t.is_complex(), rng)).to(t.dtype) for t in tensors]


def _random(shape: tuple[int, ...], complex_: bool, rng: np.random.Generator) -> Any:
    real = np.asarray(rng.standard_normal(shape))
    return np.asarray(real + 1j * rng.standard_normal(shape)) if complex_ else real


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The real inner product of two lists of tensors; None counts as zero."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        if x is not None and y is not None:
            total += float(np.sum(np.real(np.conj(x.detach().numpy()) * y.detach().numpy())))
    return total


def difference(function: Function, inputs: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """The central difference of the results along a direction."""
    with tengen.no_grad():
        ahead = function(*[x.detach() + u * STEP for x, u in zip(inputs, along, strict=True)])
        behind = function(*[x.detach() - u * STEP for x, u in zip(inputs, along, strict=True)])
        return [(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]


def gradient(
    function: Function, inputs: Sequence[Any], v: Sequence[Any], create_graph: bool = False
) -> list[Any]:
    """The gradients of <v, function(inputs)>; None where an input does not matter."""
    results = function(*inputs)
    wanted = [(r, w) for r, w in zip(results, v, strict=True) if r.requires_grad]
    if not wanted:
        return [None] * len(inputs)
    found: tuple[Any, ...] = tengen.autograd.grad(
        [r for r, _ in wanted],
        list(inputs),
        [w for _, w in wanted],
        create_graph=create_graph,
        allow_unused=True,
    )
    return list(found)


def cotangents(results: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """Random tensors like the results that are recorded, None for the others."""
    return [directions([r], rng)[0] if r.requires_grad else None for r in results]


def recorded(function: Function) -> Function:
    """The function without the results that are not recorded."""
    return lambda *points: [r for r in function(*points) if r.requires_grad]


def still_where_undefined(u: Sequence[Any], gradients: Sequence[Any]) -> list[Any]:
    """The direction without the inputs that the results do not depend on differentiably."""
    return [x if g is not None else x * 0 for x, g in zip(u, gradients, strict=True)]


def leaves(tensors: Sequence[Any]) -> list[Any]:
    """Fresh leaves that require gradients, over copies."""
    return [t.detach().clone().requires_grad_() for t in tensors]


def check_gradient(function: Function, inputs: Sequence[Any], seed: int, tolerance: float = 1e-4) -> None:
    """Reverse mode against differences. AssertionError with both values where they differ."""
    rng = np.random.default_rng(seed)
    for _ in range(DIRECTIONS):
        points = leaves(inputs)
        v = cotangents(function(*points), rng)
        if all(x is None for x in v):
            return  # composed of what has no derivative
        found = gradient(function, points, v)
        u = still_where_undefined(directions(points, rng), found)
        numeric = inner(v, difference(function, points, u))
        analytic = inner(found, u)
        assert_close(analytic, numeric, tolerance, "gradient")


def check_second_gradient(
    function: Function, inputs: Sequence[Any], seed: int, tolerance: float = 1e-3
) -> None:
    """The gradient of the gradient against differences of the gradient."""
    rng = np.random.default_rng(seed)
    points = leaves(inputs)
    v = [x for x in cotangents(function(*points), rng) if x is not None]
    if not v:
        return  # composed of what has no derivative
    first = gradient(function, points, cotangents(function(*points), rng))
    count = len(inputs)

    def gradients(*points: Any) -> list[Any]:
        with tengen.enable_grad():
            x = [p if p.requires_grad else p.detach().clone().requires_grad_() for p in points[:count]]
            found = gradient(recorded(function), x, points[count:], create_graph=True)
            return [tengen.zeros_like(p) if g is None else g for p, g in zip(x, found, strict=True)]

    points = leaves([*inputs, *v])
    u = still_where_undefined(directions(points, rng), [*first, *v])
    w = directions(inputs, rng)
    numeric = inner(w, difference(gradients, points, u))
    analytic = inner(gradient(gradients, points, w), u)
    assert_close(analytic, numeric, tolerance, "second gradient")


def assert_close(found: float, expected: float, tolerance: float, what: str) -> None:
    """Equal to a tolerance relative to their size, or both not finite."""
    if np.isnan(expected) and np.isnan(found):
        return
    scale = max(1.0, abs(expected), abs(found))
    assert abs(found - expected) <= tolerance * scale, f"{what}: {found} is not {expected} (by differences)"
