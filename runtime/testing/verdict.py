"""What is wrong about an operator: of all that its checks find, what does not follow from something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from . import declared
from .aspects import Aspect, Case, aspects
from .calls import DERIVATIVES, cause
from .causes import Looked, dtypes_at_fault, reference_at_fault
from .failure import Failure, Part
from .operators import cases_of


@dataclass
class Verdict:
    """What the checks of an operator found."""

    operator: str
    failures: list[Failure] = field(default_factory=list)
    checks: int = 0  # how many calls were looked at


def verdict(name: str, told: Callable[[], None] = lambda: None) -> Verdict:
    """Check an operator in every respect. ``told`` is called after each case."""
    looked: list[Looked] = []
    refused: set[tuple[str, str]] = set()
    for aspect, case in cases_of(name):
        if (case.call.text, case.kind.name) in refused:
            continue
        found = failure_of(aspect, case)
        looked.append(Looked(aspect.name, case, found))
        if found is not None and aspect.name == "sample":
            refused.add((case.call.text, case.kind.name))
        told()
    return Verdict(name, judged(name, looked), len(looked))


def failure_of(aspect: Aspect, case: Case) -> Failure | None:
    """What a check of a case finds."""
    try:
        aspect.check(case)
    except Failure as found:
        return found
    return None


def judged(name: str, looked: Sequence[Looked]) -> list[Failure]:
    """The failures that no others explain, the first one of each part; with it what else shows the same."""
    found = [f for each in looked if each.failure is not None for f in (each.failure, *each.failure.more)]
    failed = {f.aspect for f in found}
    if reference_at_fault(name, looked):
        failed -= {"value"}
    dtypes_at_fault(name, looked)
    refused = {f.raised for f in found if f.aspect == "sample"}
    kept: dict[Part, Failure] = {}
    explained = []
    for failure in found:
        same = failure.raised in refused and failure.aspect != "sample"
        if same or follows(failure, aspects()[failure.aspect], failed):
            explained.append(failure)
        else:
            first = cause(failure)
            also(kept.setdefault(first.part, first), failure)
    for failure in explained:
        after = aspects()[failure.aspect].after
        shown = next((f for f in kept.values() if f.aspect in after), next(iter(kept.values()), None))
        if shown is not None:
            also(shown, failure)
    return list(kept.values())


def also(shown: Failure, failure: Failure) -> None:
    """Note that what is shown is the cause of a failure, too."""
    title = aspects()[failure.aspect].title
    other = (failure.operator, failure.aspect) != (shown.operator, shown.aspect)
    if other and title not in shown.also:
        shown.also.append(title)


def follows(failure: Failure, aspect: Aspect, failed: set[str]) -> bool:
    """Whether a failure is a consequence of one of another aspect."""
    if failed & set(aspect.after):
        return True
    spec = declared.derived().jvps.get(failure.operator)
    by_gradient = spec is not None and spec.kind == "auto_element_wise"
    return failure.aspect == "tangent" and by_gradient and set(DERIVATIVES[:1]) <= failed
