"""Specialise: which computations over arrays are worth being done in blocks.

A backend with the capability ``blocks`` has a function that calls an elementwise function on one
cache-sized block of large operands after the other, in threads. It is worth that when the elements would
pass through memory more than once, or when they cost more to compute than to move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir.expressions import (
    Call,
    Conditional,
    Constant,
    Expr,
    Keyword,
    Lambda,
    Name,
    Operation,
    Parameter,
    names_in,
)
from ...ir.types import Dtype, Types
from ...ir.writer import write
from ..derive.ufuncs import Ufuncs
from ..model.operators import Primitive
from ..read.functions import generated_name
from .optimise import OUT, allocate_scratch

#: The passes over the operands from which a computation is worth it.
WORTH = 2


class CostModel:
    """Says how often an expression over arrays passes over them."""

    def __init__(self, primitives: Mapping[str, Primitive]) -> None:
        self.primitives = primitives
        self.ufuncs = Ufuncs(primitives)

    def closed(self) -> frozenset[str]:
        """The functions that give, of one array, another of its type, or that may be given a number for one.

        Powers are not among them: it is exponents that are numbers for which they are computed in short ways.
        """
        kept = []
        for p in self.primitives.values():
            numeric = p.derivative is not None and None not in p.derivative and p.symbol != "**"
            if numeric and (p.arguments == 2 or (p.arguments == 1 and not p.real)):
                kept.append(p.name if p.function is None else write(generated_name(p.function)))
        return frozenset(kept)

    def worth(self, expr: Expr, types: Types) -> bool:
        """Whether the expression is worth being computed in blocks."""
        return self.passes(expr, types) >= WORTH

    def passes(self, expr: Expr, types: Types) -> int:
        """The passes; of a choice those of the shorter way. What takes long to compute counts for two.

        Of a function that is no primitive they are not known, and several are likely.
        """
        if isinstance(expr, Conditional):
            return min(self.passes(expr.then, types), self.passes(expr.otherwise, types))
        parts = sum([self.passes(part, types) for part in expr.parts])
        type_ = types.of(expr)
        if not type_.may_be_array or (isinstance(expr, Call) and type_.dtype is Dtype.BOOL):
            return 0  # a condition is only looked at
        match expr:
            case Call(function):
                primitive = self.ufuncs.named(function)
                return (WORTH if primitive is None else _passes_of(primitive)) + parts
            case Operation(symbol):
                primitive = self.ufuncs.by_symbol.get(symbol)
                return (1 if primitive is None else _passes_of(primitive)) + parts
        return parts


def _passes_of(primitive: Primitive) -> int:
    return 2 if primitive.costly else 1


def function_of(
    parameters: Sequence[str], expr: Expr, types: Types, ufuncs: Ufuncs
) -> tuple[Expr, int | None]:
    """A function that computes the expression, and how many scratch arrays it takes.

    None instead of a number: it does not write into what it is given.

    What one function computes of exactly these parameters is that function: ``xp.exp``.
    """
    computed, scratch = allocate_scratch(expr, types, ufuncs)
    count: int | None = len(scratch)
    if OUT in names_in(computed):
        parameters = [*parameters, OUT, *scratch]
    else:
        computed, count = expr, None
    if isinstance(computed, Call):
        given = [*computed.arguments, *[k.value for k in computed.keywords]]
        if given == [Name(p) for p in parameters]:
            return computed.function, count
    return Lambda(tuple([Parameter(p) for p in parameters]), computed), count


def call_of(
    runner: Expr, function: Expr, given: Sequence[Expr], into: str = "", scratch: int | None = None
) -> Expr:
    """The call that runs a function on blocks of operands."""
    keywords = [Keyword("into", Name(into))] if into else []
    keywords += [] if scratch is None else [Keyword("scratch", Constant(scratch))]
    return Call(runner, (function, *given), tuple(keywords))
