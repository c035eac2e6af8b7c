"""Derivatives against finite differences, in float64 and complex128.

Reverse mode, once and twice, is ``gradcheck``'s and ``gradgradcheck``'s business. A tangent is compared along
random directions: for a function f, a direction u of its inputs and one v of its results, <v, J u>
is had from the difference of f along u, and from the tangent of f along u. Complex numbers count as
pairs of reals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tengen

from .closeness import number
from .failure import Mismatch

Function = Callable[..., Sequence[Any]]  # differentiable tensors -> differentiable results

STEP = 1e-6
#: As many numbers may the inputs of a call have for whole Jacobians to be compared.
FEW = 12


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


def leaves(tensors: Sequence[Any]) -> list[Any]:
    """Fresh leaves that require gradients, over copies."""
    return [t.detach().clone().requires_grad_() for t in tensors]


def records(function: Function, points: Sequence[Any]) -> bool:
    """Whether any result is differentiable: a composite may be made of what has no derivative."""
    return any(r.requires_grad for r in function(*points))


def check_gradient(function: Function, inputs: Sequence[Any]) -> None:
    """Reverse mode against differences: whole Jacobians, or along random vectors where these are large.

    GradcheckError with both where they differ.
    """
    points = leaves(inputs)
    if records(function, points):
        many = sum(t.numel() for t in points) > FEW
        tengen.autograd.gradcheck(function, points, fast_mode=many)


def check_second_gradient(function: Function, inputs: Sequence[Any]) -> None:
    """The gradient of the gradient against differences of the gradient, along random vectors."""
    points = leaves(inputs)
    if records(function, points):
        tengen.autograd.gradgradcheck(function, points, fast_mode=True)


def assert_close(found: float, expected: float, tolerance: float, what: str) -> None:
    """Equal to a tolerance relative to their size, or both not a number; else Mismatch."""
    if np.isnan(expected) and np.isnan(found):
        return
    scale = max(1.0, abs(expected), abs(found))
    if not abs(found - expected) <= tolerance * scale:
        raise Mismatch(
            f"{what}: {found} is not {expected} (by differences)",
            got=number(found),
            expected=number(expected),
            error=abs(found - expected),
        )
