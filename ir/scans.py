"""Scans in bodies: functions of a row that give each element what those up to it, or from it on, come to."""

from __future__ import annotations

from dataclasses import dataclass

from .expressions import Call, Constant, Expr, Keyword, Name, Operation
from .reader import read_expression

#: What says that a scan goes from the end of the row to its beginning.
REVERSE = "reverse"
#: The scans of native kernels, by whether they go from the end, and what two stretches come to in them.
NATIVE_SCANS = {False: "scan", True: "scan_back"}
BEFORE, AFTER = "before", "after"
#: In native scans, the index of an element.
PLACE = "place"
#: By the name of a reduction how native kernels bring two stretches together, and what changes nothing; then,
#: since a product may leave the range on the way, of which elements the order does not matter.
STRETCHES = {
    "sum": ("before + after", "-0.0"),
    "prod": ("before * after", "1", "(abs(after) > 1e-30) & (abs(after) < 1e30)"),
    "max": ("where((after >= before) | (after != after), after, before)", "-inf"),
    "min": ("where((after <= before) | (after != after), after, before)", "inf"),
}
#: The scans that give where what another one comes to stands, the last of equal ones on its way.
PLACES = {"argcummax": "cummax", "argcummin": "cummin"}
#: How native kernels bring together the places of two stretches, the last that is found, and one before all.
_LAST = {
    False: ("where(before > after, before, after)", Constant(0)),
    True: ("where(before < after, before, after)", Constant(1 << 62)),
}
#: The same as of reductions by the name of a scan.
SCANS = {
    **{f"cum{reduction}": how for reduction, how in STRETCHES.items()},
    "logcumsumexp": (
        "where(before == after, before + 0.6931471805599453,"
        " maximum(before, after) + log1p(exp(-abs(before - after))))",
        "-inf",
    ),
}
NAMES = (*SCANS, *PLACES)


@dataclass(frozen=True, slots=True)
class Scan:
    """The call of a scan in a body."""

    name: str
    row: Expr
    reverse: bool

    @classmethod
    def read(cls, expr: Expr) -> Scan | None:
        """Of ``cumsum(row)`` and ``cumsum(row, reverse=True)``; None of another expression."""
        match expr:
            case Call(Name(name), (row,), keywords) if name in NAMES:
                match keywords:
                    case ():
                        return cls(name, row, False)
                    case (Keyword(keyword, Constant(bool(reverse))),) if keyword == REVERSE:
                        return cls(name, row, reverse)
        return None

    def native(self) -> Call:
        """The same as native kernels have it."""
        way = Name(NATIVE_SCANS[self.reverse])
        if (of := self.of) is None:
            combination, first, *exact = map(read_expression, SCANS[self.name])
            return Call(way, (combination, self.row, first, *exact))
        text, none = _LAST[self.reverse]
        same, is_nan = Operation("==", (self.row, of.native())), Operation("!=", (self.row, self.row))
        place = Call(Name("where"), (Operation("|", (same, is_nan)), Name(PLACE), none))
        return Call(way, (read_expression(text), place, none))

    @property
    def of(self) -> Scan | None:
        """Of a scan of places, the one that they are places of."""
        name = PLACES.get(self.name)
        return None if name is None else Scan(name, self.row, self.reverse)

    def called(self, function: Expr, axis: Expr) -> Call:
        """The call of the function that scans arrays of a library; of places it gets what stands there."""
        values = () if self.of is None else (self.of.called(function, axis),)
        return Call(function, (Constant(self.name), self.row, axis, Constant(self.reverse), *values))
