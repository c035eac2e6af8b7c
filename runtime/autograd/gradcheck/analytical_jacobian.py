"""Jacobians by automatic differentiation, row by row, for ``gradcheck``."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from .. import grad
from ..saved_variable import alias
from . import GradcheckError
from .numerical_jacobian import Array, Aspect, Problem, is_complex, like, tensors, units, values_of

_NONDETERMINISTIC = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
    "different values, although analytical gradient matches numerical gradient. The tolerance for "
    "nondeterminism was {}.\n\nIf the function relies on an operation that is not deterministic, this may be "
    "expected: call gradcheck/gradgradcheck with `nondet_tol=<tol>`."
)


# -- reverse mode --------------------------------------------------------------------------


def gradients(problem: Problem, output: Any, grad_output: Any, check_dtypes: bool) -> list[Array]:
    """The gradients of the variables, flat; zeros for one that the output does not depend on."""
    variables = problem.variables
    found = grad(output, variables, grad_output, retain_graph=True, allow_unused=True)
    pairs = zip(variables, found, strict=True)
    return [zeros_of(x) if g is None else _fitting(x, g, check_dtypes) for x, g in pairs]


def _fitting(variable: Any, gradient: Any, check_dtypes: bool) -> Array:
    """The numbers of a gradient; GradcheckError when it is not like its variable."""
    if gradient._array.shape != variable._array.shape:
        raise GradcheckError(
            f"Analytical gradient has incorrect size: {list(gradient._array.shape)} is not "
            f"{list(variable._array.shape)}"
        )
    if check_dtypes and gradient._type.scalar_type is not variable._type.scalar_type:
        raise GradcheckError(
            f"Gradient has dtype mismatch: {gradient._type.scalar_type} is not {variable._type.scalar_type}"
        )
    return np.reshape(values_of(gradient), -1)


def zeros_of(variable: Any) -> Array:
    """The gradient of what does not matter, flat."""
    return np.zeros(prod(variable._array.shape), np.complex128 if is_complex(variable) else np.float64)


def reverse_jacobian(
    problem: Problem, number: int, aspect: Aspect, nondet_tol: float, check_dtypes: bool
) -> list[Array]:
    """The Jacobians of one output: a matrix for each variable, a column for each of the output's numbers.

    Raises GradcheckError when computing them again gives others.
    """
    output = problem.outputs[number]
    seeds = [unit * aspect.seed(output) for _, unit in units(output._array.shape)]
    return _twice(problem, output, seeds, nondet_tol, check_dtypes)


def reverse_product(
    problem: Problem, number: int, along: Array, aspect: Aspect, nondet_tol: float, check_dtypes: bool
) -> list[Array]:
    """The products of one output's Jacobians with a vector like the output, flat."""
    output = problem.outputs[number]
    seed = np.reshape(along, output._array.shape) * aspect.seed(output)
    return [product[:, 0] for product in _twice(problem, output, [seed], nondet_tol, check_dtypes)]


def _twice(
    problem: Problem, output: Any, seeds: list[Array], nondet_tol: float, check_dtypes: bool
) -> list[Array]:
    """For each variable a matrix of its gradients for the seeds, computed twice and compared."""
    first, second = (_columns(problem, output, seeds, check_dtypes) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        if a.size and np.max(np.abs(a - b)) > nondet_tol:
            raise GradcheckError(_NONDETERMINISTIC.format(nondet_tol))
    return first


def _columns(problem: Problem, output: Any, seeds: list[Array], check_dtypes: bool) -> list[Array]:
    columns = [gradients(problem, output, like(output, seed), check_dtypes) for seed in seeds]
    if not columns:
        return [zeros_of(x)[:, None][:, :0] for x in problem.variables]
    return [np.stack(c, axis=1) for c in zip(*columns, strict=True)]


# -- forward mode --------------------------------------------------------------------------


def forward_jacobian(problem: Problem, number: int, aspect: Aspect, check_dtypes: bool) -> list[Array]:
    """The Jacobians with respect to one variable: a matrix for each output, a row for each of its numbers."""
    shape = problem.variables[number]._array.shape
    rows = [forward_product(problem, number, unit, aspect, check_dtypes) for _, unit in units(shape)]
    if not rows:
        return [np.zeros((0, prod(out._array.shape))) for out in problem.outputs]
    return [np.stack(r) for r in zip(*rows, strict=True)]


def forward_product(
    problem: Problem, number: int, along: Array, aspect: Aspect, check_dtypes: bool
) -> list[Array]:
    """The tangents of the outputs, flat, where one variable moves along a real array."""
    from .. import forward_ad

    tangents = [np.zeros(x._array.shape) for x in problem.variables]
    tangents[number] = np.reshape(along, tangents[number].shape) * aspect.tangent(problem.variables[number])
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(alias(x, None), like(x, t))
            for x, t in zip(problem.variables, tangents, strict=True)
        ]
        return list(tangents_of(problem, replaced(problem, duals), check_dtypes))


def replaced(problem: Problem, variables: list[Any]) -> list[Any]:
    """The inputs with others in place of the variables."""
    inputs = list(problem.inputs)
    for position, variable in zip(problem.wanted, variables, strict=True):
        inputs[position] = variable
    return inputs


def tangents_of(problem: Problem, inputs: list[Any], check_dtypes: bool = False) -> Iterator[Array]:
    """The tangents of the outputs for dual inputs, flat."""
    from .. import forward_ad

    results = tensors(problem.function(*inputs))
    for number in problem.kept:
        primal, tangent = forward_ad.unpack_dual(results[number])
        if tangent is None:
            yield zeros_of(primal)
            continue
        if check_dtypes and is_complex(primal) is not is_complex(tangent):
            raise GradcheckError(
                f"Forward AD gradient has dtype mismatch: that of output {number} is of "
                f"{tangent._type.scalar_type}, the output of {primal._type.scalar_type}."
            )
        yield np.reshape(values_of(tangent), -1)
