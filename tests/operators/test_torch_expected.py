"""What is declared of single inputs is what PyTorch gives there: results, gradients and tangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.codegen.model.operators import Operator
from tengen.codegen.parse.formula import result_names
from tengen.testing.aspects import Case, aspects
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import declared_operators
from tengen.testing.expectations import array_of, differentiable, expected_cases, expected_of

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle


def compared(operator: Operator) -> bool:
    """Whether PyTorch has the operator, and it is not declared to differ."""
    return side.same_schema(operator) and not {"nonfinite", "gradient"} & set(operator.differs)


OPERATORS = [n for n in aspects()["expected"].operators() if compared(declared_operators()[n])]


@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_expected_is_pytorchs(name: str) -> None:
    for case in expected_cases(name):
        allowed = max(1e-8, tolerance(case.operator, case.kind))
        expected = expected_of(case)
        results = dict(zip(result_names(case.operator.schema.returns), evaluated(case), strict=True))
        for result, values in expected.results.items():
            close(side.to_array(results[result]).astype(np.float64), array_of(values), allowed, result)
        for argument, found in gradients(case).items():
            close(found, array_of(expected.gradients[argument]), allowed, argument)
        for argument, values in expected.tangents.items():
            wanted = array_of(values)
            moves = [moved(case, argument, index) for index in np.ndindex(*wanted.shape)]
            close(np.reshape(moves, wanted.shape), wanted, allowed, argument)


def evaluated(case: Case) -> list[Any]:
    """PyTorch's results."""
    tensors = case.call.tensors(case.kind, make=side.from_array)
    return list(side.flat(side.run(case.operator, tensors)))


def gradients(case: Case) -> dict[str, Any]:
    """PyTorch's gradients of the sum of the results; none where it has no derivative."""
    values = case.call.tensors(case.kind, make=side.from_array)
    inputs = {name: values[place].requires_grad_() for name, place in differentiable(case).items()}
    results = [r for r in side.flat(side.run(case.operator, values)) if r.requires_grad]
    if not results:
        return {name: np.zeros(tuple(t.shape)) for name, t in inputs.items()}
    seeds = [torch.ones_like(r) for r in results]
    try:
        found = torch.autograd.grad(
            results, list(inputs.values()), seeds, allow_unused=True, materialize_grads=True
        )
    except RuntimeError as error:
        if "derivative for" in str(error) and "is not implemented" in str(error):
            return {}
        raise
    return {name: side.to_array(g) for name, g in zip(inputs, found, strict=True)}


def moved(case: Case, argument: str, index: tuple[int, ...]) -> float:
    """As ``expectations.moved``, by PyTorch."""
    values = case.call.tensors(case.kind, make=side.from_array)
    place = differentiable(case)[argument]
    along = torch.zeros_like(values[place])
    along[index] = 1.0
    with torch.autograd.forward_ad.dual_level():
        values[place] = torch.autograd.forward_ad.make_dual(values[place], along)
        results = side.flat(side.run(case.operator, values))
        tangents = [torch.autograd.forward_ad.unpack_dual(r).tangent for r in results]
    arrays = [side.to_array(t) for t in tangents if t is not None]
    alone = case.operator.tags & {"pointwise", "elementwise"}
    return float(sum(a[index] if alone and a.shape == tuple(along.shape) else a.sum() for a in arrays))
