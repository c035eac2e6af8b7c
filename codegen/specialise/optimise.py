"""Specialise: expressions over arrays, with the same values.

``eliminate_common_subexpressions`` gives names to what would be
computed more than once. ``allocate_scratch`` makes the body of a function that asks for no memory: it gets
arrays for the result and for what is computed on the way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from ...ir.expressions import (
    Assigned,
    Call,
    Chain,
    Comprehension,
    Conditional,
    Expr,
    Lambda,
    Logical,
    Name,
    Operation,
    count_names,
    mapped,
    replaced,
)
from ...ir.types import ARRAY, Types
from ..derive.ufuncs import Ufuncs, is_power, writing
from ..model.operators import Primitive

#: What functions call the array that they write their result into.
OUT = "out"
#: A name, and the expression that it stands for.
Named = tuple[str, Expr]
#: What computes of its parts, all of them, a value of its own.
_COMPUTATIONS = (Operation, Chain, Call)
#: What may leave a part uncomputed, or compute it several times.
_CHOICES = (Conditional, Logical, Lambda, Comprehension)


def inline(statements: Iterable[Named], expr: Expr) -> Expr:
    """The expression with its names replaced by what they stand for."""
    known: dict[str, Expr] = {}
    for name, value in statements:
        known[name] = replaced(value, known)
    return replaced(expr, known)


def eliminate_common_subexpressions(
    exprs: Sequence[Expr], types: Types, prefix: str = "t"
) -> tuple[list[Named], list[Expr]]:
    """Names for the computations over arrays that the expressions have in common, and these with the names.

    A choice between two ways stays whole: what only one of them computes may not be there for the other.
    """
    counts = Counter(part for expr in exprs for part in _computations(expr, types))
    common = _CommonSubexpressions({part for part, count in counts.items() if count > 1}, prefix)
    values = [common.of(expr) for expr in exprs]
    named = common.named
    while True:  # what is only a part of something else that is shared needs no name
        uses = count_names([*(v for _, v in named), *values])
        single = next(((name, value) for name, value in named if uses.get(name) == 1), None)
        if single is None:
            return _numbered(named, values, prefix)
        name, value = single
        named = [(n, replaced(v, {name: value})) for n, v in named if n != name]
        values = [replaced(v, {name: value}) for v in values]


def _numbered(named: Sequence[Named], values: Sequence[Expr], prefix: str) -> tuple[list[Named], list[Expr]]:
    names = {name: Name(f"{prefix}{i}") for i, (name, _) in enumerate(named)}
    return [(names[n].id, replaced(v, names)) for n, v in named], [replaced(v, names) for v in values]


def _computations(expr: Expr, types: Types) -> Iterator[Expr]:
    """What is computed of arrays, whichever ways are taken."""
    if isinstance(expr, _CHOICES):
        return
    if isinstance(expr, _COMPUTATIONS) and types.of(expr).may_be_array:
        yield expr
    for part in expr.parts:
        yield from _computations(part, types)


class _CommonSubexpressions:
    """Puts names in the places of computations that come again."""

    def __init__(self, again: Collection[Expr], prefix: str) -> None:
        self.again, self.prefix = again, prefix
        self.names: dict[Expr, str] = {}
        self.named: list[Named] = []

    def of(self, expr: Expr) -> Expr:
        """The expression with the names."""
        if isinstance(expr, _CHOICES):
            return expr
        if expr not in self.again:
            return mapped(expr, self.of)
        if expr not in self.names:
            value = mapped(expr, self.of)
            self.names[expr] = f"{self.prefix}_{len(self.names)}"
            self.named.append((self.names[expr], value))
        return Name(self.names[expr])


# -- memory that is given --------------------------------------------------------------------


def allocate_scratch(expr: Expr, types: Types, ufuncs: Ufuncs) -> tuple[Expr, list[str]]:
    """The expression computed into the array ``out``, and the names of the scratch arrays that it needs.

    Where these, or ``out``, are None it computes the same in new arrays. ``out`` is written last, by one
    elementwise function, so that it may be the memory of an operand.
    """
    allocation = _Allocation(types, ufuncs)
    if isinstance(expr, Conditional):
        then, otherwise = allocation.result(expr.then), allocation.result(expr.otherwise)
        return Conditional(expr.condition, then, otherwise), allocation.made
    return allocation.result(expr), allocation.made


class _Allocation:
    """Gives every value on the way to a result a scratch array, for as long as it is needed."""

    def __init__(self, types: Types, ufuncs: Ufuncs) -> None:
        self.given, self.ufuncs = types, ufuncs
        self.made: list[str] = []
        self.free: list[str] = []
        self.named: dict[str, Expr] = {}  # what is shared, until it is computed
        self.types = types

    def result(self, expr: Expr) -> Expr:
        """The whole expression."""
        self.free = list(self.made)
        named, (value,) = eliminate_common_subexpressions([expr], self.given)
        self.named = dict(named)
        self.types = self.given.having({Name(name): ARRAY for name, _ in named})
        return self.place(value, OUT)[0]

    def place(self, expr: Expr, target: str | None = None) -> tuple[Expr, str | None]:
        """An expression, and the scratch array with its value that is free when the value has been used."""
        if isinstance(expr, Name) and expr.id in self.named:
            value, _ = self.place(self.named.pop(expr.id), target)
            return Assigned(expr.id, value), None
        if isinstance(expr, Name | Conditional) or not self.types.of(expr).may_be_array:
            return expr, None
        primitive, parts = self.function(expr)
        placed = [self.place(part) for part in parts]
        held = list(dict.fromkeys(place for _, place in placed if place is not None))
        if primitive is None:
            self.free += held
            return _with_operands(expr, [part for part, _ in placed]), None
        if target is None:
            target = held.pop() if held else self.take()
        self.free += held
        return writing(primitive, expr, [part for part, _ in placed], Name(target)), target

    def take(self) -> str:
        """A scratch array that is free."""
        if not self.free:
            self.made.append(f"s{len(self.made)}")
            return self.made[-1]
        return self.free.pop()

    def function(self, expr: Expr) -> tuple[Primitive | None, Sequence[Expr]]:
        """The primitive that writes an expression, or None, and its operands.

        Of a power by Python's operator special exponents are computed in other ways than by the function.
        """
        found = None if is_power(expr) else self.ufuncs.last(expr)
        if found is None:
            return None, _operands(expr)
        primitive, parts = found
        return (primitive if _gives_numbers(primitive) else None), parts


def _gives_numbers(primitive: Primitive) -> bool:
    """Whether a function can write into an array of its operands' dtype."""
    return primitive.out and any([d is not None for d in primitive.derivative or ()])


def _operands(expr: Expr) -> tuple[Expr, ...]:
    """What is computed before an expression: of a call what is given, not the function."""
    return expr.parts[1:] if isinstance(expr, Call) else expr.parts


def _with_operands(expr: Expr, operands: Sequence[Expr]) -> Expr:
    """The same computation of other operands."""
    return expr.with_parts([expr.function, *operands] if isinstance(expr, Call) else operands)
