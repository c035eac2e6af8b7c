"""Scans in bodies: functions of a row that give each element what those up to it, or from it on, come to."""

from __future__ import annotations

from dataclasses import dataclass

from .expressions import Call, Constant, Expr, Keyword, Name
from .reader import read_expression

#: What says that a scan goes from the end of the row to its beginning.
REVERSE = "reverse"
#: The scans of native kernels, by whether they go from the end, and what two stretches come to in them.
NATIVE_SCANS = {False: "scan", True: "scan_back"}
BEFORE, AFTER = "before", "after"
#: By the name of a reduction how native kernels bring two stretches together, and what changes nothing.
_STRETCHES = {
    "sum": ("before + after", "-0.0"),
    "prod": ("before * after", "1"),
    "max": ("where((after >= before) | (after != after), after, before)", "-inf"),
    "min": ("where((after <= before) | (after != after), after, before)", "inf"),
}
#: The same by the name of a scan.
SCANS = {
    **{f"cum{reduction}": how for reduction, how in _STRETCHES.items()},
    "logcumsumexp": (
        "where(before == after, before + 0.6931471805599453,"
        " maximum(before, after) + log1p(exp(-abs(before - after))))",
        "-inf",
    ),
}


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
            case Call(Name(name), (row,), keywords) if name in SCANS:
                match keywords:
                    case ():
                        return cls(name, row, False)
                    case (Keyword(keyword, Constant(bool(reverse))),) if keyword == REVERSE:
                        return cls(name, row, reverse)
        return None

    def native(self) -> Call:
        """The same as native kernels have it."""
        combination, first = map(read_expression, SCANS[self.name])
        return Call(Name(NATIVE_SCANS[self.reverse]), (combination, self.row, first))

    def called(self, function: Expr, axis: Expr) -> Call:
        """The call of the function that scans arrays of a library."""
        return Call(function, (Constant(self.name), self.row, axis, Constant(self.reverse)))
