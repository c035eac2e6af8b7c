"""Differentiate: the derivatives of operators that are expressions, where none was declared.

A kernel that is an expression of primitives says all there is to say about the derivative:
``primitives.yaml`` has that of each primitive, and the chain rule has the rest. What comes
out is a Derivative like a declared one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.bodies import Along
from ..model.diagnostics import one_of
from ..model.names import EXPLICIT
from ..model.operators import EXPRESSIONS, Declarations, Derivative, Kernel, Operator
from ..parse.formula import result_names
from .graph import Underivable
from .losses import LossPlan
from .plan import Language, Plan
from .rows import RowsPlan


def differentiate(declared: Declarations) -> tuple[Derivative, ...]:
    """The derivatives of the operators that have no entry and need none."""
    having = {str(d.name) for d in declared.derivatives}
    language = Language.of(declared)
    found = []
    for operator in declared.operators:
        name = operator.name
        if str(name) in having or name.inplace or not needs_derivative(operator):
            continue
        try:
            found.append(derivative_of(operator, language))
        except Underivable:
            continue
    return tuple(found)


def needs_derivative(operator: Operator) -> bool:
    """Whether its results are numbers that a gradient may flow from."""
    if operator.is_composite or operator.result in ("bool", "int64"):
        return False
    if operator.promote in ("always_bool", "bool_to_long") or operator.factory is not None:
        return False
    return any(a.type.is_tensor for a in operator.schema.arguments)


def kernel_of(operator: Operator) -> Kernel:
    """The expression of an operator. Raises Underivable when it has none."""
    if len(operator.schema.returns) != 1 or not operator.schema.returns[0].type.is_tensor:
        raise Underivable("it has several results")
    if EXPRESSIONS.isdisjoint(operator.tags) and EXPLICIT not in operator.kernels:
        raise Underivable("it is not pointwise")
    for kernel in operator.kernels.values():
        if kernel.function is None:
            return kernel
    raise Underivable("its kernel is a function")


def derivative_of(operator: Operator, language: Language) -> Derivative:
    """The derivative of an operator whose kernel is an expression, or that has a body.

    Of the ways to write it that which keeps least. Raises Underivable when there is none.
    """
    return min(_plans(operator, language), key=lambda plan: plan.cost).derivative()


def _plans(operator: Operator, language: Language) -> Iterator[Plan]:
    """With the inputs saved, and where that is allowed with the result."""
    body = operator.body
    if body is not None:
        if all([kind.in_steps for kind in body.kinds]):
            raise Underivable("its results are conditions, counts or places")
        if body.along is Along.LISTED:
            raise Underivable("it may be over no dims")
        if body.computed:
            raise Underivable(f"functions of kernels give {one_of([name for name, _ in body.computed])}")
        results = result_names(operator.schema.returns)
        for saved in ((), *[(name,) for name in results], results):
            yield RowsPlan(operator, body, language, saved)
        return
    kernel = kernel_of(operator)
    if operator.is_loss:
        yield LossPlan(operator, kernel, language.graph(operator))
        return
    for with_result in (False, True) if operator.saves_result else (False,):
        yield Plan(operator, kernel, language.graph(operator), with_result)
