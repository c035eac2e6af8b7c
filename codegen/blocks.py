"""Specialise: which computations over arrays are worth being done in blocks.

A backend with the capability ``blocks`` has a function that calls an elementwise function on one
cache-sized block of large operands after the other, in threads. It is worth that when the elements would
pass through memory more than once, or when they cost more to compute than to move.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .expression import SYMBOLS
from .model import Operator, Primitive
from .optimise import OUT, has_array, operands, scratched

#: The tags that say that each element of the results comes from the elements at the same place.
ELEMENTWISE = frozenset({"pointwise", "elementwise"})
#: The passes over the operands from which a computation is worth it.
WORTH = 2


@dataclass(frozen=True, slots=True)
class Weigher:
    """Says how often an expression over arrays passes over them."""

    primitives: Mapping[str, Primitive]

    def closed(self) -> frozenset[str]:
        """The functions that give, of one array, another of its type, or that may be given a number for one.

        Powers are not among them: it is exponents that are numbers for which they are computed in short ways.
        """
        kept = []
        for p in self.primitives.values():
            numeric = p.derivative is not None and None not in p.derivative and p.symbol != "**"
            if numeric and (p.arguments == 2 or (p.arguments == 1 and not p.real)):
                kept.append(p.name)
        return frozenset(kept)

    def worth(self, tree: ast.expr, arrays: Collection[str]) -> bool:
        """Whether the expression, in which these names are arrays, is worth being computed in blocks."""
        return self.passes(tree, arrays) >= WORTH

    def passes(self, tree: ast.expr, arrays: Collection[str]) -> int:
        """The passes; of a choice those of the shorter way. What takes long to compute counts for two."""
        match tree:
            case ast.IfExp(_, body, orelse):
                return min(self.passes(body, arrays), self.passes(orelse, arrays))
            case ast.Call(function, arguments, keywords):
                if not has_array(tree, arrays):
                    return 0
                parts = [*arguments, *[k.value for k in keywords]]
                return self._of(function) + sum([self.passes(a, arrays) for a in parts])
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() if has_array(tree, arrays):
                own = 2 if isinstance(tree, ast.BinOp) and self._symbol(tree.op) else 1
                return own + sum([self.passes(a, arrays) for a in operands(tree)])
        return sum([self.passes(a, arrays) for a in operands(tree)])

    def _of(self, function: ast.expr) -> int:
        """The passes of a function: of one that is no primitive it is not known, and several are likely."""
        match function:
            case ast.Attribute(ast.Name("xp"), name) if name in self.primitives:
                return 2 if self.primitives[name].costly else 1
        return WORTH

    def _symbol(self, op: ast.operator) -> bool:
        """Whether an operator of Python takes long to compute."""
        return any(
            [p.costly and p.symbol and SYMBOLS[p.symbol] is type(op) for p in self.primitives.values()]
        )


def elementwise(operator: Operator) -> bool:
    """Whether the operator's kernel may be called on parts of its operands."""
    return not ELEMENTWISE.isdisjoint(operator.tags)


def function_of(
    parameters: Sequence[str], tree: ast.expr, arrays: Collection[str], primitives: Mapping[str, Primitive]
) -> tuple[str, int | None]:
    """The text of a function that computes the tree, and how many scratch arrays it takes.

    None instead of a number: it does not write into what it is given.

    What one function computes of exactly these parameters is that function: ``xp.exp``.
    """
    computed, scratch = scratched(tree, arrays, primitives)
    count: int | None = len(scratch)
    if any([isinstance(n, ast.Name) and n.id == OUT for n in ast.walk(computed)]):
        parameters = [*parameters, OUT, *scratch]
    else:
        computed, count = tree, None
    match computed:
        case ast.Call(function, arguments, keywords):
            given = [ast.unparse(a) for a in (*arguments, *[k.value for k in keywords])]
            if given == list(parameters):
                return ast.unparse(function), count
    return f"lambda {', '.join(parameters)}: {ast.unparse(computed)}", count


def call_of(
    runner: str, function: str, given: Sequence[str], into: str = "", scratch: int | None = None
) -> str:
    """The call that runs a function on blocks of operands."""
    keywords = [f"into={into}"] if into else []
    keywords += [] if scratch is None else [f"scratch={scratch}"]
    return f"{runner}({', '.join([function, *given, *keywords])})"
