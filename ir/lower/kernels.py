"""Lower: kernels to texts of LLVM modules, each of which has the function ``kernel``: a NumPy loop.

Kernels and routines come as they are declared, or as the rows of the tables that generated modules have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ..expressions import Attribute, Call, Expr, Name, Operation, Subscript, rewritten, walk
from ..kernels import NativeKernel, Operand
from ..reader import read_expression
from ..routines import Routine, Routines
from ..writer import write
from .columns import columns
from .elementwise import elementwise
from .rows import rows
from .scans import is_of_scans, scans
from .updates import updates
from .windows import windows

#: A kernel as a table has it: operands, results, the signature of its ufunc, statements.
Row = tuple[Sequence[str], Sequence[str], str, str]
#: What stands before the statements of a kernel that computes in float64.
WIDE = "in float64: "


def lower(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel for a scalar type. Raises Unlowerable."""
    if kernel.wide and scalar == "float32":
        kernel, scalar = without_rests(kernel.of_float32()), "float64"
    return _lowering(kernel)(kernel, routines, scalar)


def without_rests(kernel: NativeKernel) -> NativeKernel:
    """A kernel over rows that have fewer digits than it computes with.

    What they are away from their mean comes to 0, since that has digits to spare; to NaN where there is none.
    """

    def change(part: Expr) -> Expr:
        match part:
            case Call(
                Name("sum"), (Operation("-", (row, Operation("/", (Call() as total, _)) as mean)),)
            ) if total == Call(Name("sum"), (row,)):
                return Operation("-", (mean, mean))
        return part

    known = kernel.defined
    return replace(kernel, statements=tuple([(n, rewritten(known[n], change)) for n, _ in kernel.statements]))


def _lowering(kernel: NativeKernel) -> Callable[[NativeKernel, Routines, str], str]:
    if kernel.is_elementwise:
        return elementwise
    if kernel.is_over_windows:
        return windows
    if is_of_scans(kernel):
        return scans
    if kernel.updates and not kernel.updates_rows:
        return updates
    return columns if kernel.is_over_columns else rows


def lower_row(name: str, row: Row, routines: Mapping[str, Mapping[str, str]], scalar: str) -> str:
    """The module of a kernel of a table, with the routines of a table. Raises Unlowerable."""
    inputs, outputs, _, text = row
    operands = [tuple(map(Operand.read, side)) for side in (inputs, outputs)]
    kernel = NativeKernel(
        name, operands[0], operands[1], *read_body(text.removeprefix(WIDE)), text.startswith(WIDE)
    )
    read = {
        function: {s: read_routine(text) for s, text in of_scalars.items()}
        for function, of_scalars in routines.items()
    }
    return lower(kernel, read, scalar)


def row_of(kernel: NativeKernel) -> Row:
    """The row of a kernel."""
    inputs, outputs = [tuple(map(str, side)) for side in kernel.sides]
    updates = [(write(table), expr) for table, expr in kernel.updates]
    text = write_statements((*kernel.statements, *updates))
    return inputs, outputs, kernel.signature, WIDE + text if kernel.wide else text


def routines_used(kernels: Iterable[NativeKernel], routines: Routines) -> Routines:
    """The routines of the functions that kernels call, and of those that these call."""
    waiting = [expr for k in kernels for _, expr in (*k.statements, *k.updates)]
    found: dict[str, Mapping[str, Routine]] = {}
    while waiting:
        for node in walk(waiting.pop()):
            match node:
                case Call(Name(name) | Attribute(Name("xp"), name)) if name in routines and name not in found:
                    found[name] = routines[name]
                    waiting += [expr for p in routines[name].values() for _, expr in p.statements]
    return found


@functools.cache
def read_routine(text: str) -> Routine:
    """A routine as tables have it, whose operands stand before its statements: ``x: result = x * x``."""
    operands, _, statements = text.partition(": ")
    return Routine(tuple(operands.split(", ")), read_statements(statements), 0.0)


def write_routine(routine: Routine) -> str:
    """The text of a routine."""
    return f"{', '.join(routine.operands)}: {write_statements(routine.statements)}"


def read_body(text: str) -> tuple[tuple[tuple[str, Expr], ...], tuple[tuple[Subscript, Expr], ...]]:
    """The statements and the updates of a text, which ``;`` separates."""
    statements, updates = [], []
    for name, expr in read_statements(text):
        target = read_expression(name)
        if isinstance(target, Subscript):
            updates.append((target, expr))
        else:
            statements.append((name, expr))
    return tuple(statements), tuple(updates)


def read_statements(text: str) -> tuple[tuple[str, Expr], ...]:
    """The statements of a text, which ``;`` separates."""
    found = []
    for statement in text.split(";"):
        name, _, expr = statement.partition("=")
        found.append((name.strip(), read_expression(expr.strip())))
    return tuple(found)


def write_statements(statements: Sequence[tuple[str, Expr]]) -> str:
    """The text of statements."""
    return "; ".join([f"{name} = {write(expr)}" for name, expr in statements])
