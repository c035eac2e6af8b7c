"""That an operator takes its samples, in every dtype that they and the operator are for."""

from __future__ import annotations

from collections.abc import Iterator

from tengen.codegen.model.operators import Operator

from . import declared
from .aspects import Aspect, Case
from .refusals import at_fault, kinds_of, refusal


def every_dtype(name: str) -> Iterator[Case]:
    """The calls of an operator in every dtype that they are for."""
    for call in declared.calls(name):
        yield from (Case(call, kind) for kind in kinds_of(call))


def never(_: Operator) -> str:
    """There is no operator with samples that is not checked."""
    return ""


def check_taken(case: Case) -> None:
    """The call gives a result."""
    error = refusal(case)
    if error is not None:
        raise at_fault(case, "sample", error) from error


ASPECTS = (Aspect("sample", "that samples are taken", check_taken, every_dtype, never),)
