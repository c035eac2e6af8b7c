"""Specialise: Python numbers among the operands of array computations.

NumPy takes as long to make an array of a Python number as to compute with it. A Type keeps the arrays of
the numbers that it meets: ``x * 2`` is computed as ``x * T.numbers[2]``. Not so of powers, for which it is
known numbers that have short ways, and not of kernel functions, which may ask what a number is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...ir.expressions import (
    ELEMENTWISE_COMPARISONS,
    Attribute,
    Call,
    Constant,
    Expr,
    Name,
    Operation,
    Subscript,
    mapped,
)
from ...ir.types import Dtype, Types

_ARITHMETIC = ("+", "-", "*", "/")
_TAKE_ARRAYS = (*_ARITHMETIC, *ELEMENTWISE_COMPARISONS)


def with_kept_numbers(expr: Expr, types: Types, table: Expr, functions: Collection[str] = ()) -> Expr:
    """The expression with its numbers, literal or by name, taken from ``table``.

    Only those are that are combined with an array of the Type itself, by an operator or by one of the
    ``functions`` of the array namespace.
    """
    return _Keeping(types, table, functions).kept(expr)


@dataclass(frozen=True, slots=True)
class _Keeping:
    types: Types
    table: Expr
    functions: Collection[str]

    def kept(self, expr: Expr) -> Expr:
        """The expression with the numbers in all its parts kept."""
        made = mapped(expr, self.kept)
        match expr:
            case Operation(symbol, (left, right)) if symbol in _TAKE_ARRAYS:
                return made.with_parts(self.pair(left, right, made.parts))
            case Call(Attribute(Name("xp"), name) as function, (left, right)) if name in self.functions:
                return made.with_parts((function, *self.pair(left, right, made.parts[1:]), *made.parts[3:]))
        return made

    def pair(self, left: Expr, right: Expr, made: Sequence[Expr]) -> tuple[Expr, Expr]:
        """Two operands as they are made, the number among them taken from the table."""
        if self.is_own(left) and self.is_number(right):
            return made[0], self.entry(right)
        if self.is_own(right) and self.is_number(left):
            return self.entry(left), made[1]
        return made[0], made[1]

    def is_own(self, expr: Expr) -> bool:
        """Whether an operand is an array of the Type."""
        return self.types.of(expr).dtype is Dtype.OWN

    def is_number(self, expr: Expr) -> bool:
        """Whether it is a number that the Type holds; 1.0 is left alone, for among integers it is not 1."""
        match expr:
            case Constant(value) | Operation("-x", (Constant(value),)):
                return value.__class__ is int or (value.__class__ is float and not value.is_integer())
            case Name():
                return self.types.of(expr).dtype is Dtype.WEAK
        return False

    def entry(self, number: Expr) -> Expr:
        """A number of the table."""
        zero = isinstance(number, Constant) and number.value == 0
        return Attribute(self.table, "zero") if zero else Subscript(self.table, number)
