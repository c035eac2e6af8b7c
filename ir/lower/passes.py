"""Lower: in which passes over a row what is computed.

A reduction needs a pass over the row before its value can be used. The level of a value is the number of
passes that must have ended before it is known: a reduction is one level above what it reduces. What costs
much and is used again in a later pass is kept in the memory of a result that is written later, or in
scratch memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..expressions import (
    ELEMENTWISE_COMPARISONS,
    Attribute,
    Call,
    Constant,
    Expr,
    Name,
    Operation,
    Subscript,
    free_names,
    replaced,
    walk,
)
from ..kernels import REDUCED, NativeKernel
from ..routines import Routines
from ..scans import NATIVE_SCANS, PLACE
from .instructions import Kind, Unlowerable
from .reductions import is_first, is_reduction

#: How many elements a row has, and how many places a table.
LENGTH, PLACES = "n", "m"


def is_scan(expr: Expr) -> bool:
    """Whether an expression brings together what stands before each element, or after it."""
    match expr:
        case Call(Name(name), (_, _, _, *_), ()) if name in NATIVE_SCANS.values():
            return True
    return False


def kind_of_scan(scan: Expr) -> Kind:
    """Of what is scanned: of places if these are in it, and else of numbers."""
    assert isinstance(scan, Call)
    return Kind.LONG if Name(PLACE) in walk(scan.arguments[1]) else Kind.FLOAT


def go_back(exprs: Iterable[Expr]) -> bool:
    """Whether the scans among expressions go from the end. Raises Unlowerable where only some do."""
    ways = {e.function == Name(NATIVE_SCANS[True]) for e in exprs if is_scan(e) and isinstance(e, Call)}
    if len(ways) > 1:
        raise Unlowerable("scans of a kernel go one way")
    return True in ways


@dataclass
class Pass:
    """What one loop over a row does."""

    reductions: list[Call] = field(default_factory=list)
    results: list[tuple[str, Expr]] = field(default_factory=list)  # rows that are written, by their names
    kept: list[tuple[str, Expr]] = field(default_factory=list)  # and values into memory of these, for later

    @property
    def roots(self) -> list[Expr]:
        """All that is computed for each element."""
        return [*[r.arguments[0] for r in self.reductions], *[e for _, e in (*self.results, *self.kept)]]

    @property
    def looks(self) -> bool:
        """Whether it looks for places alone, and may end where they are found."""
        return all(map(is_first, self.reductions)) and not (self.results or self.kept)


class Plan:
    """The passes of a kernel over rows, along n, or over columns, along m."""

    def __init__(
        self, kernel: NativeKernel, routines: Routines, along: str = LENGTH, scratch: Sequence[str] = ()
    ) -> None:
        self.routines = routines
        self.scratch = scratch
        # What is converted when it is read costs something, too.
        self.converted = {o.name for o in kernel.inputs if scratch and o.dtype in REDUCED}
        self.rows = {o.name for o in kernel.inputs if along in o.dims} | {PLACE}
        self.tables = {o.name: along in o.dims[1:] for o in kernel.inputs if o.dims}
        self.whole = {o.name for o in kernel.outputs if not o.dtype}
        known = kernel.defined
        self._levels: dict[Expr, int] = {}
        self._is_row: dict[Expr, bool] = {}
        self.numbers = {o.name: known[o.name] for o in kernel.outputs if along not in o.dims}
        rows = {o.name: known[o.name] for o in kernel.outputs if along in o.dims}
        # What changes elements of rows when these are computed.
        inner = {name: expr for name, expr in known.items() if name not in rows}
        self.updates = [(replaced(table, inner), replaced(expr, inner)) for table, expr in kernel.updates]
        self.passes = self._passes(rows)
        self._keep(rows)

    @property
    def reductions(self) -> list[Call]:
        """Those of all passes."""
        return [reduction for done in self.passes for reduction in done.reductions]

    def _passes(self, rows: Mapping[str, Expr]) -> list[Pass]:
        found: dict[int, Pass] = {}
        for name, expr in rows.items():
            found.setdefault(self.level(expr), Pass()).results.append((name, expr))
        numbers = [*self.numbers.values(), *[part for update in self.updates for part in update]]
        for reduction in dict.fromkeys(self._reductions([*rows.values(), *numbers])):
            found.setdefault(self.level(reduction.arguments[0]), Pass()).reductions.append(reduction)
        return [found.get(level, Pass()) for level in range(max(found, default=-1) + 1)]

    def _reductions(self, exprs: Iterable[Expr]) -> Iterator[Call]:
        for expr in exprs:
            yield from self._reductions(expr.parts)
            if is_reduction(expr):
                assert isinstance(expr, Call)
                yield expr

    def _keep(self, rows: Mapping[str, Expr]) -> None:
        """Find memory for what later passes need; in that of a reduced dtype it would be rounded."""
        until = {name: self.level(expr) for name, expr in rows.items() if name in self.whole}
        free = [*sorted(until, key=lambda name: -until[name]), *self.scratch]
        uses: dict[Expr, int] = {}
        for number, done in enumerate(self.passes):
            for expr in [e for root in done.roots for e in self._needed(root, number)]:
                uses[expr] = number
        for expr, last in uses.items():
            memory = next((name for name in free if until.get(name, last) >= last), None)
            if memory is not None:
                free.remove(memory)
                self.passes[self.level(expr)].kept.append((memory, expr))

    def _needed(self, expr: Expr, number: int) -> Iterator[Expr]:
        """The costly parts of what a pass computes that an earlier one knew, the largest."""
        if is_reduction(expr) or not self.is_row(expr):
            return
        if self.level(expr) < number and self._is_costly(expr) and not _is_no_number(expr):
            yield expr
            return
        for part in expr.parts:
            yield from self._needed(part, number)

    def _is_costly(self, expr: Expr) -> bool:
        match expr:
            case Call(Name(name) | Attribute(Name("xp"), name)) if name in self.routines:
                return True
            case Name(name):
                return name in self.converted and self._is_read_at_first(name)
        return is_scan(expr) or (not is_reduction(expr) and any(map(self._is_costly, expr.parts)))

    def _is_read_at_first(self, name: str) -> bool:
        return any([n.id == name for root in self.passes[0].roots for n in free_names(root)])

    def level(self, expr: Expr) -> int:
        """The passes that must have ended before the value is known."""
        if expr not in self._levels:
            below = max([self.level(part) for part in expr.parts], default=0)
            self._levels[expr] = below + (1 if is_reduction(expr) else 0)
        return self._levels[expr]

    def is_row(self, expr: Expr) -> bool:
        """Whether there is a value for each element of the row."""
        if expr not in self._is_row:
            self._is_row[expr] = self._computed_is_row(expr)
        return self._is_row[expr]

    def _computed_is_row(self, expr: Expr) -> bool:
        match expr:
            case Name(name):
                return name in self.rows
            case Constant():
                return False
            case Subscript(Name(name), index) if name in self.tables:
                return self.is_row(index) or self.tables[name]
            case Call(_, arguments, ()) if is_reduction(expr):
                if len(arguments) != 1 or not self.is_row(arguments[0]):
                    raise Unlowerable("a reduction takes one row")
                return False
            case Call(_, (_, row, *_), ()) if is_scan(expr):
                if not self.is_row(row):
                    raise Unlowerable("a scan takes a row")
                return True
            case Operation(_, operands) | Call(_, operands, ()):
                return any([self.is_row(o) for o in operands])
        raise Unlowerable(f"{type(expr).__name__.lower()} has no native form over rows")


def _is_no_number(expr: Expr) -> bool:
    """Whether it is true or false, or made of places, which no memory for numbers keeps."""
    match expr:
        case Operation(symbol) if symbol in (*ELEMENTWISE_COMPARISONS, "&", "|", "~x"):
            return True
    return Name(PLACE) in walk(expr)


def operands_of(expr: Expr) -> Sequence[Expr]:
    """What an operation or a call is computed of."""
    if is_scan(expr) and isinstance(expr, Call):
        return expr.arguments[1:2]
    return expr.arguments if isinstance(expr, Call) else expr.parts
