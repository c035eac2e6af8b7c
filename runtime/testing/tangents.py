"""Forward mode: tangents, and the tangents of gradients, against differences.

Along a random direction u of the inputs and one v of the results, ``<v, J u>`` is had of the tangents and of
the difference of the operator along u; the same for the operator's gradient in place of the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tengen

from ..autograd.forward.forward_grad import ForwardLevel
from ..dispatch.operator import operator as find_operator
from .aspects import Aspect, Case
from .closeness import close
from .declared import run, variants_of
from .diagnosis import ATOL, RTOL, called_by
from .differentiable import as_function, differentiable_places, inexact, inputs_of, seed
from .failure import Failure, Mismatch, Part, blamed, failure, in_short
from .gradients import smooth, undifferentiable, variables
from .numeric import Function, assert_close, difference, directions, inner, leaves

#: Made of an operator that has no derivative in either mode, or cutting the history off on purpose.
WITHOUT = ("derivative for", "the derivative for", "Trying to use forward AD with")
CALLED = ("analytical", "numerical")


def tangents(function: Function, points: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """The tangents of the results along a direction; None where there is none."""
    with ForwardLevel() as level:
        results = function(*[level.make_dual(x, u) for x, u in zip(points, along, strict=True)])
        found = [level.unpack(r)[1] for r in results]
        for tangent, result in zip(found, results, strict=True):
            if tangent is not None and (tangent.shape, tangent.dtype) != (result.shape, result.dtype):
                raise Mismatch(
                    "a tangent is not like its result",
                    got=f"{tuple(tangent.shape)}, {tangent.dtype}",
                    expected=f"{tuple(result.shape)}, {result.dtype}",
                )
    return found


def check(
    function: Function, points: Sequence[Any], rng: np.random.Generator, tolerance: float, what: str
) -> list[Any]:
    """The tangents of a function against its difference, along a random direction, which is returned."""
    along = directions(points, rng)
    found = tangents(function, points, along)
    expected = difference(function, points, along)
    v = directions(expected, rng)
    assert_close(inner(v, found), inner(v, expected), tolerance, what)
    return along


def has_no_derivative(case: Case, error: Exception) -> bool:
    """Whether an operator is made of one that has no derivative."""
    kinds = isinstance(error, (RuntimeError, NotImplementedError))
    return kinds and case.operator.is_composite and str(error).startswith(WITHOUT)


def constant(function: Function, inputs: Sequence[Any]) -> bool:
    """Whether no result depends on the inputs differentiably, as the results of ``detach`` do not."""
    return not any(r.requires_grad for r in function(*leaves(inputs)))


def check_tangent(case: Case) -> None:
    """The tangents of the results against differences."""
    function, inputs = as_function(case.call, case.kind)
    points = [t.detach().clone() for t in inputs]
    if constant(function, inputs):
        return
    try:
        check(function, points, np.random.default_rng(seed(case.call)), 1e-4, f"{case}: tangent")
    except Mismatch as error:
        raise wrong_tangents(case, function, points, error) from None
    except Exception as error:
        if not has_no_derivative(case, error):
            text = in_short(error)
            message = f"the forward derivative of {case.name} fails: {text}"
            raise failure(case, "tangent", Part("tangent"), message) from error


def wrong_tangents(case: Case, function: Function, points: Sequence[Any], error: Mismatch) -> Failure:
    """The Failures of the results whose tangents are wrong; where one input alone shows it, that is named."""
    found: dict[int, Failure] = {}
    rng = np.random.default_rng(seed(case.call))
    names = variables(case)
    along = directions(points, rng)
    alone = [[u if i == j else u * 0 for j, u in enumerate(along)] for i in range(len(points))]
    for moved, name in [*zip(alone, names, strict=True), (along, "")]:
        expected = difference(function, points, moved)
        for place, (t, e) in enumerate(zip(tangents(function, points, moved), expected, strict=True)):
            number = dict(enumerate(differentiable_places(case.operator))).get(place, 0)
            array = np.zeros(tuple(e.shape)) if t is None else t.detach().numpy()
            try:
                close(array, e.detach().numpy(), RTOL, case.name, ATOL)
            except Mismatch as wrong:
                of = f", where {name} moves" if name and len(points) > 1 else ""
                message = f"the tangent of {case.name} is wrong{of}"
                made = failure(case, "tangent", Part("tangent", str(number)), message, wrong, CALLED)
                found.setdefault(number, made)
    several = list(found.values())
    if not several:
        several = [
            failure(case, "tangent", Part("tangent"), f"the tangent of {case.name} is wrong", error, CALLED)
        ]
    several[0].more = several[1:]
    several[0].through = called_by(lambda: tangents(function, points, along))
    return several[0]


def check_tangent_of_gradient(case: Case) -> None:
    """Forward over reverse: what Nodes saved has its tangents."""
    function, inputs = as_function(case.call, case.kind)
    rng = np.random.default_rng(seed(case.call))
    points = leaves(inputs)
    message = f"the tangent of the gradient of {case.name} is wrong"
    try:
        gradient = gradient_of(function, inputs, rng)
        if gradient is not None:
            check(gradient, points, rng, 1e-3, f"{case}: tangent of the gradient")
    except Mismatch as error:
        part = Part("gradient", variables(case)[0])
        made = failure(case, "tangent of gradient", part, message, error, CALLED)
        made.through = called_by(lambda: tangents(gradient, points, points) if gradient else None)
        raise made from None
    except Exception as error:
        if not has_no_derivative(case, error):
            text = in_short(error)
            raise failure(case, "tangent of gradient", Part("gradient"), f"{message}: {text}") from error


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


# -- in place ----------------------------------------------------------------------------------


def written_in_place(name: str) -> list[str]:
    """The in-place variants of an operator, derived ones."""
    return [n for n in variants_of(name) if find_operator(n).kind == "inplace"]


def in_place(name: str) -> list[Case]:
    """The smooth calls of an operator, for each of its in-place variants."""
    return [Case(c.call, c.kind, v) for v in written_in_place(name) for c in smooth(name)]


def check_in_place(case: Case) -> None:
    """An in-place variant makes of the tangent what the operator makes of it, where it writes as much."""
    function, inputs = as_function(case.call, case.kind)
    if constant(function, inputs):
        return
    with ForwardLevel() as level:
        moved = {i for i, _ in inputs_of(case.call, case.values)}
        duals = [dual_of(level, v) if i in moved else v for i, v in enumerate(case.values)]
        expected = run(case.name, duals)
        target = duals[0]
        if (expected.shape, expected.dtype) != (target.shape, target.dtype):
            return
        written = target * 1
        called = (case.variant, case.name)
        message = f"{case.variant} gives another tangent than {case.name}"
        with blamed(case, "tangent in place", Part("tangent"), message, called=called):
            if run(case.variant, [written, *duals[1:]]) is not written:
                raise Mismatch(f"{case.variant} does not return its first argument")
            found, wanted = level.unpack(written)[1], level.unpack(expected)[1]
            close(written.numpy(), expected.numpy(), 1e-12, str(case), 0.0)
            close(found.numpy(), wanted.numpy(), 1e-9, str(case), 1e-12)


def dual_of(level: ForwardLevel, value: Any) -> Any:
    """A dual of a tensor, or of each of a list."""
    if isinstance(value, list):
        return [dual_of(level, v) for v in value]
    if not inexact(value):
        return value
    return level.make_dual(value, tengen.linspace(-1, 1, value.numel()).to(value.dtype).reshape(value.shape))


ASPECTS = (
    Aspect(
        "tangent",
        "tangents",
        check_tangent,
        smooth,
        undifferentiable,
        after=(
            "value",
            "views",
            "own memory",
        ),
    ),
    Aspect(
        "tangent of gradient",
        "tangents of gradients",
        check_tangent_of_gradient,
        smooth,
        undifferentiable,
        after=(
            "value",
            "gradient",
            "tangent",
            "second gradient",
        ),
    ),
    Aspect(
        "tangent in place",
        "tangents of in-place variants",
        check_in_place,
        in_place,
        undifferentiable,
        written_in_place,
        after=(
            "tangent",
            "in place",
        ),
    ),
)
