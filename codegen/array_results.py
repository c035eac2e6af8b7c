"""Specialise: computations that give arrays, where NumPy's operators give scalars for 0-d operands.

A ufunc that is called with ``out=...`` gives an array in any case, so nothing must be asked of its result,
and nothing made of it. The expression's last operation is written so, unless one of its operands is an array
that was just computed: in the memory of such a one, if it is large, the operator writes its result.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set

from .model import Primitive
from .ufuncs import Ufuncs, is_power


class ArrayResults:
    """Rewrites expressions over the arrays of one module, and notes the functions that they call."""

    def __init__(self, primitives: Mapping[str, Primitive]) -> None:
        self.ufuncs = Ufuncs(primitives)
        self.used: set[str] = set()

    def rewritten(self, text: str) -> str | None:
        """The text of an expression that gives the same as an array; None where it is not known to."""
        found = self._rewritten(ast.parse(text, mode="eval").body)
        return None if found is None else ast.unparse(found)

    def _rewritten(self, tree: ast.expr) -> ast.expr | None:
        if isinstance(tree, ast.IfExp):
            ways = self._rewritten(tree.body), self._rewritten(tree.orelse)
            return None if None in ways else ast.IfExp(tree.test, *ways)  # type: ignore[arg-type]
        found = self.ufuncs.last(tree)
        if found is None or not found[0].out or is_power(tree):
            return None
        primitive, operands = found
        if not isinstance(tree, ast.Call) and not all(map(_stands, operands)):
            return None
        self.used.add(primitive.name)
        return ast.Call(ast.Name(local(primitive.name)), operands, [ast.keyword("out", ast.Constant(...))])


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
