"""NaN, infinities, zeros, and the ends of the integers in PyTorch, for every pointwise operator."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sides import TENGEN, Side

import tengen
from tengen.codegen.model.operators import Operator
from tengen.core.scalar_type import dtype
from tengen.testing import declared
from tengen.testing.aspects import Case, aspects
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import calls, operators, run
from tengen.testing.differentiable import inputs_of, recorded
from tengen.testing.edges import special_cases
from tengen.testing.samples import Array

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

KINDS = [tengen.float32, tengen.float64, tengen.int64, tengen.int8, tengen.uint8, tengen.bool]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.5, 3.0, 100.0]


def special(kind: dtype) -> Array:
    """Numbers at which operators are likely to differ."""
    if kind.is_floating_point:
        return np.array(FLOATS).astype(kind.array_dtype)
    if kind.category == "bool":
        return np.array([False, True])
    ends = np.iinfo(kind.array_dtype)
    chosen = {ends.min, ends.min + 1, ends.max, 0, 1, 2, 3, 7} | ({-1, -2, -7} if ends.min else set())
    return np.array(sorted(chosen), dtype=kind.array_dtype)


def tensors(operator: Operator) -> list[int]:
    """Where the arguments stand that are tensors and must be given; none unless all such are."""
    arguments = operator.schema.arguments
    required = [i for i, a in enumerate(arguments) if a.default is None]
    return required if all(arguments[i].is_tensor for i in required) else []


POINTWISE = [
    n
    for n, o in operators().items()
    if "pointwise" in o.tags
    and side.same_schema(o)
    and declared.deterministic(o)
    and not o.name.inplace
    and len(tensors(o)) in (1, 2)
]


@pytest.mark.parametrize("name", POINTWISE)
def test_special_numbers(name: str) -> None:
    """Every number, or every pair of them."""
    operator = operators()[name]
    differences = []
    for kind in KINDS:
        numbers = special(kind)
        if "overflow" in operator.differs and not kind.is_floating_point:
            numbers = numbers[np.abs(numbers.astype(object)) < 100]
        grid = [numbers] if len(tensors(operator)) == 1 else [numbers[:, None], numbers[None, :]]
        ours = side.outcome(run, name, arguments(name, grid, tengen.from_numpy))
        theirs = side.outcome(side.run, operator, arguments(name, grid, side.from_array))
        if side.failed(ours) or side.failed(theirs):
            if side.failed(ours) is not side.failed(theirs):
                differences.append(f"{kind}: {side.described(ours)}, but torch: {side.described(theirs)}")
            continue
        try:
            close(ours.numpy(), side.to_array(theirs), tolerance(operator, ours.dtype), str(kind))
        except AssertionError as error:
            differences.append(f"{error} of {numbers}")
    side.fail_for(differences, operator, "nonfinite")


#: It may end the process.
AT_THE_ENDS = """
import json
import torch
numbers = torch.tensor({0})
print(json.dumps(torch.ops.aten.{1}(numbers[:, None], numbers).tolist()))
"""


@pytest.mark.parametrize("name", [n for n in POINTWISE if "overflow" in operators()[n].differs])
def test_the_ends_of_the_integers(name: str) -> None:
    """A difference there is one. What tengen gives, the references say."""
    numbers = special(tengen.int64)
    program = AT_THE_ENDS.format(numbers.tolist(), name)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    grid = [tengen.from_numpy(numbers[:, None]), tengen.from_numpy(numbers)]
    assert found.returncode != 0 or json.loads(found.stdout) != run(name, grid).tolist()


#: The parts of complex numbers.
PARTS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5]


@pytest.mark.parametrize("name", POINTWISE)
def test_special_complex_numbers(name: str) -> None:
    """Every number of these parts, or every pair: the same values, and what is not finite is not so in both.

    Of a number that is not finite, which of its parts are infinite and which NaN is not compared.
    """
    operator = operators()[name]
    numbers = np.array([complex(a, b) for a in PARTS for b in PARTS])
    grid = [numbers] if len(tensors(operator)) == 1 else [numbers[:, None], numbers[None, :]]
    ours = side.outcome(run, name, arguments(name, grid, tengen.from_numpy))
    theirs = side.outcome(side.run, operator, arguments(name, grid, side.from_array))
    if side.failed(ours) or side.failed(theirs):
        return  # test_same_results looks at that
    found, expected = ours.numpy(), side.to_array(theirs)
    finite = np.isfinite(expected)
    try:
        close(np.isfinite(found), finite, 0.0, "finite")
        close(found[finite], expected[finite], tolerance(operator, ours.dtype), "complex128")
        differences = []
    except AssertionError as error:
        differences = [f"{error} of {numbers}"]
    side.fail_for(differences, operator, "complex_nonfinite")


def arguments(name: str, grid: list[Array], make: Any) -> list[Any]:
    """The operator's arguments: tensors of the grid, and the defaults."""
    operator = operators()[name]
    values = list(calls(name)[0].values)
    for i, a in enumerate(operator.schema.arguments):
        if a.default is not None:
            values[i] = declared.default(a)
    for i, array in zip(tensors(operator), grid, strict=True):
        values[i] = make(array.copy())
    return values


def real(name: str) -> bool:
    """Whether the operator computes in float64; a composite may."""
    has = declared.dtypes_of(operators()[name])
    return not has or tengen.float64 in has


def alike(name: str) -> bool:
    """Whether the operator's gradient is that of PyTorch, as far as is declared."""
    return "gradient" not in operators()[name].differs


@pytest.mark.parametrize("name", [n for n in POINTWISE if recorded(n) and real(n) and alike(n)])
def test_gradients_at_special_numbers(name: str) -> None:
    """The gradients at ties and corners, at NaN and infinities: wherever torch's value is finite."""
    operator = operators()[name]
    numbers = special(tengen.float64)
    one = len(tensors(operator)) == 1
    grid = [numbers] if one else [g.ravel() for g in np.meshgrid(numbers, numbers)]
    theirs = side.outcome(gradients, torch, side.from_array, side.run, operator, grid)
    if side.failed(theirs):
        return
    ours = gradients(tengen, tengen.from_numpy, lambda o, values: run(str(o.name), values), operator, grid)
    finite = np.isfinite(side.to_array(theirs[0]))
    where = [array[finite] for array in grid]
    for g, e in zip(ours[1], theirs[1], strict=True):
        assert (g is None) == (e is None)
        if g is not None:
            close(g.numpy()[finite], side.to_array(e)[finite], 1e-7, f"{name} at {where}")


WITH_NUMBERS = [
    n
    for n in aspects()["derivative at special numbers"].operators()
    if n not in POINTWISE and side.same_schema(operators()[n]) and alike(n)
]


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_gradients_at_special_numbers_beside_others(name: str) -> None:
    """The same of operators that take numbers or options, with those of a sample."""
    differences = []
    for case in special_cases(name):
        ours, theirs = (side.outcome(value_and_gradients, of, case) for of in (TENGEN, side.SIDE))
        if side.failed(theirs):
            continue  # PyTorch has no derivative
        finite = np.isfinite(theirs[0])
        try:
            for g, e in zip(ours, theirs, strict=True):
                close(g[finite], e[finite], 1e-7, f"{case}")
        except AssertionError as error:
            differences.append(str(error))
    side.fail_for(differences, operators()[name], "nonfinite")


def value_and_gradients(of: Side, case: Case) -> list[Array]:
    """The result of a case, and the gradients of its sum."""
    values = case.call.tensors(case.kind, make=of.make)
    inputs = [values[i].requires_grad_() for i, _ in inputs_of(case.call, case.values)]
    result = of.call(case.call, values)
    found = of.library.autograd.grad(
        [result], inputs, [of.library.ones_like(result)], materialize_grads=True, allow_unused=True
    )
    return [of.array(t.detach()) for t in (result, *found)]


def gradients(library: Any, make: Any, call: Any, operator: Operator, grid: list[Array]) -> Any:
    """The values on a grid, and the gradients of their sum."""
    values = arguments(str(operator.name), grid, make)
    inputs = [values[i].requires_grad_() for i in tensors(operator)]
    result = call(operator, values)
    if not result.requires_grad:
        return result, [None] * len(inputs)
    return result, library.autograd.grad([result], inputs, [library.ones_like(result)], allow_unused=True)
