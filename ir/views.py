"""Bodies of view operators: what dims of the result are, and where along the dims of the operand it begins.

The indices of such a body are affine in the places of the result. So the sizes of a view are its extents, its
strides are sums of the operand's, each times a step, and its offset is a sum of these, each times a start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .expressions import (
    Call,
    Conditional,
    Constant,
    Expr,
    Lambda,
    Name,
    Operation,
    Parameter,
    names_in,
    rewritten,
)
from .moves import SHAPE
from .statements import tuple_of

#: What kernels call the module of forms: ``views.diagonal`` is that of ``diagonal``.
VIEW_FORMS = "views"
#: What a body calls the number of dims of its operand.
NDIM = "ndim"

_ZERO, _ONE = Constant(0), Constant(1)


class NotAffine(Exception):
    """An index that does not go on in constant steps; ``expr`` is the part that does not."""

    def __init__(self, expr: Expr) -> None:
        super().__init__("it does not go on in constant steps")
        self.expr = expr


@dataclass(frozen=True, slots=True)
class Place:
    """A dim of the result: how many places it has, and by how much each index grows from one to the next.

    ``at`` is which dim of the result it is; None: it stands where the dim of the operand does.
    """

    at: Expr | None
    extent: Expr
    steps: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class View:
    """What a view shows of one operand.

    Where it is the same along ``each`` of several dims, there is one index, and one size, for all.
    """

    name: str  # the operator's function, as errors tell of it
    source: str  # the operand
    each: bool
    dims: tuple[Expr, ...]  # arguments and numbers, or, of ``each``, a list or a call; () for all dims
    sizes: tuple[str, ...]  # what the sizes of the dims are called
    numbers: tuple[str, ...]  # of one of several results, what the numbers are called that it is made of
    several: Expr | None  # what gives these numbers
    staying: tuple[Place, ...]  # one for each dim, or () where these go
    placed: tuple[Place, ...]  # those that have a dim of the result
    starts: tuple[Expr, ...]  # where each index begins
    condition: Expr | None  # without it the result is the operand
    arguments: tuple[str, ...]  # those of the form, in the order of the schema

    def form(self) -> Lambda:
        """The function of the operand's shape and the arguments that gives all of this, in numbers."""
        dims: Expr = Constant(None)
        if self.each and self.dims:
            (dims,) = self.dims
        elif not self.each:
            dims = tuple_of(self.dims)
        rule = _function((*self.sizes, *self.numbers), self._rule())
        several: Expr = Constant(None)
        if self.several is not None:
            several = _function(self.sizes, self.several)
        made = tuple_of([Constant(self.name), dims, Constant(self.each), rule, several])
        return _function((SHAPE, *self.arguments), _of_shape(made, self.source))

    def _rule(self) -> Expr:
        condition = Constant(True) if self.condition is None else self.condition
        staying = [tuple_of([p.extent, tuple_of(p.steps)]) for p in self.staying]
        placed = [tuple_of([p.at or _ZERO, p.extent, tuple_of(p.steps)]) for p in self.placed]
        return tuple_of([condition, tuple_of(staying), tuple_of(placed), tuple_of(self.starts)])


def affine(expr: Expr, places: Sequence[str]) -> tuple[Expr, dict[str, Expr]]:
    """Where an index begins, and by how much it grows with each place. Raises NotAffine."""
    if names_in(expr).isdisjoint(places):
        return expr, {}
    match expr:
        case Name(name):
            return _ZERO, {name: _ONE}
        case Operation("+" | "-" as symbol, (left, right)):
            start, steps = affine(left, places)
            other, more = affine(right, places)
            return _sum(symbol, start, other), {
                name: _sum(symbol, steps.get(name, _ZERO), more.get(name, _ZERO))
                for name in {**steps, **more}
            }
        case Operation("-x", (operand,)):
            return affine(Operation("-", (_ZERO, operand)), places)
        case Operation("*", (left, right)):
            if names_in(left).isdisjoint(places):
                left, right = right, left
            if names_in(right).isdisjoint(places):
                start, steps = affine(left, places)
                return _product(start, right), {name: _product(step, right) for name, step in steps.items()}
    raise NotAffine(expr)


def _sum(symbol: str, a: Expr, b: Expr) -> Expr:
    if b == _ZERO:
        return a
    if a == _ZERO:
        return b if symbol == "+" else Operation("-x", (b,))
    return Operation(symbol, (a, b))


def _product(a: Expr, b: Expr) -> Expr:
    if _ZERO in (a, b):
        return _ZERO
    return b if a == _ONE else Operation("*", (a, b))


def _of_shape(expr: Expr, source: str) -> Expr:
    """An expression that asks the shape for what it says of the operand, and chooses as Python does."""

    def change(part: Expr) -> Expr:
        match part:
            case Name(name) if name == source:
                return Name(SHAPE)
            case Name(name) if name == NDIM:
                return Call(Name("len"), (Name(SHAPE),))
            case Call(Name("where"), (condition, then, otherwise)):
                return Conditional(condition, then, otherwise)
        return part

    return rewritten(expr, change)


def _function(parameters: Sequence[str], body: Expr) -> Lambda:
    return Lambda(tuple(map(Parameter, parameters)), body)
