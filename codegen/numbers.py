"""Specialise: Python numbers among the operands of array computations.

NumPy takes as long to make an array of a Python number as to compute with it. A Type keeps the arrays of
the numbers that it meets: ``x * 2`` is computed as ``x * T.numbers[2]``. Not so of powers, for which it is
known numbers that have short ways, and not of kernel functions, which may ask what a number is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def with_kept_numbers(
    text: str, arrays: Collection[str], numbers: Collection[str], table: str, functions: Collection[str] = ()
) -> str:
    """The text of an expression with its numbers, literal or by these names, taken from ``table``.

    Only those are that are combined with an array of the Type itself (``arrays`` are their texts), by an
    operator or by one of the ``functions`` of the array namespace. Of one array these give another like it.
    """
    tree = ast.parse(text, mode="eval").body
    keeping = _Keeping(arrays, numbers, table, functions)
    kept = keeping.visit(tree)
    return ast.unparse(kept) if keeping.found else text


class _Keeping(ast.NodeTransformer):
    def __init__(
        self, arrays: Collection[str], numbers: Collection[str], table: str, functions: Collection[str]
    ) -> None:
        self.arrays, self.numbers, self.table, self.functions = arrays, numbers, table, functions
        self.found = False

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, _OPERATORS):
            node.left, node.right = self.pair(node.left, node.right)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], _COMPARISONS):
            node.left, node.comparators[0] = self.pair(node.left, node.comparators[0])
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(ast.Name("xp"), name), [left, right]) if name in self.functions:
                node.args = list(self.pair(left, right))
        return node

    def pair(self, left: ast.expr, right: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Both operands, the number among them taken from the table."""
        if self.of_type(left) and self.is_number(right):
            return left, self.kept(right)
        if self.of_type(right) and self.is_number(left):
            return self.kept(left), right
        return left, right

    def of_type(self, tree: ast.expr) -> bool:
        """Whether an operand is an array of the Type, or was computed from such, and from numbers."""
        if ast.unparse(tree) in self.arrays:
            return True
        match tree:
            case ast.BinOp(left, op, right) if isinstance(op, _OPERATORS):
                parts = (left, right)
                return any(map(self.of_type, parts)) and all(self.of_type(p) or self.number(p) for p in parts)
            case ast.UnaryOp(ast.USub(), operand):
                return self.of_type(operand)
            case ast.Call(ast.Attribute(ast.Name("xp"), name), [operand], []):
                return name in self.functions and self.of_type(operand)
        return False

    def number(self, tree: ast.expr) -> bool:
        """Whether it is a number, kept already or not."""
        kept = isinstance(tree, ast.Subscript | ast.Attribute) and ast.unparse(tree.value) == self.table
        return kept or self.is_number(tree)

    def is_number(self, tree: ast.expr) -> bool:
        """Whether it is a number; 1.0 is left alone, for among integers it is not 1."""
        match tree:
            case ast.Constant(value) | ast.UnaryOp(ast.USub(), ast.Constant(value)):
                return value.__class__ is int or (value.__class__ is float and not value.is_integer())
            case ast.Name(name):
                return name in self.numbers
        return False

    def kept(self, tree: ast.expr) -> ast.expr:
        self.found = True
        table = ast.parse(self.table, mode="eval").body
        if isinstance(tree, ast.Constant) and tree.value == 0:
            return ast.Attribute(table, "zero")
        return ast.Subscript(table, tree)
