"""Specialise: Python numbers among the operands of array computations.

NumPy takes as long to make an array of a Python number as to compute with it. A Type keeps the arrays of
the numbers that it meets: ``x * 2`` is computed as ``x * T.numbers[2]``. Not so of powers, for which it is
known numbers that have short ways, and not of kernel functions, which may ask what a number is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..ir.expressions import Attribute, Call, Constant, Expr, Name, Operation, Subscript, rewritten

_ARITHMETIC = ("+", "-", "*", "/")
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def with_kept_numbers(
    expr: Expr,
    arrays: Collection[Expr],
    numbers: Collection[str],
    table: Expr,
    functions: Collection[str] = (),
) -> Expr:
    """The expression with its numbers, literal or by these names, taken from ``table``.

    Only those are that are combined with an array of the Type itself (``arrays`` are those), by an operator
    or by one of the ``functions`` of the array namespace. Of one array these give another like it.
    """
    return rewritten(expr, _Keeping(arrays, numbers, table, functions).kept)


@dataclass(frozen=True, slots=True)
class _Keeping:
    arrays: Collection[Expr]
    numbers: Collection[str]
    table: Expr
    functions: Collection[str]

    def kept(self, expr: Expr) -> Expr:
        """The expression, whose parts are done, with the number among its two operands kept."""
        match expr:
            case Operation(symbol, (left, right)) if symbol in _ARITHMETIC or symbol in _COMPARISONS:
                return expr.with_parts(self.pair(left, right))
            case Call(Attribute(Name("xp"), name) as function, (left, right)) if name in self.functions:
                return Call(function, self.pair(left, right), expr.keywords)
        return expr

    def pair(self, left: Expr, right: Expr) -> tuple[Expr, Expr]:
        """Both operands, the number among them taken from the table."""
        if self.of_type(left) and self.is_number(right):
            return left, self.entry(right)
        if self.of_type(right) and self.is_number(left):
            return self.entry(left), right
        return left, right

    def of_type(self, expr: Expr) -> bool:
        """Whether an operand is an array of the Type, or was computed from such, and from numbers."""
        if expr in self.arrays:
            return True
        match expr:
            case Operation(symbol, (_, _) as operands) if symbol in _ARITHMETIC:
                return any(map(self.of_type, operands)) and all(
                    self.of_type(o) or self.number(o) for o in operands
                )
            case Operation("-x", (operand,)):
                return self.of_type(operand)
            case Call(Attribute(Name("xp"), name), (operand,), ()):
                return name in self.functions and self.of_type(operand)
        return False

    def number(self, expr: Expr) -> bool:
        """Whether it is a number, kept already or not."""
        kept = isinstance(expr, Subscript | Attribute) and expr.value == self.table
        return kept or self.is_number(expr)

    def is_number(self, expr: Expr) -> bool:
        """Whether it is a number; 1.0 is left alone, for among integers it is not 1."""
        match expr:
            case Constant(value) | Operation("-x", (Constant(value),)):
                return value.__class__ is int or (value.__class__ is float and not value.is_integer())
            case Name(name):
                return name in self.numbers
        return False

    def entry(self, number: Expr) -> Expr:
        """A number of the table."""
        zero = isinstance(number, Constant) and number.value == 0
        return Attribute(self.table, "zero") if zero else Subscript(self.table, number)
