"""Of operators that are expressions: the derivatives that are derived say what the declared ones say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd.input_metadata import fit_tensor
from tengen.codegen.derive.differentiate import derivative_of
from tengen.codegen.derive.graph import Underivable
from tengen.codegen.derive.plan import Language
from tengen.codegen.model.operators import Derivative, Formula
from tengen.codegen.parse.formula import result_names
from tengen.formulas import losses, reduction
from tengen.generated import functions
from tengen.testing import declared
from tengen.testing.declared import calls, flat, operators, run
from tengen.testing.differentiable import as_function, differentiable_places, inputs_of, kinds, seed

DECLARATIONS = declared.declarations()
LANGUAGE = Language.of(DECLARATIONS)
DECLARED = {str(d.name): d for d in DECLARATIONS.derivatives}


def derivable(name: str) -> Derivative | None:
    """The derived entry of an operator that also has one by hand."""
    if name not in DECLARED:
        return None
    written = [f.text for f in DECLARED[name].gradients.values()]
    if not written or any("not_implemented" in text for text in written):
        return None
    try:
        return derivative_of(operators()[name], LANGUAGE)
    except Underivable:
        return None


DERIVED = {name: found for name in operators() if (found := derivable(name)) is not None}


def test_there_are_many() -> None:
    assert len(DERIVED) > 50


class Names(dict[str, Any]):
    """What formulas may name: values, and the functions of tengen."""

    def __missing__(self, name: str) -> Any:
        if name == "abs":
            return abs  # of numbers
        home = next((m for m in (reduction, losses, functions) if name in vars(m)), tengen)
        return getattr(home, name)


def value(formula: Formula, names: Names) -> Any:
    return eval(compile(formula.text, formula.text, "eval"), {"__builtins__": {}, "math": math}, names)


@pytest.mark.parametrize("name", DERIVED)
def test_derived_gradients(name: str) -> None:
    found = DERIVED[name]
    for call in calls(name):
        for kind in kinds(call):
            if call.hand_picked:
                continue
            function, inputs = as_function(call, kind)
            leaves = [t.detach().clone().requires_grad_() for t in inputs]
            if not leaves:
                continue
            results = function(*leaves)
            rng = np.random.default_rng(seed(call))
            grads = [tengen.tensor(rng.standard_normal(r.shape)).to(r.dtype) for r in results]
            expected = tengen.autograd.grad(results, leaves, grads, allow_unused=True, materialize_grads=True)
            every = flat(run(name, call.tensors(kind)))
            names = result_names(call.operator.schema.returns)
            known = dict(zip(names, [r.detach() for r in every], strict=True))
            named = [f"grad_{name}" if len(names) > 1 else "grad" for name in names]
            known |= {g: tengen.zeros_like(r) for g, r in zip(named, every, strict=True)}
            places = differentiable_places(call.operator) or range(len(results))
            known |= dict(zip([named[i] for i in places], grads, strict=True))
            compare(found, call, kind, known, [t.detach() for t in leaves], expected)


def compare(
    found: Derivative, call: Any, kind: Any, known: dict[str, Any], inputs: list[Any], expected: Any
) -> None:
    values = call.tensors(kind)
    names = Names({a.name: v for a, v in zip(call.arguments, values, strict=True)})
    differentiable = [call.arguments[i].name for i, _ in inputs_of(call, values)]
    names |= dict(zip(differentiable, inputs, strict=True))
    names |= known
    for part in found.shared:
        names[part.name] = value(part.formula, names)
    for name, gradient in zip(differentiable, expected, strict=True):
        got = value(found.gradients[name,], names)
        if operators()[str(found.name)].body is None:
            shapes = known["result"].shape, *[v.shape for v in values if isinstance(v, tengen.Tensor)]
            got = tengen.broadcast_to(got, tengen.broadcast_shapes(*shapes))
            got = fit_tensor(got, gradient.shape, gradient._type, None, 0)
        np.testing.assert_allclose(got.numpy(), gradient.numpy(), rtol=1e-9, atol=1e-9, err_msg=str(call))
