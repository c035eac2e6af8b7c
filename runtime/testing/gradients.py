"""Gradients, and the gradients of gradients, against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..autograd.gradcheck import GradcheckError
from .aspects import Aspect, Case
from .closeness import close
from .diagnosis import called_by, reverse_errors, worst
from .differentiable import as_function, cases, inputs_of, nodes, recorded
from .failure import Failure, Mismatch, Part, blamed, failure, in_short
from .numeric import Function, check_gradient, check_second_gradient, leaves
from .samples import strided

CALLED = ("analytical", "numerical")


def undifferentiable(operator: Operator) -> str:
    """Why an operator's derivatives are not checked."""
    return "" if recorded(str(operator.name)) else "it has no derivative to check on random inputs"


def smooth(name: str) -> list[Case]:
    """The calls of an operator that have something to differentiate."""
    return [Case(call, kind) for call, kind in cases(name)]


def excused(case: Case, error: Exception) -> bool:
    """Whether a composite is made of an operator whose derivative is declared as missing."""
    text = str(error)
    missing = "derivative for " in text and "not implemented" in text
    return case.operator.is_composite and isinstance(error, RuntimeError) and missing


def variables(case: Case) -> list[str]:
    """The names of the arguments that the inputs of ``as_function`` are, in their order."""
    return [case.call.arguments[i].name for i, _ in inputs_of(case.call, case.values)]


def check_first(case: Case) -> None:
    """The gradient for each input against differences."""
    check_by(case, "gradient", check_gradient, wrong_gradients)


def check_by(case: Case, aspect: str, check: Callable[..., Any], wrong: Callable[..., Failure]) -> None:
    """Compare gradients with differences; ``wrong`` makes the Failure of those that are not the same."""
    function, inputs = as_function(case.call, case.kind)
    try:
        check(function, inputs)
    except (GradcheckError, AssertionError) as error:
        raise wrong(case, function, inputs, error) from None
    except Exception as error:
        if not excused(case, error):
            raise failing_gradient(case, aspect, function, inputs, error) from error


def wrong_gradients(case: Case, function: Function, inputs: Sequence[Any], error: Exception) -> Failure:
    """The Failure for the input whose gradient is wrong by most; those for the others are with it."""
    names = variables(case)
    found = []
    points = leaves(inputs)
    for wrong in worst(reverse_errors(function, points), lambda j: j.input):
        name = names[wrong.input]
        part = Part("gradient", name)
        message = f"the gradient of {case.name} for {name} is wrong"
        found.append(failure(case, "gradient", part, message, wrong.mismatch(), CALLED))
        found[-1].where = wrong.where(f"result {wrong.output}", name)
    if not found:
        found = [failure(case, "gradient", Part("gradient"), str(error).split("\n")[0])]
    found[0].more = found[1:]
    found[0].through = called_by(lambda: backward(function, points))
    return found[0]


def failing_gradient(
    case: Case, aspect: str, function: Function, inputs: Sequence[Any], error: Exception
) -> Failure:
    """The Failure where the gradient is an exception: of the first input whose gradient alone is one."""
    text = in_short(error)
    points = leaves(inputs)
    results = [r for r in function(*points) if r.requires_grad]
    for name, point in zip(variables(case), points, strict=True):
        try:
            seeds = [tengen.ones_like(r) for r in results]
            tengen.autograd.grad(results, [point], seeds, allow_unused=True, create_graph=True)
        except Exception:
            message = f"the gradient of {case.name} for {name} fails: {text}"
            made = failure(case, aspect, Part("gradient", name), message)
            break
    else:
        made = failure(case, aspect, Part("gradient"), f"the derivative of {case.name} fails: {text}")
    made.through = called_by(lambda: backward(function, points))
    return made


def backward(function: Function, points: Sequence[Any]) -> None:
    """A forward and backward pass over Tensors, so that the operators in it are seen."""
    results = [r for r in function(*points) if r.requires_grad]
    seeds = [tengen.ones_like(r) for r in results]
    tengen.autograd.grad(results, list(points), seeds, allow_unused=True, create_graph=True)


def check_second(case: Case) -> None:
    """The gradients' gradients against differences of the gradients."""
    check_by(case, "second gradient", check_second_gradient, wrong_second)


def wrong_second(case: Case, function: Function, inputs: Sequence[Any], error: Exception) -> Failure:
    """The Failure for the gradient formula that is not differentiated rightly."""
    names = variables(case)
    points = leaves(inputs)
    seeds = [tengen.ones_like(r).requires_grad_() if r.requires_grad else None for r in function(*points)]

    def gradients(*given: Any) -> list[Any]:
        results = function(*given[: len(points)])
        kept = [(r, s) for r, s in zip(results, seeds, strict=True) if s is not None]
        found = tengen.autograd.grad(
            [r for r, _ in kept], given[: len(points)], list(given[len(points) :]), create_graph=True,
            allow_unused=True,
        )  # fmt: skip
        return [tengen.zeros_like(p) if g is None else g for p, g in zip(given, found, strict=False)]

    everything = [*points, *(s for s in seeds if s is not None)]
    found: list[Failure] = []
    for wrong in worst(reverse_errors(gradients, everything), lambda j: j.output):
        name = names[wrong.output]
        by = names[wrong.input] if wrong.input < len(names) else "grad"
        message = f"the derivative of the gradient of {case.name} for {name} is wrong"
        part = Part("gradient", name)
        found.append(failure(case, "second gradient", part, message, wrong.mismatch(), CALLED))
        found[-1].where = wrong.where(f"the gradient for {name}", by)
    if not found:
        found = [failure(case, "second gradient", Part("gradient"), str(error).split("\n")[0])]
    found[0].through = called_by(lambda: backward(function, points))
    found[0].more = found[1:]
    return found[0]


def check_layout(case: Case) -> None:
    """Inputs and gradients that are not contiguous have the gradients that contiguous ones have."""
    function, inputs = as_function(case.call, case.kind)
    arrays = [t.detach().numpy() for t in inputs]
    try:
        plain = gradients_of(function, arrays, tengen.from_numpy)
    except Exception as error:
        if not excused(case, error):
            raise
        return
    with blamed(
        case, "layout of gradient", Part("gradient"), f"the gradient of {case.name} fails for strides"
    ):
        spread = gradients_of(function, arrays, strided)
    for name, a, b in zip(variables(case), plain, spread, strict=True) if plain else ():
        message = f"the gradient of {case.name} for {name} is another one for inputs that are not contiguous"
        part = Part("gradient", name)
        with blamed(case, "layout of gradient", part, message, called=("strided", "contiguous")):
            close(b.numpy(), a.numpy(), 1e-9, str(case))


def gradients_of(function: Function, arrays: Sequence[Any], make: Any) -> list[Any]:
    """The gradients at inputs that are made of arrays, along gradients that are made so too."""
    points = [make(a.copy()).requires_grad_() for a in arrays]
    results = [r for r in function(*points) if r.requires_grad]
    seeds = [make(np.cos(np.arange(r.numel())).reshape(tuple(r.shape))).to(r.dtype) for r in results]
    if not results:
        return []
    return list(tengen.autograd.grad(results, points, seeds, allow_unused=True, materialize_grads=True))


def unrecorded(operator: Operator) -> str:
    """Why results are not asked for their Node."""
    if str(operator.name) not in nodes():
        return "it has no derivative of its own"
    return undifferentiable(operator)


def check_recorded(case: Case) -> None:
    """A result that depends on a leaf requires gradients; under no_grad it does not."""
    function, inputs = as_function(case.call, case.kind)
    points = leaves(inputs)
    with blamed(case, "recorded", Part("gradient"), f"{case.name} records no Node"):
        if not all(r.requires_grad for r in function(*points)):
            raise Mismatch("a result of leaves that require gradients does not require them")
    with tengen.no_grad(), blamed(case, "recorded", Part("gradient"), f"{case.name} records under no_grad"):
        if any(r.requires_grad for r in function(*points)):
            raise Mismatch("a result requires gradients")


def without_exact_strides(operator: Operator) -> str:
    """Why gradients are not tried with other strides."""
    return "it is about strides" if "needs_exact_strides" in operator.tags else undifferentiable(operator)


def two_smooth(name: str) -> list[Case]:
    """The first two of the smooth cases."""
    return smooth(name)[:2]


ASPECTS = (
    Aspect("recorded", "that results are recorded", check_recorded, two_smooth, unrecorded),
    Aspect(
        "gradient",
        "gradients",
        check_first,
        smooth,
        undifferentiable,
        after=(
            "value",
            "views",
            "own memory",
        ),
    ),
    Aspect(
        "layout of gradient",
        "gradients of inputs that are not contiguous",
        check_layout,
        two_smooth,
        without_exact_strides,
        after=("layout", "gradient"),
    ),
    Aspect(
        "second gradient",
        "gradients of gradients",
        check_second,
        smooth,
        undifferentiable,
        after=(
            "value",
            "gradient",
        ),
    ),
)
