"""What is wrong about an operator: of all that its checks find, what does not follow from something else."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tengen.codegen.model import walk
from tengen.testing import declared
from tengen.testing.aspects import Aspect, aspects
from tengen.testing.failure import Failure, Part
from tengen.testing.operators import cases_of

#: The aspects that tell whether derivatives agree with the values.
_DERIVATIVES = ("gradient", "tangent")


@dataclass
class Verdict:
    """What the checks of an operator found."""

    operator: str
    failures: list[Failure] = field(default_factory=list)
    checks: int = 0  # how many calls were looked at


def verdict(name: str, told: Callable[[], None] = lambda: None) -> Verdict:
    """Check an operator in every respect. ``told`` is called after each case."""
    found: list[Failure] = []
    done: dict[str, int] = {}
    for aspect, case in cases_of(name):
        done[aspect.name] = done.get(aspect.name, 0) + 1
        try:
            aspect.check(case)
        except Failure as failure:
            found += [failure, *failure.more]
        told()
    return Verdict(name, judged(name, found, done), sum(done.values()))


def judged(name: str, found: Sequence[Failure], done: Iterable[str]) -> list[Failure]:
    """The failures that no others explain, the first one of each part."""
    failed = {f.aspect for f in found}
    against_reference = [f for f in found if f.aspect == "value" and f.doubtful]
    consistent = not failed & set(_DERIVATIVES) and set(_DERIVATIVES) & set(done)
    if against_reference and consistent and independent(name):
        for failure in against_reference:
            reference_is_wrong(failure)
        failed -= {"value"}
    unclaimed = any(f.aspect == f.part.kind == "dtypes" for f in found)
    kept: dict[tuple[str, Part], Failure] = {}
    for failure in found:
        of_claim = unclaimed and failure.part.kind == "dtypes" != failure.aspect
        if not of_claim and not explained(failure, aspects()[failure.aspect], failed):
            first = cause(failure)
            kept.setdefault((first.aspect, first.part), first)
    return list(kept.values())


def independent(name: str) -> bool:
    """Whether the operator's derivative is written down, by formulas that do not call the operator itself."""
    found = next((d for d in declared.declarations().derivatives if str(d.name) == name), None)
    if found is None or not found.gradients:
        return False
    function = declared.declared_operators()[name].name.function
    formulas = [*found.gradients.values(), *found.jvps.values()]
    called = {n.attr for f in formulas for n in walk(f.tree) if isinstance(n, ast.Attribute)}
    return function not in called.union(*(f.names() for f in formulas))


def reference_is_wrong(failure: Failure) -> None:
    """Kernel and derivative agree: it is the reference that differs."""
    name = failure.operator
    failure.part, failure.doubtful = failure.doubtful[0], (failure.part,)
    failure.message = f"the reference of {name} gives other values than its kernel, as its derivative does"


def explained(failure: Failure, aspect: Aspect, failed: set[str]) -> bool:
    """Whether a failure is a consequence of one of another aspect."""
    if failed & set(aspect.after):
        return True
    spec = declared.derived().jvps.get(failure.operator)
    by_gradient = spec is not None and spec.kind == "auto_element_wise"
    return failure.aspect == "tangent" and by_gradient and "gradient" in failed


def cause(failure: Failure) -> Failure:
    """The failure of an operator that was called on the way, if there is one; else the failure itself."""
    for name in failure.through:
        if name != failure.operator and name in declared.operators():
            first = first_failure(name, "second" in failure.aspect or "of gradient" in failure.aspect)
            if first is not None:
                return first
    return failure


@functools.cache
def first_failure(name: str, derivative: bool) -> Failure | None:
    """The first thing that is wrong about an operator's values, or also about its derivatives."""
    for aspect in ("value", *(_DERIVATIVES if derivative else ())):
        for each, case in cases_of(name, aspect):
            try:
                each.check(case)
            except Failure as found:
                return found
    return None
