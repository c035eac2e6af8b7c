"""Specialise: computations that give arrays, where NumPy's operators give scalars for 0-d operands.

A ufunc that is called with ``out=...`` gives an array in any case, so nothing must be asked of its result,
and nothing made of it. The expression's last operation is written so, unless one of its operands is an array
that was just computed: in the memory of such a one, if it is large, the operator writes its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from ...ir.expressions import Attribute, Call, Conditional, Constant, Expr, Keyword, Name, Slice, Subscript
from ..derive.ufuncs import Ufuncs, is_power
from ..model.operators import Primitive


class ArrayResults:
    """Rewrites expressions over the arrays of one module, and notes the functions that they call."""

    def __init__(self, primitives: Mapping[str, Primitive]) -> None:
        self.ufuncs = Ufuncs(primitives)
        self.used: set[str] = set()

    def rewritten(self, expr: Expr) -> Expr | None:
        """An expression that gives the same as an array; None where it is not known to."""
        if isinstance(expr, Conditional):
            then, otherwise = self.rewritten(expr.then), self.rewritten(expr.otherwise)
            return None if then is None or otherwise is None else Conditional(expr.condition, then, otherwise)
        found = self.ufuncs.last(expr)
        if found is None or not found[0].out or is_power(expr):
            return None
        primitive, operands = found
        if primitive.function is not None:  # imported on first use: takes no keywords
            return None
        if not isinstance(expr, Call) and not all(map(_stands, operands)):
            return None
        self.used.add(primitive.name)
        return Call(Name(local(primitive.name)), operands, (Keyword("out", Constant(...)),))


def local(name: str) -> str:
    """What a generated module calls a function of the array namespace: a global name is found at once."""
    return f"_xp_{name}"


def assignments(used: Set[str]) -> list[str]:
    """The statements that give the functions these names."""
    return [f"{local(name)} = xp.{name}" for name in sorted(used)]


def _stands(expr: Expr) -> bool:
    """Whether an operand is something that is there, not something that is computed."""
    match expr:
        case Name() | Constant():
            return True
        case Attribute(value):
            return _stands(value)
        case Subscript(value, index):
            return _stands(value) and not isinstance(index, Slice)
    return False
