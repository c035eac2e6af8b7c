"""Specialise: computations that give arrays, where NumPy's operators give scalars for 0-d operands.

A ufunc that is called with ``out=...`` gives an array in any case, so nothing must be asked of its result,
and nothing made of it. The expression's last operation is written so, unless one of its operands is an array
that was just computed: in the memory of such a one, if it is large, the operator writes its result.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set

from .expression import SYMBOLS
from .model import Primitive


class ArrayResults:
    """Rewrites expressions over the arrays of one module, and notes the functions that they call."""

    def __init__(self, primitives: Mapping[str, Primitive]) -> None:
        self.primitives = {p.name: p for p in primitives.values() if p.out}
        self.by_symbol: dict[type[ast.AST], Primitive] = {
            SYMBOLS[p.symbol]: p for p in self.primitives.values() if p.symbol is not None
        }
        self.used: set[str] = set()

    def rewritten(self, text: str) -> str | None:
        """The text of an expression that gives the same as an array; None where it is not known to."""
        found = self._rewritten(ast.parse(text, mode="eval").body)
        return None if found is None else ast.unparse(found)

    def _rewritten(self, tree: ast.expr) -> ast.expr | None:
        match tree:
            case ast.IfExp(test, body, orelse):
                ways = self._rewritten(body), self._rewritten(orelse)
                return None if None in ways else ast.IfExp(test, *ways)  # type: ignore[arg-type]
            case ast.BinOp(left, op, right):
                return self._called(type(op), [left, right])
            case ast.UnaryOp(op, operand):
                return self._called(type(op), [operand])
            case ast.Compare(left, [op], [right]):
                return self._called(type(op), [left, right])
            case ast.Call(ast.Attribute(ast.Name("xp"), name), arguments, []) if name in self.primitives:
                return self._call(name, arguments)
        return None

    def _called(self, symbol: type[ast.AST], operands: list[ast.expr]) -> ast.expr | None:
        found = self.by_symbol.get(symbol)
        # Python's power has short ways for some exponents that the function has not.
        if found is None or symbol is ast.Pow or not all(map(_stands, operands)):
            return None
        return self._call(found.name, operands)

    def _call(self, name: str, operands: list[ast.expr]) -> ast.expr:
        self.used.add(name)
        out = ast.keyword("out", ast.Constant(...))
        return ast.Call(ast.Name(local(name)), operands, [out])


def local(name: str) -> str:
    """What a generated module calls a function of the array namespace: a global name is found at once."""
    return f"_xp_{name}"


def assignments(used: Set[str]) -> list[str]:
    """The statements that give the functions these names."""
    return [f"{local(name)} = xp.{name}" for name in sorted(used)]


def _stands(tree: ast.expr) -> bool:
    """Whether an operand is something that is there, not something that is computed."""
    match tree:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value, _):
            return _stands(value)
        case ast.Subscript(value, index):
            return _stands(value) and not isinstance(index, ast.Slice)
    return False
