"""Bodies of operators that move elements: for each dim how long the result is, and where places come from.

Of such a body follows its form, a function of shapes and arguments, which the kernels of all backends ask;
the transposed asks the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .expressions import (
    Call,
    Chain,
    Constant,
    Expr,
    Lambda,
    Logical,
    Name,
    Operation,
    Parameter,
    Subscript,
    dotted,
    rewritten,
    walk,
)
from .statements import tuple_of

#: What stands for the module of forms in the kernel of a backend.
FORMS = "forms_of_moves"
#: What forms call what makes plans, the functions of integers, the shape of the source, and a size.
MAKE, FUNCTIONS, SHAPE, SIZE = "_make", "_np", "_sizes", "_size"
#: The functions of integers in bodies, and what they are called over places.
INTEGERS = {"min": "minimum", "max": "maximum", "abs": "absolute", "where": "where"}
#: The logical operators, and what they are over places.
_LOGICAL = {"and": "&", "or": "|"}


@dataclass(frozen=True, slots=True)
class Move:
    """What moves along dims of one operand.

    Where it is the same along ``each`` of several dims, there is one size, one place and so on for all.
    """

    source: str  # the operand
    each: bool
    dims: tuple[Expr, ...]  # an argument, or a call of a kernel function; else numbers
    in_one: bool  # whether, where the argument names no dim, all elements are one row
    sizes: tuple[str, ...]  # what the sizes of the dims are called
    lists: tuple[tuple[tuple[str, ...], str], ...]  # names of numbers that go with each dim, and of what list
    places: tuple[str, ...]  # what the places of the result are called
    order: tuple[int, ...]  # for each the number of the index that says where it is from
    extents: tuple[Expr, ...]  # how many there are
    indices: tuple[Expr, ...]  # where each is from
    conditions: tuple[Expr | None, ...]  # where that is, along each dim
    mask: Expr | None  # where that is, along several dims together
    fill: Expr  # what stands elsewhere: an argument, or 0
    arguments: tuple[str, ...]  # those of the form, in the order of the schema

    @property
    def capability(self) -> str:
        """What a backend must be able to do."""
        return "moves"

    @property
    def operand(self) -> tuple[Expr, ...]:
        """What the kernel gets behind the form, and the order in memory."""
        return self.fill, Name(self.source)

    @property
    def numbers(self) -> tuple[str, ...]:
        """What the numbers are called that go with each dim."""
        return tuple([name for names, _ in self.lists for name in names])

    def form(self) -> Lambda:
        """The function of what makes plans, the shape of the source and the arguments, which gives a plan."""
        call = self._each() if self.each else self._fixed()
        return _function((MAKE, SHAPE, *self.arguments), call)

    def _each(self) -> Expr:
        (dims,), (size,), (place,) = self.dims, self.sizes, self.places
        checked = isinstance(dims, Call)
        lists = [tuple_of([Name(values), Constant(len(names))]) for names, values in self.lists]
        given = (size, *self.numbers)
        extent = _function(given, self.extents[0])
        sources = _source(self.indices[0], self.conditions[0])
        what = tuple_of(lists), extent, _function((FUNCTIONS, place, *given), sources)
        where = of_shape(dims, self.source), Constant(checked), Constant(self.in_one)
        return Call(dotted(f"{MAKE}.each"), (Name(SHAPE), *where, *what))

    def _fixed(self) -> Expr:
        along = [
            _function((FUNCTIONS, place, SIZE), _source(self.indices[number], condition))
            for place, number, condition in zip(self.places, self.order, self.conditions, strict=True)
        ]
        mask: Expr = Constant(None)
        numbers: Expr = Constant(None)
        if self.mask is not None:
            if not any([isinstance(part, Operation) and part.symbol == "*" for part in walk(self.mask)]):
                numbers = tuple_of(_numbers(self.mask, self.arguments))
            mask = _function((FUNCTIONS, *self.places, *self.sizes), over_places(self.mask))
        extents = _function(self.sizes, tuple_of(self.extents))
        sources = _function(self.sizes, tuple_of([tuple_of(along), mask]))
        where = tuple_of(self.dims), tuple_of(map(Constant, self.order))
        return Call(dotted(f"{MAKE}.fixed"), (Name(SHAPE), *where, extents, sources, numbers))


def over_places(expr: Expr) -> Expr:
    """An expression of integers as one of arrays, of NumPy or of what has its operators."""

    def change(part: Expr) -> Expr:
        match part:
            case Call(Name(name), (first, *others)) if name in ("min", "max"):
                for other in others:
                    first = Call(dotted(f"{FUNCTIONS}.{INTEGERS[name]}"), (first, other))
                return first
            case Call(Name(name), arguments) if name in INTEGERS:
                return Call(dotted(f"{FUNCTIONS}.{INTEGERS[name]}"), arguments)
            case Chain(symbols, operands):
                pairs = zip(symbols, operands, operands[1:], strict=False)
                return _all_of([Operation(symbol, (a, b)) for symbol, a, b in pairs], "&")
            case Logical(symbol, operands):
                return _all_of(operands, _LOGICAL[symbol])
        return part

    return rewritten(expr, change)


def _all_of(parts: Sequence[Expr], symbol: str) -> Expr:
    first, *others = parts
    for other in others:
        first = Operation(symbol, (first, other))
    return first


def _numbers(expr: Expr, arguments: Sequence[str]) -> list[Expr]:
    """The arguments, and the elements of lists, of an expression of integers, each once."""
    found = [p for p in walk(expr) if isinstance(p, Subscript) or (isinstance(p, Name) and p.id in arguments)]
    lists = {p.value for p in found if isinstance(p, Subscript)}
    return [p for p in dict.fromkeys(found) if p not in lists]


def _source(index: Expr, condition: Expr | None) -> Expr:
    return tuple_of([over_places(index), Constant(None) if condition is None else over_places(condition)])


def of_shape(dims: Expr, source: str) -> Expr:
    """The dims, of which a function is asked with the shape of the source."""
    return rewritten(dims, lambda part: Name(SHAPE) if part == Name(source) else part)


def _function(parameters: Sequence[str], body: Expr) -> Lambda:
    return Lambda(tuple(map(Parameter, parameters)), body)
