"""Values: against the declared reference, for any layout, without a change of the inputs."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model import Operator
from tengen.testing import declared
from tengen.testing.aspects import Aspect, Case, in_first_dtype, in_working_dtypes, kernel, random
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import determined, flat, run
from tengen.testing.failure import Mismatch, Part, blamed
from tengen.testing.samples import Call, expanded, repeated, strided


@functools.cache
def _scope() -> dict[str, Any]:
    import scipy
    import scipy.special

    return {**declared.reference_functions(), "np": np, "math": math, "scipy": scipy}


def reference(call: Call, kind: Any, wide: Any = None) -> Any:
    """What the declared reference gives for a call, computed of the same numbers in a wider NumPy dtype."""
    formula = call.operator.reference
    assert formula is not None
    names = {a.name: v for a, v in zip(call.arguments, call.arrays(kind), strict=True)}
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


def no_reference(operator: Operator) -> str:
    """Why values cannot be compared with the reference's."""
    if not declared.deterministic(operator):
        return "its results are random"
    return "" if operator.reference is not None else "it declares no reference"


def check_value(case: Case) -> None:
    """The operator gives what its reference gives, in values and kind of dtype."""
    name, what = case.name, str(case)
    found = run(name, case.values)
    with blamed(case, "value", Part("reference"), f"the reference of {name} cannot be computed"):
        expected = reference(case.call, case.kind)
    message = f"the kernel of {name} gives other values than its reference"
    called = ("kernel", "reference")
    with blamed(case, "value", kernel(), message, called=called, doubtful=(Part("reference"),)):
        compare_with_reference(found, expected, tolerance(case.operator, case.kind), what)


def compare_with_reference(found: Any, expected: Any, allowed: float, what: str) -> None:
    """A result and what was expected of it; None is not compared."""
    tensors = flat(found)
    if not tensors:
        if found != expected:
            raise Mismatch(f"{what}: {found} is not {expected}", got=str(found), expected=str(expected))
        return
    wanted = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    if len(tensors) != len(wanted):
        raise Mismatch(f"{what}: {len(tensors)} results, {len(wanted)} expected")
    for t, e in zip(tensors, wanted, strict=True):
        if e is None:
            continue
        array = t.detach().numpy()
        if array.dtype != t.dtype.array_dtype:
            raise Mismatch(f"{what} is called {t.dtype}, and is {array.dtype}")
        if array.dtype.kind != np.asarray(e).dtype.kind:
            raise Mismatch(f"{what}: the dtype {array.dtype} is not {np.asarray(e).dtype}")
        close(array, e, allowed, what)


def unordered(operator: Operator) -> str:
    """Why an operator is not tried with other strides."""
    if operator.factory is not None:
        return "it has no inputs"
    if "needs_exact_strides" in operator.tags:
        return "it is about strides"
    return random(operator)


def check_layout(case: Case) -> None:
    """Inputs that are not contiguous give the values that contiguous ones give."""
    operator, name = case.operator, case.name
    layouts = [("strided", tengen.from_numpy, strided), ("expanded", repeated, expanded)]
    for word, contiguous, other in layouts[:1] if declared.writes(operator) else layouts:
        try:
            plain = determined(operator, run(name, case.call.tensors(case.kind, make=contiguous)))
        except Exception:
            if word == "strided":
                raise
            continue  # rows that are alike may be bad input: of a singular matrix
        with blamed(case, "layout", kernel(), f"the kernel of {name} fails for inputs that are {word}"):
            spread = determined(operator, run(name, case.call.tensors(case.kind, make=other)))
        message = f"the kernel of {name} gives other values for inputs that are {word}"
        with blamed(case, "layout", kernel(), message, called=(word, "contiguous")):
            for a, b in zip(plain, spread, strict=True):
                if a.dtype is not b.dtype:
                    raise Mismatch(f"{case}: {b.dtype} is not {a.dtype}")
                close(b.detach().numpy(), a.detach().numpy(), 1e-9, str(case))


def changing(operator: Operator) -> str:
    """Why an operator's inputs are not watched."""
    if not declared.deterministic(operator):
        return "its results are random"
    return "it writes to an argument" if declared.writes(operator) else ""


def check_inputs(case: Case) -> None:
    """The inputs are as they were before."""
    values = case.values
    before = [t.detach().numpy().copy() for t in declared.tensors_in(values)]
    run(case.name, values)
    with blamed(case, "inputs", kernel(), f"the kernel of {case.name} changes its inputs"):
        for t, e in zip(declared.tensors_in(values), before, strict=True):
            close(t.detach().numpy(), e, 0.0, str(case))
            if t._version != 0:
                raise Mismatch(f"{case}: a write was counted")


ASPECTS = (
    Aspect("value", "values against the reference", check_value, in_working_dtypes, no_reference),
    Aspect(
        "layout", "inputs that are not contiguous", check_layout, in_first_dtype, unordered, after=("value",)
    ),
    Aspect("inputs", "that inputs are left alone", check_inputs, in_first_dtype, changing),
)
