"""Which operators a formula calls, and whether one of these is at fault where a derivative is wrong.

Of an operator with a reference its own check says that. One without, as backward operators mostly are, is
wrong where its own checks fail, or where other formulas that call it give wrong gradients, too.
"""

from __future__ import annotations

import functools
from dataclasses import replace

from tengen.codegen.commands.affected import called_names
from tengen.codegen.model.operators import Formula

from . import declared
from .failure import Failure, Part
from .operators import cases_of
from .reference import no_reference, nothing_but

#: The aspects that tell whether derivatives agree with the values.
DERIVATIVES = ("gradient", "tangent")
#: The aspects that tell of an operator without a reference that it is wrong.
_OWN = ("sample", "inputs", "dtypes", "layout")
#: So many other operators whose formulas call one are asked whether it is right.
_ASKED = 3


def functions_in(formula: Formula) -> set[str]:
    """The functions and methods that a formula calls."""
    return set(called_names(formula.tree))


def of_function(function: str) -> list[str]:
    """The operators that a formula may mean by a function's name."""
    return [name for name in declared.declared_operators() if function_of(name) == function]


def unjudged(name: str) -> bool:
    """Whether an operator has a kernel of its own, and no reference that says whether it is right."""
    operator = declared.declared_operators()[name]
    if operator.is_composite or declared.aliases(operator):
        return False
    return bool(no_reference(operator)) and declared.made_beside(operator) != name.removesuffix("_forward")


def cause(failure: Failure) -> Failure:
    """The failure of an operator that was called on the way, if there is one; else the failure itself."""
    operators = declared.operators()
    made_of = failure.operator in operators and operators[failure.operator].is_composite
    derivative = made_of or "second" in failure.aspect or "of gradient" in failure.aspect
    for name in failure.through:
        if name != failure.operator and name in operators:
            first = first_failure(name, ("sample", "value", *(DERIVATIVES if derivative else ())))
            if first is not None:
                return of_kernel(first)
    return of_kernel(failure)


def of_kernel(failure: Failure) -> Failure:
    """The failure of a derivative as one of the kernel that should compute it, where that is wrong."""
    if failure.aspect in DERIVATIVES and failure.part.kind in DERIVATIVES:
        return by_callers(failure) or by_backward_operator(failure)
    return failure


@functools.cache
def first_failure(name: str, respects: tuple[str, ...]) -> Failure | None:
    """The first thing that is wrong about an operator in these respects."""
    for aspect in respects:
        for each, case in cases_of(name, aspect):
            try:
                each.check(case)
            except Failure as found:
                return found
    return None


def by_backward_operator(failure: Failure) -> Failure:
    """The failure as one of the backward operator that the formula calls, where that one is wrong."""
    entry = declared.derivative_of(failure.operator)
    formulas = entry.gradients.items() if entry is not None and failure.aspect == "gradient" else ()
    formula = next((f for names, f in formulas if failure.part.name in names), None)
    called = functions_in(formula) if formula is not None else set()
    for name in failure.through:
        if name == failure.operator or function_of(name) not in called or not kin(name, failure.operator):
            continue
        if name not in declared.declared_operators() or not unjudged(name):
            continue
        own = first_failure(name, _OWN) if name in declared.operators() else None
        if own is not None:
            return own
        others = [gradient_is_right(n) for n in callers(name, besides=failure.operator)]
        if (name in declared.operators() and first_failure(name, DERIVATIVES)) or False in others:
            return wrong_kernel(name, failure)
        if True not in others:
            if formula is not None and nothing_but(formula, function_of(name)):
                return wrong_kernel(name, failure, doubtful=(failure.part,))
            failure.doubtful += (kernel_of(name),)
    return failure


def by_callers(failure: Failure) -> Failure | None:
    """The failure of a backward operator as one of its kernel, where what it gives is no gradient either."""
    if not unjudged(failure.operator):
        return None
    for name in callers(failure.operator, besides=failure.operator):
        wrong = first_failure(name, ("gradient",))
        if (
            wrong is not None
            and wrong.part.kind == "gradient"
            and first_failure(name, ("sample", "value")) is None
        ):
            return wrong_kernel(failure.operator, wrong)
    return None


def wrong_kernel(name: str, failure: Failure, doubtful: tuple[Part, ...] = ()) -> Failure:
    """A gradient that is wrong as a failure of the operator that computes it."""
    of = f"the gradient of {failure.operator} for {failure.part.name}"
    message = f"the kernel of {name} does not give {of}"
    if not failure.got and not failure.expected:
        message = f"the kernel of {name} is wrong: {failure.message}"
    return replace(failure, part=kernel_of(name), message=message, doubtful=doubtful, more=[], also=[])


def kernel_of(name: str) -> Part:
    """The kernel of another operator than the one that is checked."""
    return Part("kernel", declared.main_backend(), name)


def gradient_is_right(name: str) -> bool:
    """Whether the gradient of an operator agrees with differences."""
    return first_failure(name, ("gradient",)) is None


def callers(name: str, besides: str) -> list[str]:
    """Some of the operators whose gradient's formulas call an operator, and are checked."""
    found = declared.gradient_callers().get(function_of(name), [])
    return [n for n in found if n not in (besides, name) and kin(n, name)][:_ASKED]


def function_of(name: str) -> str:
    """An operator's function, as formulas call it."""
    return name.partition(".")[0].rpartition("::")[2]


def kin(a: str, b: str) -> bool:
    """Whether two operators are of one library, or both of tengen."""
    return a.rpartition("::")[0] == b.rpartition("::")[0]
