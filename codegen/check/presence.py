"""Check: expressions of one element that choose by which operands are None.

What such an operand is not there for is said in place, ``x * (1 if weight is None else weight)``. The whole
expression then has a way for each set of operands that are there, in which nothing else stands.
"""

from __future__ import annotations

from collections.abc import Collection

from ...ir.expressions import Conditional, Constant, Expr, Name, Operation, rewritten, walk

_ABSENT = ("is", "is not")


def by_presence(expr: Expr, optional: Collection[str]) -> Expr:
    """The expression with the choices by whether these operands are None at its top."""
    for part in walk(expr):
        if isinstance(part, Conditional) and (name := _tested(part.condition)) in optional:
            absent = part.condition
            ways = [by_presence(_where(expr, name, there), optional) for there in (False, True)]
            if isinstance(absent, Operation) and absent.symbol == "is not":
                ways.reverse()
            return Conditional(absent, *ways, span=expr.span)
    return rewritten(expr, _simpler)


def _tested(condition: Expr) -> str:
    """The name of which a condition asks whether it is None; "" for another condition."""
    match condition:
        case Operation(symbol, (Name(name), Constant(value=None))) if symbol in _ABSENT:
            return name
    return ""


def _where(expr: Expr, name: str, there: bool) -> Expr:
    """The same where an operand is there, or is not."""

    def change(part: Expr) -> Expr:
        if not isinstance(part, Conditional) or _tested(part.condition) != name:
            return part
        assert isinstance(part.condition, Operation)
        return part.then if there == (part.condition.symbol == "is not") else part.otherwise

    return rewritten(expr, change)


def _simpler(part: Expr) -> Expr:
    """A product without the factor 1, a sum without the term 0."""
    match part:
        case Operation("*", (one, other)) | Operation("+", (one, other)):
            neutral = Constant(1 if part.symbol == "*" else 0)
            return other if one == neutral else one if other == neutral else part
    return part
