"""The declared references: what an operator's values are compared with, computed by NumPy alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Formula, Operator
from tengen.ir import expressions as ir

from . import declared
from .samples import Call


@functools.cache
def _scope() -> dict[str, Any]:
    import scipy
    import scipy.special

    return {**declared.reference_functions(), "np": np, "math": math, "scipy": scipy}


def no_reference(operator: Operator) -> str:
    """Why values cannot be compared with the reference's; "" where they can."""
    if not declared.deterministic(operator):
        return "its results are random"
    return "" if operator.reference is not None else "it declares no reference"


def reference(call: Call, kind: Any, wide: Any = None) -> Any:
    """What the declared reference gives for a call, computed of the same numbers in a wider NumPy dtype."""
    return reference_of(call.operator, call.arrays(kind), wide)


def reference_of(operator: Operator, values: Sequence[Any], wide: Any = None) -> Any:
    """What the declared reference gives for complete arguments, with arrays where tensors belong."""
    formula = operator.reference
    assert formula is not None
    names = {a.name: v for a, v in zip(operator.schema.arguments, values, strict=True)}
    if wide is not None:
        names = {n: _widened(v, wide) for n, v in names.items()}
    names |= {n: v.array_dtype for n, v in names.items() if isinstance(v, tengen.dtype)}
    with np.errstate(all="ignore"):
        return eval(formula.text, {**_scope(), **names})


def _widened(value: Any, wide: Any) -> Any:
    if isinstance(value, list):
        return [_widened(v, wide) for v in value]
    floating = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype(wide) if floating else value


def uncompared(name: str) -> str:
    """Why no value of an operator is compared with one that was got in another way; "" where some are.

    Those of an operator that is made beside another, or that writes in place what another gives, are
    compared through that one; those of a backward operator where the gradient that it gives is, if the values
    that this is a gradient of are.
    """
    operator = declared.declared_operators()[name]
    if operator.expected or not no_reference(operator):
        return ""
    through = declared.made_beside(operator) or str(declared.variants()[name].base)
    if through != name and through in declared.declared_operators():
        return uncompared(through)
    if not declared.has_values(operator):
        return "its results have no values"
    return "" if is_a_gradient(name) else no_reference(operator)


def is_a_gradient(name: str) -> bool:
    """Whether what an operator gives is, as it is, a gradient that is compared with differences."""
    function = name.partition(".")[0].rpartition("::")[2]
    operators = declared.declared_operators()
    callers = [n for n in declared.gradient_callers().get(function, ()) if not no_reference(operators[n])]
    entries = [declared.derivative_of(n) for n in callers]
    return any(nothing_but(f, function) for e in entries if e is not None for f in e.gradients.values())


def nothing_but(formula: Formula, function: str) -> bool:
    """Whether a formula is a call of a function with what the formula is given, as it is."""
    match formula.tree:
        case ir.Call(ir.Name(name), arguments, keywords) if name == function:
            return all(isinstance(a, ir.Name) for a in [*arguments, *(k.value for k in keywords)])
    return False
