"""What is declared of single inputs: ties, corners, NaN and infinities, where differences say nothing.

The results, the gradients of the sum of the results, and the tangents, which must be of the same linear map.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Nested, Operator
from tengen.codegen.parse.formula import result_names

from ..autograd.forward.forward_grad import ForwardLevel
from . import declared
from .aspects import Aspect, Case, kernel
from .closeness import close, tolerance
from .declared import flat, run
from .failure import Mismatch, Part, blamed
from .samples import Array

CALLED = ("computed", "declared")


def unexpected(operator: Operator) -> str:
    """Why an operator has no such values."""
    return "" if operator.expected else "it declares no values of single inputs"


def undifferentiated(operator: Operator) -> str:
    """Why it has no such gradients."""
    given = any(e.gradients for e in operator.expected)
    return "" if given else "it declares no gradients of single inputs"


def expected_cases(name: str) -> Iterator[Case]:
    """The samples for which values are declared, in float64 or what they are for."""
    for call in declared.expected_calls(name):
        yield Case(call, declared.working_dtypes(call)[0])


def expected_of(case: Case) -> Any:
    """What is declared of a case."""
    texts = {str(e.sample.source.value): e for e in case.operator.expected}
    return texts[case.call.text]


def array_of(values: Nested) -> Array:
    """Nested numbers as an array."""
    return np.array(values, dtype=np.float64)


def check_results(case: Case) -> None:
    """The results are those that are declared."""
    results = dict(
        zip(result_names(case.operator.schema.returns), flat(run(case.name, case.values)), strict=True)
    )
    for name, values in expected_of(case).results.items():
        message = f"{case.name} does not give what is declared of this input"
        with blamed(case, "expected", kernel(), message, called=CALLED):
            found = results[name].detach().numpy()
            close(found.astype(np.float64), array_of(values), tolerance(case.operator, case.kind), name)


def differentiable(case: Case) -> dict[str, int]:
    """The arguments whose gradients are declared, with their places."""
    places = {a.name: i for i, a in enumerate(case.call.arguments)}
    return {name: places[name] for name in expected_of(case).gradients}


def summed(results: Any) -> list[Any]:
    """The results that have a derivative."""
    return [r for r in flat(results) if r.requires_grad]


def check_gradients(case: Case) -> None:
    """The gradients of the sum of the results are those that are declared."""
    values = case.values
    inputs = {name: values[place].requires_grad_() for name, place in differentiable(case).items()}
    if not inputs:
        return  # of this sample the results alone are declared
    results = summed(run(case.name, values))
    seeds = [tengen.ones_like(r) for r in results]
    found = tengen.autograd.grad(
        results, list(inputs.values()), seeds, allow_unused=True, materialize_grads=True
    )
    for (name, wanted), gradient in zip(expected_of(case).gradients.items(), found, strict=True):
        message = f"the gradient of {case.name} for {name} is not the one that is declared of this input"
        with blamed(case, "expected gradient", Part("gradient", name), message, called=CALLED):
            close(gradient.numpy(), array_of(wanted), tolerance(case.operator, case.kind), name)


def check_tangents(case: Case) -> None:
    """Moving one number of one input moves the results by what is declared: by what its gradient says.

    Where a gradient is not finite this says little: a zero tangent of another input is multiplied by it.
    """
    declared_here = expected_of(case)
    gradients = [array_of(g) for g in declared_here.gradients.values()]
    shapes = {g.shape for g in gradients}
    elsewhere = np.all([np.isfinite(g) for g in gradients], axis=0) if len(shapes) == 1 else True
    for name, place in differentiable(case).items():
        other = declared_here.tangents.get(name)
        wanted = array_of(declared_here.gradients[name] if other is None else other)
        compared = np.isfinite(wanted) & elsewhere if other is None else np.ones(wanted.shape, bool)
        message = f"the tangent of {case.name} for {name} is not what is declared of this input"
        with blamed(case, "expected tangent", Part("tangent"), message, called=CALLED):
            found = np.array([moved(case, place, index) for index in np.ndindex(*wanted.shape)])
            found = found.reshape(wanted.shape)
            close(found[compared], wanted[compared], tolerance(case.operator, case.kind), name)
            if np.any(np.isfinite(found[~np.isfinite(wanted)])):
                raise Mismatch(
                    "one is finite where the gradient is not", got=str(found), expected=str(wanted)
                )


def moved(case: Case, place: int, index: tuple[int, ...]) -> float:
    """What the sum of the results moves by with one number of an input.

    Of results of the input's shape only the one beside that number is looked at where others are NaN: of an
    elementwise operator these are zero times an infinite derivative.
    """
    values = case.values
    along = np.zeros(tuple(values[place].shape))
    along[index] = 1.0
    with ForwardLevel() as level:
        values[place] = level.make_dual(values[place], tengen.from_numpy(along))
        results = flat(run(case.name, values))
        tangents = [level.unpack(r)[1] for r in results]
    arrays = [t.numpy() for t in tangents if t is not None]
    alone = case.operator.tags & {"pointwise", "elementwise"}
    return float(sum(a[index] if alone and a.shape == along.shape else a.sum() for a in arrays))


ASPECTS = (
    Aspect(
        "expected",
        "declared values of single inputs",
        check_results,
        expected_cases,
        unexpected,
        after=("value",),
    ),
    Aspect(
        "expected gradient",
        "declared gradients of single inputs",
        check_gradients,
        expected_cases,
        undifferentiated,
        after=("value", "expected", "gradient"),
    ),
    Aspect(
        "expected tangent",
        "tangents of single inputs",
        check_tangents,
        expected_cases,
        undifferentiated,
        after=("value", "expected", "gradient", "tangent", "expected gradient"),
    ),
)
