"""Derivatives where differences of values say nothing: at ties, at NaN and infinities, of empty tensors.

Nothing is declared for these: reverse and forward mode have formulas of their own, which must be of one
linear map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..autograd.forward.forward_grad import ForwardLevel
from . import declared, sizes
from .aspects import Aspect, Case
from .closeness import close, tolerance
from .declared import flat, run
from .differentiable import as_function, inputs_of, kinds
from .failure import Mismatch, Part, blamed
from .gradients import excused, undifferentiable
from .numeric import Function, directions, inner, leaves
from .samples import Fixed, Random
from .tangents import has_no_derivative

CALLED = ("forward", "reverse")
#: What is at the ends of the domains of elementwise operators, and where their branches meet.
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.5, 3.0, -3.0, 6.0, 100.0)
#: Derivatives as great as this are of matrices that are singular but for rounding: their digits are errors.
SINGULAR = 1e12
#: Numbers of which many are equal: zeros, ones, signs, halves.
FEW = ((0.0,), (1.0,), (-1.0, 0.0, 1.0), (-0.5, 0.5, 1.5))


class Map:
    """The derivative of a function at a point along random directions, in both modes."""

    def __init__(self, function: Function, inputs: Sequence[Any]) -> None:
        rng = np.random.default_rng(0)
        self.inputs = leaves(inputs)
        recorded = function(*self.inputs)
        self.results = [r for r in recorded if r.requires_grad]
        self.seeds, self.along = directions(self.results, rng), directions(self.inputs, rng)
        self.gradients: list[Any] = [None] * len(self.inputs)
        if self.results:
            found = tengen.autograd.grad(self.results, self.inputs, self.seeds, allow_unused=True)
            self.gradients = list(found)
        with ForwardLevel() as level:
            duals = [level.make_dual(t.detach(), u) for t, u in zip(self.inputs, self.along, strict=True)]
            pairs = zip(function(*duals), recorded, strict=True)
            self.tangents = [level.unpack(d)[1] for d, r in pairs if r.requires_grad]

    def finite(self) -> bool:
        """Whether there are derivatives, and these and the results are neither NaN nor too great."""
        tensors = [t for t in [*self.results, *self.gradients, *self.tangents] if t is not None]
        return bool(self.results) and all((np.abs(t.detach().numpy()) < SINGULAR).all() for t in tensors)

    def check(self, operator: Operator) -> None:
        """Mismatch unless the modes agree.

        To a part of the greatest of the products of norms that bound the sums, and of what bounds them where
        the derivative is of norm 1: its terms may cancel.
        """
        forward, reverse = inner(self.seeds, self.tangents), inner(self.gradients, self.along)
        pairs = (self.seeds, self.tangents), (self.gradients, self.along), (self.seeds, self.along)
        size = max(norm(a) * norm(b) for a, b in pairs)
        allowed = tolerance(operator, *{t.dtype for t in [*self.results, *self.inputs]})
        close(np.array(forward), np.array(reverse), allowed, "the modes differ", allowed * size)


def norm(tensors: Sequence[Any]) -> float:
    """The square root of the sum of the squares of all elements; None counts as zero."""
    return float(np.sqrt(inner(tensors, tensors)))


def derivative_of(case: Case) -> Map | None:
    """The derivative at a case's inputs; None where it is said that there is none."""
    function, inputs = as_function(case.call, case.kind)
    try:
        return Map(function, inputs)
    except Exception as error:
        if excused(case, error) or has_no_derivative(case, error) or "not differentiable" in str(error):
            return None
        raise


# -- of nothing --------------------------------------------------------------------------------


def empty_cases(name: str) -> Iterator[Case]:
    """The calls of an operator with each of their sizes in turn 0, where it takes such tensors."""
    for call in declared.calls(name):
        for kind in kinds(call)[:1]:
            for size in () if call.hand_picked else sizes.sizes_of(call):
                found = sizes.first_working(sizes.grown(call, {size: 0}), kind)
                if found is not None:
                    yield Case(found, kind)


def check_empty(case: Case) -> None:
    """Gradients have the shapes and dtypes of their inputs, tangents those of results; nothing gives 0."""
    aspect, text = "empty derivative", f"of {case.name} of nothing"
    with blamed(case, aspect, Part("gradient"), f"the derivative {text} fails"):
        found = derivative_of(case)
    if found is None:
        return
    with blamed(case, aspect, Part("gradient"), f"the gradient {text} is wrong"):
        same_kind(found.gradients, found.inputs)
        nothing = not any(r.numel() for r in found.results)
        if nothing and any(np.any(g.numpy()) for g in found.gradients if g is not None):
            raise Mismatch("no result depends on an input, but its gradient is not zero")
    with blamed(case, aspect, Part("tangent"), f"the tangent {text} is wrong", called=CALLED):
        same_kind(found.tangents, found.results)
        if found.finite():
            found.check(case.operator)


def same_kind(found: Sequence[Any], like: Sequence[Any]) -> None:
    """Mismatch unless tensors have the shapes and dtypes of others; None stands for zeros."""
    for t, e in zip(found, like, strict=True):
        if t is not None and (t.shape, t.dtype) != (e.shape, e.dtype):
            got, expected = (f"{tuple(x.shape)} in {x.dtype}" for x in (t, e))
            raise Mismatch("it is of another shape or dtype", got=got, expected=expected)


def follows(operator: Operator) -> str:
    """Why an operator is not given other sizes, or numbers, than its samples."""
    if operator.name.base.endswith("_backward"):
        return "what it is given must be of a forward operator"
    return undifferentiable(operator)


# -- ties --------------------------------------------------------------------------------------


def tied_cases(name: str) -> Iterator[Case]:
    """The calls of an operator with few different numbers in place of random ones, where it takes them."""
    for call in declared.calls(name):
        for kind in kinds(call)[:1]:
            for numbers in () if call.hand_picked else FEW:
                values = tuple([filled(v, numbers) for v in call.values])
                found = replace(call, text=f"{call.text} of {numbers}", values=values)
                if sizes.works(found, kind):
                    yield Case(found, kind)


def filled(value: Any, numbers: Sequence[float]) -> Any:
    """A value of a call with a choice of these numbers in place of random ones."""
    if isinstance(value, list):
        return [filled(v, numbers) for v in value]
    if not isinstance(value, Random) or value.form not in ("plain", "distinct"):
        return value
    chosen = np.random.default_rng(value.seed).choice(numbers, value.shape)
    return Fixed(np.asarray(chosen), follows=True)


def check_tied(case: Case) -> None:
    """The tangents are of the same linear map as the gradients, wherever both are finite."""
    found = derivative_of(case)
    if found is None or not found.finite():
        return
    message = f"forward and reverse mode of {case.name} differ where numbers are equal"
    with blamed(case, "derivative at ties", Part("tangent"), message, called=CALLED):
        found.check(case.operator)


def one_valued(operator: Operator) -> str:
    """Why forward and reverse mode are not compared at ties."""
    if "factorization" in operator.tags:
        return "its derivative is large where matrices are nearly singular"
    return follows(operator)


# -- NaN and infinities ------------------------------------------------------------------------


def special_cases(name: str) -> Iterator[Case]:
    """The first call of one or two random tensors alone, with every special number, or pair of them."""
    for call in declared.calls(name):
        places = [i for i, v in enumerate(call.values) if isinstance(v, Random)]
        alone = not any(isinstance(v, (Fixed, list)) for v in call.values)
        if not alone or tengen.float64 not in kinds(call) or len(places) not in (1, 2):
            continue
        grid = np.meshgrid(*[SPECIAL] * len(places))
        values = list(call.values)
        for place, numbers in zip(places, grid, strict=True):
            values[place] = Fixed(numbers.ravel(), follows=True)
        found = replace(call, text=f"{call.text} of special numbers", values=tuple(values))
        if sizes.works(found, tengen.float64):
            yield Case(found, tengen.float64)
            return


def check_special(case: Case) -> None:
    """The tangent of each element is its gradient: the same number, or not finite either."""
    apart = {name for e in case.operator.expected for name in e.tangents}
    values = case.values
    given = [i for i, _ in inputs_of(case.call, values)]
    for place in given:
        name = case.call.arguments[place].name
        if name in apart:
            continue
        gradient, tangent = both(case, place)
        message = f"the tangent of {case.name} for {name} is not its gradient at a special number"
        with blamed(case, "derivative at special numbers", Part("tangent"), message, called=CALLED):
            finite = np.isfinite(gradient)
            bad = finite != np.isfinite(tangent)
            if declared.derivative_of(case.name) is None:  # no author could mend what the generator made
                bad &= _of_numbers(values)
                finite &= np.isfinite(tangent)
            where = np.flatnonzero(bad)
            if where.size:
                at = [float(v.detach().numpy()[where[0]]) for v in values if v.__class__ is tengen.Tensor]
                raise Mismatch(
                    f"one of them is not finite at {at}",
                    got=str(tangent[where[0]]),
                    expected=str(gradient[where[0]]),
                )
            close(tangent[finite], gradient[finite], 1e-9, name)


def _of_numbers(values: Sequence[Any]) -> Any:
    """Where no element of any tensor is NaN or infinite."""
    return np.all([np.isfinite(v.detach().numpy()) for v in values if v.__class__ is tengen.Tensor], axis=0)


def both(case: Case, place: int) -> tuple[Any, Any]:
    """The gradient of the sum of the results for one input, and their tangent along ones of it."""
    values = case.values
    leaf = values[place].requires_grad_()
    (result,) = flat(run(case.name, values))
    (gradient,) = (
        tengen.autograd.grad([result], [leaf], [tengen.ones_like(result)], materialize_grads=True)
        if result.requires_grad
        else (tengen.zeros_like(leaf),)
    )
    values = case.values
    with ForwardLevel() as level:
        values[place] = level.make_dual(values[place], tengen.ones_like(values[place]))
        (result,) = flat(run(case.name, values))
        tangent = level.unpack(result)[1]
    return gradient.numpy(), (tengen.zeros_like(result) if tangent is None else tangent).numpy()


def not_elementwise(operator: Operator) -> str:
    """Why the elements of gradients and tangents are not compared one by one."""
    if not operator.tags & {"pointwise", "elementwise"} or operator.is_composite:
        return "it has no derivative of its own, element by element"
    return "it has several results" if len(operator.schema.returns) > 1 else follows(operator)


ASPECTS = (
    Aspect(
        "empty derivative",
        "derivatives of empty tensors",
        check_empty,
        empty_cases,
        follows,
        after=("value", "gradient", "tangent"),
    ),
    Aspect(
        "derivative at ties",
        "tangents and gradients at ties",
        check_tied,
        tied_cases,
        one_valued,
        after=("value", "gradient", "tangent", "expected gradient", "expected tangent"),
    ),
    Aspect(
        "derivative at special numbers",
        "tangents and gradients at NaN and infinities",
        check_special,
        special_cases,
        not_elementwise,
        after=("value", "gradient", "tangent", "expected gradient", "expected tangent"),
    ),
)
