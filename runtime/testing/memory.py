"""That results and gradients have memory of their own, whatever the sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..core.operands import tensors_in
from . import declared
from .aspects import Aspect, Case, in_first_dtype
from .declared import flat, run
from .differentiable import as_function
from .failure import Mismatch, Part, blamed
from .gradients import excused, smooth, undifferentiable
from .numeric import leaves
from .sizes import works
from .special import of_one_element


def shares(operator: Operator) -> str:
    """Why an operator's results may share memory with its arguments."""
    if not declared.deterministic(operator):
        return "its results are random"
    may = operator.tags & {"shares_silently", "maybe_aliasing_or_mutating"}
    views = any(r.alias is not None for r in operator.schema.returns)
    return "its results may share memory" if may or views else ""


def of_all_sizes(name: str) -> Iterator[Case]:
    """The calls of an operator, and the same with tensors of one element, where it takes these."""
    for case in in_first_dtype(name):
        yield case
        for call in of_one_element(case.call):
            if works(call, case.kind):
                yield Case(call, case.kind)


def check_results(case: Case) -> None:
    """A result that is no view shares memory with no input, and with no other result."""
    values = case.values
    inputs = [t.numpy() for t in tensors_in(values)]
    results = [t.detach().numpy() for t in flat(run(case.name, values))]
    with blamed(case, "own memory", Part("alias"), f"{case.name} gives a view, and does not declare it"):
        if overlap(results, inputs):
            raise Mismatch("the result has the memory of an argument")
    with blamed(case, "own memory", Part("alias"), f"{case.name} gives the same memory twice"):
        if any(overlap(results[:i], [r]) for i, r in enumerate(results)):
            raise Mismatch("two results have the same memory")


def overlap(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether any array of the one kind shares memory with one of the other."""
    return any(np.shares_memory(a, b) for a in some for b in others)


def check_gradients(case: Case) -> None:
    """What backward() leaves in a leaf is no memory of the leaf, the gradient given, a result or a leaf's."""
    function, inputs = as_function(case.call, case.kind)
    points = leaves(inputs)
    results = [r for r in function(*points) if r.requires_grad]
    if not results:
        return
    seeds = [tengen.ones_like(r) for r in results]
    try:
        tengen.autograd.backward(results, seeds)
    except Exception as error:
        if not excused(case, error):
            raise
        return
    gradients = [p.grad.numpy() for p in points if p.grad is not None]
    others = [t.detach().numpy() for t in (*points, *results, *seeds)]
    with blamed(case, "own gradients", Part("gradient"), f"a gradient of {case.name} shares memory"):
        if overlap(gradients, others):
            raise Mismatch("it is that of an input, a result, or the gradient of one")
        if any(overlap(gradients[:i], [g]) for i, g in enumerate(gradients)):
            raise Mismatch("two inputs have the same gradient")


def two(name: str) -> list[Case]:
    """The first two of the calls with a derivative."""
    return smooth(name)[:2]


ASPECTS = (
    Aspect("own memory", "that results are no views", check_results, of_all_sizes, shares),
    Aspect(
        "own gradients",
        "that gradients are nobody else's",
        check_gradients,
        two,
        undifferentiable,
        after=("gradient",),
    ),
)
