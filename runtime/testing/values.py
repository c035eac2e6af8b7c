"""Values: against the declared reference, for any layout, without a change of the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..core.operands import tensors_in
from . import declared
from .aspects import Aspect, Case, in_first_dtype, in_working_dtypes, kernel, random
from .closeness import close, tolerance
from .declared import determined, flat, run
from .failure import Mismatch, Part, blamed, failure, in_short
from .reference import no_reference, reference
from .samples import expanded, repeated, strided


def check_value(case: Case) -> None:
    """The operator gives what its reference gives, in values and kind of dtype."""
    name, what = case.name, str(case)
    found = run(name, case.values)
    expected = expected_of(case)
    message = f"the kernel of {name} gives other values than its reference"
    called = ("kernel", "reference")
    with blamed(case, "value", kernel(), message, called=called, doubtful=(Part("reference"),)):
        compare_with_reference(found, expected, tolerance(case.operator, case.kind), what)


def expected_of(case: Case) -> Any:
    """What the reference gives. Where it fails for this sample alone, the sample may be the wrong one."""
    try:
        return reference(case.call, case.kind)
    except Exception as error:
        text = in_short(error)
        message = f"the reference of {case.name} cannot be computed"
        part = Part("reference")
        doubtful: tuple[Part, ...] = ()
        if any(other_computes(c, case) for c in declared.calls(case.name)):
            part, doubtful = Part("sample", case.call.text), (part,)
            message = f"{message} of this sample, as it can of others"
        raise failure(case, "value", part, f"{message}: {text}", doubtful=doubtful) from error


def other_computes(call: Any, case: Case) -> bool:
    """Whether the reference can be computed of another call, in a dtype that this has."""
    if call.text == case.call.text:
        return False
    try:
        reference(call, declared.working_dtypes(call)[0])
    except Exception:
        return False
    return True


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
    before = [t.detach().numpy().copy() for t in tensors_in(values)]
    run(case.name, values)
    with blamed(case, "inputs", kernel(), f"the kernel of {case.name} changes its inputs"):
        for t, e in zip(tensors_in(values), before, strict=True):
            close(t.detach().numpy(), e, 0.0, str(case))
            if t._version != 0:
                raise Mismatch(f"{case}: a write was counted")


ASPECTS = (
    # What changes its inputs gives other values the second time: this tells more than that.
    Aspect("inputs", "that inputs are left alone", check_inputs, in_first_dtype, changing),
    Aspect(
        "value",
        "values against the reference",
        check_value,
        in_working_dtypes,
        no_reference,
        after=("inputs",),
    ),
    Aspect(
        "layout", "inputs that are not contiguous", check_layout, in_first_dtype, unordered, after=("value",)
    ),
)
