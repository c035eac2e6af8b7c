"""Whether the reference, or the dtypes that are claimed, are at fault where a kernel seems to be.

What decides is what other checks say: of two things that disagree a third agrees with one; a mistake that
only some dtypes show is one of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tengen

from . import declared
from .aspects import Case, kernel
from .calls import DERIVATIVES, functions_in, of_function, unjudged
from .failure import Failure, Part
from .numeric import STEP
from .reference import reference_of


@dataclass(frozen=True, slots=True)
class Looked:
    """A case that was checked in an aspect, and what was found."""

    aspect: str
    case: Case
    failure: Failure | None


# -- the reference -------------------------------------------------------------------------------


def reference_at_fault(name: str, looked: Sequence[Looked]) -> bool:
    """Whether kernel and derivative agree, and not with the reference: then failures are the reference's."""
    done, failed = ({e.aspect for e in looked if e.failure or every} for every in (True, False))
    if failed & set(DERIVATIVES) or not done & set(DERIVATIVES) or not independent(name):
        return False
    found = [e for e in looked if e.aspect == "value" and e.failure is not None and e.failure.doubtful]
    if not any(told_apart(e.case) for e in found):
        return False
    for each in found:
        assert each.failure is not None
        failure = each.failure
        failure.part, failure.doubtful = failure.doubtful[0], (failure.part,)
        failure.message = (
            f"the reference of {name} gives other values than its kernel, as its derivative does"
        )
    return bool(found)


def independent(name: str) -> bool:
    """Whether an operator's derivative is written down, by formulas of operators that have references.

    Not of the operator itself, which would give what its kernel gives; nor of one that only it is to judge.
    """
    found = declared.derivative_of(name)
    if found is None or not found.gradients:
        return False
    function = declared.declared_operators()[name].name.function
    called = {
        f for formula in [*found.gradients.values(), *found.jvps.values()] for f in functions_in(formula)
    }
    return function not in called and not any(unjudged(n) for f in called for n in of_function(f))


def told_apart(case: Case) -> bool:
    """Whether kernel and reference have different derivatives, so that a derivative tells which is right."""
    kind = case.kind
    if not kind.is_inexact:
        return False
    moved = [[_moved(v, sign * STEP) for v in case.call.arrays(kind)] for sign in (1, -1)]
    try:
        by_kernel = _difference([declared.run(case.name, _tensors(values)) for values in moved])
        by_reference = _difference([reference_of(case.operator, values) for values in moved])
    except Exception:
        return False
    return len(by_kernel) != len(by_reference) or not all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True)
        for a, b in zip(by_kernel, by_reference, strict=True)
    )


def _moved(value: Any, step: float) -> Any:
    if isinstance(value, list):
        return [_moved(v, step) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
        return value + step * np.cos(np.arange(value.size)).reshape(value.shape)
    return value


def _tensors(values: Sequence[Any]) -> list[Any]:
    made = [tengen.from_numpy(v) if isinstance(v, np.ndarray) else v for v in values]
    return [_tensors(v) if isinstance(v, list) else v for v in made]


def _difference(results: Sequence[Any]) -> list[Any]:
    """The derivatives of results along the direction of the step between two points."""
    after, before = ([*r] if isinstance(r, (list, tuple)) else [r] for r in results)
    pairs = [(a, b) for a, b in zip(after, before, strict=True) if a is not None]
    return [(_array(a) - _array(b)) / (2 * STEP) for a, b in pairs if _array(a).dtype.kind in "fc"]


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, tengen.Tensor) else np.asarray(value)


# -- the dtypes ----------------------------------------------------------------------------------


def dtypes_at_fault(name: str, looked: Sequence[Looked]) -> None:
    """Where a kernel is wrong in all of a category of dtypes, and right in the others, the claim is at fault.

    Of the kernel that remains a doubt: the dtypes may be meant.
    """
    if not declared.dtypes_of(declared.declared_operators()[name]):
        return
    for aspect in ("value", "dtypes", "integers"):
        by_category: dict[str, list[Looked]] = {}
        for each in looked:
            if each.aspect in (aspect, "value"):
                by_category.setdefault(category(each.case.kind), []).append(each)
        wrong = {c for c, cases in by_category.items() if all(e.failure is not None for e in cases)}
        right = sorted({e.case.kind.name for e in looked if e.aspect in (aspect, "value") and not e.failure})
        for each in looked:
            failure, kind = each.failure, each.case.kind
            of_kernel = each.aspect == aspect and failure is not None and failure.part == kernel()
            if failure is not None and of_kernel and category(kind) in wrong and right:
                failure.part, failure.doubtful = Part("dtypes", kind.name), (kernel(),)
                failure.message += f" in {kind.name}, which its dtypes claim; it is right in {right[0]}"


def category(kind: Any) -> str:
    """The category of a dtype as declarations name it."""
    return str(kind.category)
