"""Derivatives by differences: how the results of a function move as its inputs do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...core.tensor_base import TensorBase
from ...dispatch.legacy_type_dispatch import type_of

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """A function at a point: what is differentiated."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    #: The results there, recorded.
    results: tuple[Any, ...]
    #: Which inputs, and which results, have a derivative.
    wanted: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def variables(self) -> list[Any]:
        """The inputs that have a derivative."""
        return [self.inputs[i] for i in self.wanted]

    @property
    def outputs(self) -> list[Any]:
        """The results that have a derivative."""
        return [self.results[i] for i in self.kept]


@dataclass(frozen=True, slots=True)
class Aspect:
    """What of complex numbers is looked at: a Jacobian is a matrix of derivatives along real lines.

    In reverse mode one part of complex results at a time, as it depends on both parts of an input: the
    conjugate Wirtinger derivative d/dx + 1j d/dy. In forward mode whole results, as they depend
    on one part of complex inputs. ``part`` is "real", "imaginary", or "" when no number is complex.
    """

    forward: bool
    part: str = ""

    def of_result(self, values: Array) -> Array:
        """What of a result is differentiated."""
        if self.forward or not np.iscomplexobj(values):
            return values
        return values.imag if self.part == "imaginary" else values.real

    def seed(self, result: Any) -> complex:
        """The gradient of the result that stands for 1 of ``of_result``."""
        return 1j if is_complex(result) and self.part == "imaginary" else 1.0

    def lines(self, variable: Any) -> list[tuple[complex, complex]]:
        """The directions in which an input's numbers move, with the factor of the derivative along each."""
        if not is_complex(variable):
            return [(1.0, 1.0)]
        if self.forward:
            return [(self.tangent(variable), 1.0)]
        return [(1.0, 1.0), (1j, 1j)]

    def tangent(self, variable: Any) -> complex:
        """The direction of an input's numbers in forward mode."""
        return 1j if is_complex(variable) and self.part == "imaginary" else 1.0


def is_complex(tensor: Any) -> bool:
    """Whether a Tensor's numbers are complex."""
    return bool(tensor._type.scalar_type.is_complex)


def values_of(tensor: Any) -> Array:
    """A Tensor's numbers in NumPy, copied, in double precision; all of them, where some are stored."""
    array, backend = tensor._array, tensor._type.backend
    array = backend.lib.to_numpy(array) if backend.is_strided else array.strided()
    return np.array(array, np.complex128 if is_complex(tensor) else np.float64)


def strided_type(T: Any) -> Any:
    """The Type of strided tensors of a Type's dtype and device."""
    backend = T.backend
    return T if backend.is_strided else type_of(T.scalar_type, backend.device, T.recording)


def like(tensor: Any, values: Array) -> Any:
    """A new Tensor of the dtype and the device of another one; strided, whatever that is."""
    T = strided_type(tensor._type)
    return T.wrap(T.backend.lib.from_numpy(np.asarray(values).astype(T.dtype)))


def as_tuple(given: Any) -> tuple[Any, ...]:
    """Inputs or results as a tuple."""
    return tuple(given) if isinstance(given, tuple | list) else (given,)


def tensors(results: Any) -> tuple[Any, ...]:
    """The results of a function; TypeError when there is one that is no Tensor."""
    found = as_tuple(results)
    for index, result in enumerate(found):
        if not isinstance(result, TensorBase):
            raise TypeError(
                "gradcheck: func must return a Tensor or a tuple of Tensors, but its result "
                f"{index} is of type {type(result).__name__}"
            )
    return found


def units(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The unit arrays of a shape in their order, each with the index of its one."""
    for index in np.ndindex(shape):
        unit = np.zeros(shape)
        unit[index] = 1.0
        yield index, unit


def numerical_jacobian(problem: Problem, position: int, aspect: Aspect, eps: float) -> list[Array]:
    """The Jacobians with respect to one input: a matrix for each output.

    It has a row for each number of the input, and a column for each of the output. That of a number which a
    sparse input does not store is zero: it does not move.
    """
    variable = problem.inputs[position]
    moving = set(element_numbers(variable).tolist())
    rows = [
        derivatives_along(problem, position, [u, u], aspect, eps, index=i) if number in moving else None
        for number, (i, u) in enumerate(units(variable._array.shape))
    ]
    there = next((row for row in rows if row is not None), None)
    if there is None:
        return [np.zeros((len(rows), prod(out._array.shape))) for out in problem.outputs]
    still = [np.zeros_like(column) for column in there]
    return [np.stack(columns) for columns in zip(*[row or still for row in rows], strict=True)]


def stored_everywhere(problem: Problem) -> Problem:
    """The same at inputs of which every element is stored, so that all of them move."""
    inputs = [
        _filled(x) if isinstance(x, TensorBase) and not x._type.backend.is_strided else x
        for x in problem.inputs
    ]
    return replace(problem, inputs=tuple(inputs))


def _filled(tensor: Any) -> Any:
    made = tensor._type.wrap(tensor._array.filled())
    made._requires_grad = tensor._requires_grad
    return made


def element_numbers(tensor: Any) -> Array:
    """Which elements of a Tensor are stored, by their numbers in C's order."""
    array = tensor._array
    if tensor._type.backend.is_strided:
        return np.arange(prod(array.shape))
    found: Array = array.element_numbers()
    return found


def stored_numbers(tensor: Any) -> tuple[Any, Any]:
    """The strided array of the numbers that a Tensor stores, and the library of such arrays."""
    T = tensor._type
    held = tensor._array if T.backend.is_strided else tensor._array.values
    return held, strided_type(T).backend.lib


def derivatives_along(
    problem: Problem,
    position: int,
    along: list[Array],
    aspect: Aspect,
    eps: float,
    index: tuple[int, ...] | None = None,
) -> list[Array]:
    """The derivative of each output, flat, as one input moves along real arrays of its shape.

    ``along`` has one for each line of the aspect. ``index`` tells messages which element moves.
    """
    lines = aspect.lines(problem.inputs[position])
    found: list[list[Array]] = []
    for (direction, factor), array in zip(lines, along, strict=False):
        behind, ahead = _nearby(problem, position, direction * array * eps, _perturbation(eps, index))
        pairs = zip(behind, ahead, strict=True)
        found.append([factor * np.ravel(aspect.of_result((b - a) / (2 * eps))) for a, b in pairs])
    return [np.sum(parts, axis=0) for parts in zip(*found, strict=True)]


def _perturbation(eps: float, index: tuple[int, ...] | None) -> str:
    return f"by {eps}" if index is None else f"on index {index} by {eps}"


def _nearby(problem: Problem, position: int, step: Array, how: str) -> tuple[list[Array], list[Array]]:
    """The outputs a step before and a step after the point."""
    variable = problem.inputs[position]
    array, lib = stored_numbers(variable)
    original = np.array(lib.to_numpy(array))
    wide = original.astype(np.complex128 if is_complex(variable) else np.float64)
    step = _step_of_stored(variable, step)
    try:
        lib.copyto(array, lib.from_numpy((wide - step).astype(original.dtype)))
        behind = _outputs(problem, how)
        lib.copyto(array, lib.from_numpy((wide + step).astype(original.dtype)))
        ahead = _outputs(problem, how)
    finally:
        lib.copyto(array, lib.from_numpy(original))
    return behind, ahead


def _step_of_stored(variable: Any, step: Array) -> Array:
    """A step of a Tensor's elements as one of the numbers that it stores."""
    if variable._type.backend.is_strided:
        return step
    shape = variable._array.values.shape
    places = element_numbers(variable)
    # Of the numbers that add up to an element one moves.
    first = np.unique(places, return_index=True)[1]
    moved = np.zeros(prod(shape), step.dtype)
    moved[first] = np.ravel(step)[places[first]]
    return np.reshape(moved, shape)


def _outputs(problem: Problem, how: str) -> list[Array]:
    """The outputs as they are now; AssertionError when they are not like those at the point."""
    results = tensors(problem.function(*problem.inputs))
    if len(results) != len(problem.results):
        raise AssertionError(
            f"Expected `func` to return as many outputs when inputs are perturbed {how}, but got: "
            f"{len(problem.results)} and {len(results)}."
        )
    for here, there in zip(problem.results, results, strict=True):
        if here._array.shape != there._array.shape:
            raise AssertionError(
                f"Expected `func` to return outputs with the same shape when inputs are perturbed {how}, but "
                f"got: shapes {list(here._array.shape)} and {list(there._array.shape)}."
            )
        if here._type.scalar_type is not there._type.scalar_type:
            raise AssertionError(
                f"Expected `func` to return outputs with the same dtype when inputs are perturbed {how}, but "
                f"got: dtypes {here._type.scalar_type} and {there._type.scalar_type}."
            )
    return [values_of(results[i]) for i in problem.kept]
