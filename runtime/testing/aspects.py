"""The respects in which declared operators are checked, and the cases of each."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tengen.codegen.model.operators import Operator

from ..core.user_stack import ignore_numbers
from . import declared
from .failure import Failure, Part, failure, in_short
from .refusals import at_fault, refusal
from .samples import Call


@dataclass(frozen=True, slots=True)
class Case:
    """A call in a dtype, of the operator or of a variant of it."""

    call: Call
    kind: Any
    variant: str = ""  # the in-place or out variant that is called, with the operator's arguments

    @property
    def operator(self) -> Operator:
        """The declared operator."""
        return self.call.operator

    @property
    def name(self) -> str:
        """Its full name."""
        return str(self.call.operator.name)

    @property
    def values(self) -> list[Any]:
        """The arguments, made anew, with the tensors of the case's dtype."""
        return self.call.tensors(self.kind)

    def __str__(self) -> str:
        return f"{self.call} in {self.kind}"


@dataclass(frozen=True, slots=True)
class Aspect:
    """One respect: which operators it says something of, and the check of a case.

    ``look`` returns when the case is as declared, and raises a Failure when it is not.
    """

    name: str
    title: str  # "values against the reference": what is checked
    look: Callable[[Case], None]
    cases: Callable[[str], Iterable[Case]]  # of an operator with samples
    missing: Callable[[Operator], str]  # why an operator is not checked so; "" where it is
    variants: Callable[[str], list[str]] | None = None  # of an operator, where cases are of its variants
    sampled: bool = True  # whether it is about operators with good samples only
    after: tuple[str, ...] = ()  # the aspects that say more: where one of them fails, so may this

    def operators(self) -> list[str]:
        """The operators that are checked, by full name."""
        among = declared.operators() if self.sampled else declared.declared_operators()
        return [name for name, operator in among.items() if not self.missing(operator)]

    def pairs(self) -> list[tuple[str, str]]:
        """(variant, operator) for every variant that is checked."""
        assert self.variants is not None
        return sorted((v, name) for name in self.operators() for v in self.variants(name))

    def check(self, case: Case) -> None:
        """Check one case. Raises Failure; what else comes out of it is one, too, and so are warnings."""
        try:
            with undeclared_warnings(case):
                self.look(case)
        except Failure:
            raise
        except Exception as error:
            refused = refusal(case)
            if refused is not None:
                raise at_fault(case, self.name, refused) from error
            text = in_short(error)
            made = failure(case, self.name, kernel(), f"{case.variant or case.name} fails: {text}")
            made.raised = text
            raise made from error

    def verify(self, name: str, variant: str = "") -> None:
        """Check all cases of an operator, or of one of its variants. Raises the first Failure."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is run to find the cases is checked in them
            found = list(self.cases(name))
        for case in found:
            if not variant or case.variant == variant:
                self.check(case)


@contextmanager
def undeclared_warnings(case: Case) -> Iterator[None]:
    """Raises Failure for what a case warns of, where its operator does not declare that.

    That numbers overflow or are divided by zero is no news where the code of tengen or of a library does it,
    as for users; nor that references cast to real numbers; nor that an operator has no batching rule.
    """
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "There is a performance drop", UserWarning)
        ignore_numbers()
        warnings.filterwarnings("ignore", category=np.exceptions.ComplexWarning, module=r"(?!tengen\.)")
        yield
    declared_text = case.operator.warns
    for each in heard:
        if not declared_text or declared_text not in str(each.message):
            text = f"{case.variant or case.name} warns: {each.message}"
            raise failure(case, case.name, kernel(), text, help="its entry declares that by `warns`")


def kernel() -> Part:
    """The kernel of the backend that is checked."""
    return Part("kernel", declared.main_backend())


def in_working_dtypes(name: str, first: bool = False) -> Iterator[Case]:
    """The calls of an operator in float64 and complex128, or in what it has; or in the first of these."""
    for call in declared.calls(name):
        kinds = declared.working_dtypes(call)
        yield from (Case(call, kind) for kind in (kinds[:1] if first else kinds))


def in_first_dtype(name: str) -> Iterator[Case]:
    """The calls of an operator in one dtype each."""
    return in_working_dtypes(name, first=True)


def random(operator: Operator) -> str:
    """Why an operator's results cannot be compared; "" where they can."""
    if not declared.deterministic(operator):
        return "its results are random"
    return "" if declared.has_values(operator) else "its results have no values"


#: The modules that have ASPECTS, in the order in which these are checked: the first that fails is
#: nearest to the cause.
_MODULES = (
    "acceptance",
    "values",
    "expectations",
    "dtypes",
    "bad_input",
    "variants",
    "without_data",
    "gradients",
    "memory",
    "tangents",
    "edges",
    "batching",
    "symbolics",
)


@functools.cache
def aspects() -> dict[str, Aspect]:
    """Every aspect by its name, the fundamental ones first."""
    found = [a for name in _MODULES for a in import_module(f"tengen.testing.{name}").ASPECTS]
    return {aspect.name: aspect for aspect in found}
