"""Where a derivative that is wrong is wrong: by which input, of which result, by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tengen

from ..autograd.gradcheck.numerical_jacobian import Aspect as Numbers, Problem, numerical_jacobian
from ..core.interception import Layer
from .closeness import differing
from .failure import Mismatch
from .numeric import STEP, Function

RTOL, ATOL = 1e-3, 1e-5  # as gradcheck's


@dataclass(frozen=True, slots=True)
class Jacobians:
    """The derivative of one output by one input, computed and by differences; a row per input number."""

    input: int
    output: int
    analytical: Any
    numerical: Any
    shapes: tuple[tuple[int, ...], tuple[int, ...]]  # of the input, and of the output

    @property
    def wrong(self) -> Any:
        """Which elements are wrong."""
        return ~np.isclose(self.analytical, self.numerical, rtol=RTOL, atol=ATOL, equal_nan=True)

    @property
    def size(self) -> float:
        """The largest error."""
        error = np.abs(self.analytical - self.numerical)
        return float(np.max(np.where(np.isnan(error), np.inf, error), initial=0.0, where=self.wrong))

    def _turned(self) -> tuple[Any, Any, Any]:
        """Both and what is wrong, by output, so that a row is a gradient."""
        return self.analytical.T, self.numerical.T, self.wrong.T

    def mismatch(self) -> Mismatch:
        """The difference, as values around the largest error: a piece of the gradient of one number."""
        return differing(*self._turned(), "the derivative")

    def where(self, output: str, input: str) -> str:
        """Which derivative the largest error is in, in words."""
        row = self.mismatch().index
        of = [int(i) for i in np.unravel_index(row[0], self.shapes[1])] if self.shapes[1] else []
        by = [int(i) for i in np.unravel_index(row[1], self.shapes[0])] if self.shapes[0] else []
        at = (f"{output}{of}" if of else output), (f"{input}{by}" if by else input)
        return f"in the derivative of {at[0]} by {at[1]}"


def reverse_errors(function: Function, points: Sequence[Any]) -> list[Jacobians]:
    """The Jacobians that reverse mode gives wrongly, the worst first."""
    found: list[Jacobians] = []
    results = tuple(function(*points))
    kept = tuple(i for i, r in enumerate(results) if r.requires_grad)
    problem = Problem(
        lambda *given: tuple(function(*given)), tuple(points), results, tuple(range(len(points))), kept
    )
    complex_results = any(results[k].is_complex() for k in kept)
    for part in ("real", "imaginary") if complex_results else ("real",):
        numbers = Numbers(False, part)
        numerical = [numerical_jacobian(problem, i, numbers, STEP) for i in range(len(points))]
        for place, output in enumerate(kept):
            if part == "imaginary" and not results[output].is_complex():
                continue
            for i, analytical in enumerate(_reverse(results[output], points, numbers)):
                shapes = tuple(points[i].shape), tuple(results[output].shape)
                each = Jacobians(i, output, analytical, numerical[i][place], shapes)
                if each.wrong.any():
                    found.append(each)
    return sorted(found, key=lambda j: -j.size)


def worst(found: Sequence[Jacobians], of: Callable[[Jacobians], int]) -> list[Jacobians]:
    """The first, and so the worst, of each kind."""
    kinds: dict[int, Jacobians] = {}
    for jacobians in found:
        kinds.setdefault(of(jacobians), jacobians)
    return list(kinds.values())


def _reverse(result: Any, points: Sequence[Any], numbers: Numbers) -> list[Any]:
    """The Jacobians of one result by reverse mode: a column for each of its numbers."""
    columns: list[list[Any]] = []
    for index in np.ndindex(*result.shape):
        seed = np.zeros(tuple(result.shape), np.complex128 if result.is_complex() else np.float64)
        seed[index] = numbers.seed(result)
        grads = tengen.autograd.grad(
            [result], list(points), [tengen.from_numpy(seed)], retain_graph=True, allow_unused=True
        )
        columns.append([_flat(g, p) for g, p in zip(grads, points, strict=True)])
    return [np.stack(c, axis=1) for c in zip(*columns, strict=True)]


def _flat(gradient: Any, point: Any) -> Any:
    if gradient is None:
        return np.zeros(point.numel())
    return np.asarray(gradient.detach().numpy()).reshape(-1)


class Called(Layer):
    """Notes the operators that are called, over Tensors also in a backward pass."""

    gradients = True

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        self.names[str(operator.base or operator.name)] = None
        return proceed(*arguments)


def called_by(function: Callable[[], Any]) -> tuple[str, ...]:
    """The operators that a function calls, as far as it comes; variants as the operators they are of."""
    layer = Called()
    try:
        with layer:
            function()
    except Exception:
        pass
    return tuple(layer.names)
