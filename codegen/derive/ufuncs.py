"""The function of the array namespace that an expression ends in, be it called or written as an operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir.expressions import Attribute, Call, Expr, Keyword, Name, Operation
from ..model.operators import Primitive
from ..read.functions import generated_name


class Ufuncs:
    """Knows the primitives by the names and the symbols under which expressions use them."""

    def __init__(self, primitives: Mapping[str, Primitive]) -> None:
        self.primitives = primitives
        self.by_symbol = {p.symbol: p for p in primitives.values() if p.symbol is not None}
        #: Those that are functions of their own, by what declarations and generated code call them.
        self.apart: dict[Expr, Primitive] = {}
        for p in primitives.values():
            if p.function is not None:
                self.apart |= {Name(p.name): p, generated_name(p.function): p}

    def last(self, expr: Expr) -> tuple[Primitive, tuple[Expr, ...]] | None:
        """The primitive that computes an expression's value, and its operands; None for anything else."""
        match expr:
            case Operation(symbol, operands) if symbol in self.by_symbol:
                return self.by_symbol[symbol], operands
            case Call(function, operands, ()) if (primitive := self.named(function)) is not None:
                return primitive, operands
        return None

    def named(self, function: Expr) -> Primitive | None:
        """The primitive that a function is: ``xp.exp``, ``erf``."""
        match function:
            case Attribute(Name("xp"), name) if (found := self.primitives.get(name)) is not None:
                return found if found.function is None else None
        return self.apart.get(function)


def writing(primitive: Primitive, expr: Expr, operands: Sequence[Expr], out: Expr) -> Call:
    """The computation of an expression of a primitive that writes into an array."""
    if primitive.function is not None and isinstance(expr, Call):  # imported on first use: takes no keywords
        return Call(expr.function, (*operands, out))
    return Call(Attribute(Name("xp"), primitive.name), tuple(operands), (Keyword("out", out),))


def is_power(expr: Expr) -> bool:
    """Whether it is Python's ``**``, which has short ways for some exponents that the function has not."""
    return isinstance(expr, Operation) and expr.symbol == "**"
