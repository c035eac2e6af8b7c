"""The function of the array namespace that an expression ends in, be it called or written as an operator."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .expression import SYMBOLS
from .model import Primitive


class Ufuncs:
    """Knows the primitives by the names and the symbols under which expressions use them."""

    def __init__(self, primitives: Mapping[str, Primitive]) -> None:
        self.primitives = primitives
        self.by_symbol: dict[type[ast.AST], Primitive] = {
            SYMBOLS[p.symbol]: p for p in primitives.values() if p.symbol is not None
        }

    def last(self, tree: ast.expr) -> tuple[Primitive, list[ast.expr]] | None:
        """The primitive that computes a tree's value, and its operands; None for anything else."""
        found: Primitive | None = None
        operands: list[ast.expr] = []
        match tree:
            case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]):
                found, operands = self.by_symbol.get(type(op)), [left, right]
            case ast.UnaryOp(op, operand):
                found, operands = self.by_symbol.get(type(op)), [operand]
            case ast.Call(ast.Attribute(ast.Name("xp"), name), arguments, []):
                found, operands = self.primitives.get(name), arguments
        return None if found is None else (found, operands)


def is_power(tree: ast.expr) -> bool:
    """Whether it is Python's ``**``, which has short ways for some exponents that the function has not."""
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Pow)
