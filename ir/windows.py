"""Bodies of operators over windows: for each dim how many places the result has, and what each is made of.

Each place brings together what a window sees, along all dims: its sum or mean, or the maximum and where it
is. Of such a body follows its form, a function of shapes and arguments, which the kernels of all backends
ask; the transposed asks the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from .expressions import Call, Constant, Elements, Expr, Lambda, Logical, Name, Parameter, dotted
from .moves import FUNCTIONS, MAKE, SHAPE, of_shape, over_places

#: What stands for the dims of a body whose list says how many they are: these are the last ones.
LAST = "last"
#: The functions that bring together what a window sees, and the capabilities of backends that do.
REDUCTIONS = {"sum": "sums", "mean": "sums", "max": "maxima"}


@dataclass(frozen=True, slots=True)
class Window:
    """What is brought together along dims of one operand, along each in the same way."""

    source: str  # the operand
    reduction: str
    dims: Expr | None  # the argument that says along which; None for the last ones
    size: str  # what the size of a dim is called
    lists: tuple[tuple[tuple[str, ...], Expr], ...]  # names of numbers that go with a dim, and of what list
    place: str  # what the places of the result are called
    extent: Expr  # how many there are
    begin: Expr  # where the window of a place begins and ends, and the step in it
    end: Expr
    gap: Expr
    taps: Call | None  # in the place of windows: the call that gives elements and their weights, of a dim
    divisor: Expr | None  # what is divided by, of each dim
    whole: Expr | None  # what is divided by instead, where it is neither None nor 0
    arguments: tuple[str, ...]  # those of the form, in the order of the schema

    @property
    def capability(self) -> str:
        """What a backend must be able to do."""
        return REDUCTIONS[self.reduction]

    @property
    def operand(self) -> tuple[Expr, ...]:
        """What the kernel gets behind the form."""
        return (Name(self.source),)

    @property
    def numbers(self) -> tuple[str, ...]:
        """What the numbers are called that go with each dim."""
        return tuple([name for names, _ in self.lists for name in names])

    @property
    def sizes(self) -> tuple[str, ...]:
        """What the size of a dim is called."""
        return (self.size,)

    @property
    def places(self) -> tuple[str, ...]:
        """What the places of the result are called."""
        return (self.place,)

    def form(self) -> Lambda:
        """The function of what makes plans, the shape of the source and the arguments, which gives a plan."""
        lists = [of_shape(values, self.source) for _, values in self.lists]
        dims = Constant(None) if self.dims is None else self.dims
        parts = (self.begin, self.end, self.gap)
        taps = self.taps or Elements("tuple", tuple(map(over_places, parts)))
        what = self._along(self.extent), self._over_places(taps), self._divided()
        call = Call(dotted(f"{MAKE}.windows"), (Name(SHAPE), dims, Elements("tuple", tuple(lists)), *what))
        return Lambda(tuple(map(Parameter, (MAKE, SHAPE, *self.arguments))), call)

    def _divided(self) -> Expr:
        if self.reduction == "mean":
            return Constant(True)
        own = Constant(None) if self.divisor is None else self._over_places(over_places(self.divisor))
        if self.whole is None:
            return own
        return Logical("or", (self.whole, own))

    def _along(self, expr: Expr) -> Lambda:
        return Lambda(tuple(map(Parameter, (self.size, *self.numbers))), expr)

    def _over_places(self, expr: Expr) -> Lambda:
        names = FUNCTIONS, self.place, self.size, *self.numbers
        return Lambda(tuple(map(Parameter, names)), expr)
