"""Lower: loops over the elements of operands, and the values that are known in them.

What lowers a kernel opens loops over its dims, in the order and over the ranges that it chooses, and asks in
them for the values of expressions. A value is computed in the innermost loop in which it is asked for, and
holds there and in the loops within, until one of the dims along which it differs is gone through anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..expressions import Expr, Name, Subscript
from ..kernels import NativeKernel, Operand
from ..routines import Routines
from .instructions import Instructions, Kind, Value
from .loops import Arrays, Memory
from .passes import operands_of
from .scalars import Operand as ScalarOperand, ScalarLowering

#: The dim of the outermost loop: that of an elementwise kernel, and of a generalised ufunc over its calls.
OUTER = ""
#: Of what is written while it is read: it is another after each write.
_ANY = frozenset({"*"})
Scope = dict[Expr, ScalarOperand]


class Nest:
    """Loops around what is put out, and the values of expressions in them."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        self.kernel = kernel
        self.body = Instructions()
        self.scalars = ScalarLowering(self.body, scalar, routines)
        self.memory = Memory(self.body, self.scalars.width)
        self.body.label("entry")
        self.arrays = Arrays(self.memory, kernel)
        self.results = {o.name for o in kernel.outputs}
        #: Where the loops stand that are open, and the operands at that of the outermost.
        self.places: dict[str, str] = {}
        self.pointers: dict[str, str] = {}
        #: The operands whose elements follow each other along their last dim.
        self.following: frozenset[str] = frozenset()
        self._scopes: list[tuple[frozenset[str], Scope]] = [(frozenset(), {})]
        self._dims: dict[Expr, frozenset[str]] = {}

    # -- loops -------------------------------------------------------------------------------

    @contextmanager
    def scope(self, places: Mapping[str, str], known: Scope | None = None) -> Iterator[Scope]:
        """What is put out inside is at ``places``; what is known there."""
        before = self.places
        self.places = {**before, **places}
        found: Scope = {} if known is None else known
        self._scopes.append((frozenset(places), found))
        yield found
        self._scopes.pop()
        self.places = before

    @contextmanager
    def loop(
        self, dim: str, begin: str, end: str, step: str = "1", *, parallel: bool = False
    ) -> Iterator[str]:
        """A loop along a dim, as ``Memory.over`` has it."""
        with self.memory.over(begin, end, step, parallel) as index, self.scope({dim: index}):
            yield index

    @contextmanager
    def outer(self, begin: str = "0", end: str = "", step: int = 1) -> Iterator[None]:
        """The outermost loop, over all that the function is called for or some of it."""
        with self.loop(OUTER, begin, end or self.arrays.outer, str(step)) as index:
            self.pointers = self.arrays.pointers(index)
            yield

    @contextmanager
    def contiguous(self, operands: Iterable[Operand]) -> Iterator[None]:
        """What the function does where the elements of operands follow each other along their last dims."""
        operands = list(operands)
        with self.memory.version(self.arrays.follow(operands)):
            self.following = frozenset([o.name for o in operands])
            yield
        self.following = frozenset()

    # -- values ------------------------------------------------------------------------------

    def value(self, expr: Expr) -> ScalarOperand:
        """The value of an expression at the places where the loops stand."""
        inner: frozenset[str] = frozenset()
        for places, known in reversed(self._scopes):
            if expr in known and (not inner or inner.isdisjoint(self.varies(expr))):
                return known[expr]
            inner |= places
        found = self._scopes[-1][1][expr] = self.new(expr)
        return found

    def know(self, expr: Expr, value: ScalarOperand) -> None:
        """From here on, in the loops that are open, this is the value of an expression."""
        self._scopes[-1][1][expr] = value

    def prepare(self, exprs: Iterable[Expr]) -> None:
        """Compute what is the same in all of the loops that are opened next."""
        for expr in exprs:
            if self.varies(expr) <= self.places.keys():
                self.value(expr)
            else:
                self.prepare(self.inner(expr))

    def varies(self, expr: Expr) -> frozenset[str]:
        """The dims along which the value of an expression differs."""
        if expr not in self._dims:
            self._dims[expr] = self.dims_of(expr)
        return self._dims[expr]

    def dims_of(self, expr: Expr) -> frozenset[str]:
        """The same, found anew: what subclasses know more of."""
        match expr:
            case Name(name) if name in self.arrays.numbers:
                return frozenset({OUTER, *self.arrays.operand(name).dims})
            case Subscript(Name(name), index) if name in self.arrays.numbers:
                written = _ANY if name in self.results else frozenset()
                rest = self.arrays.operand(name).dims[1:]
                return frozenset({OUTER, *rest}).union(self.varies(index), written)
        return frozenset[str]().union(*map(self.varies, self.inner(expr)))

    def inner(self, expr: Expr) -> Sequence[Expr]:
        """What the value of an expression is computed of."""
        match expr:
            case Name():
                return ()
            case Subscript(_, index):
                return (index,)
        return operands_of(expr)

    def new(self, expr: Expr) -> ScalarOperand:
        """The value of an expression, computed here."""
        match expr:
            case Name(name) if name in self.arrays.numbers:
                return self.load(name)
            case Subscript(Name(name), index) if name in self.arrays.numbers:
                return self.load(name, self.picked(name, index))
        return self.scalars.computed(expr, self.value)

    # -- memory ------------------------------------------------------------------------------

    def picked(self, name: str, index: Expr) -> dict[str, str]:
        """The place of a table that an index says, along the first of its dims."""
        place = self.arrays.place(name, self.scalars.value(self.value(index), Kind.LONG))
        return {self.arrays.operand(name).dims[0]: place}

    def at(self, name: str, places: Mapping[str, str] | None = None) -> str:
        """The pointer to an operand's element at the places where the loops stand, but for these."""
        return self.arrays.at(
            name, self.pointers[name], {**self.places, **(places or {})}, name in self.following
        )

    def load(self, name: str, places: Mapping[str, str] | None = None) -> Value:
        """The element of an operand."""
        return self.memory.load(self.arrays.operand(name), self.at(name, places))

    def store(self, name: str, expr: Expr, places: Mapping[str, str] | None = None) -> None:
        """Write the value of an expression into an operand."""
        operand = self.arrays.operand(name)
        text = self.scalars.stored(self.value(expr), operand)
        self.memory.store(operand, text, self.at(name, places))

    def update(self, table: Expr, expr: Expr) -> None:
        """Write the value of an expression to where an index says, of which nothing is known afterwards."""
        assert isinstance(table, Subscript) and isinstance(table.value, Name)
        self.store(table.value.id, expr, self.picked(table.value.id, table.index))
        for _, known in self._scopes:
            for each in [e for e in known if not _ANY.isdisjoint(self.varies(e))]:
                del known[each]
