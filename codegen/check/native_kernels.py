"""Check: native_kernels.yaml, the native kernels that kernels in runtime/native call by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..ir.expressions import Expr, Name, free_names
from ..ir.reader import read_assignments
from ..lower.instructions import Unlowerable
from ..lower.kernels import lower
from ..lower.passes import LENGTH, REDUCTIONS
from ..lower.scalars import NAMED_NUMBERS, Programs
from ..model.diagnostics import Report, one_of, suggestion
from ..model.kernels import SCALARS, NativeKernel, Operand
from ..model.program_language import FUNCTIONS
from ..model.source import Located, Place
from ..read.fields import length_of_scalar
from ..read.keys import Key

NATIVE_KERNEL_KEYS = {
    key.name: key
    for key in (
        Key("kernel", ("str",), "its name, its operands and its results"),
        Key("body", ("str",), "assignments to names, the results among them"),
    )
}
_HEAD = re.compile(r"(\w+)\(([^()]+)\) -> (?:\(([^()]+)\)|([^(),]+))")


def load_native_kernels(
    rows: Iterable[tuple[Mapping[str, Located], Place]], programs: Programs, report: Report
) -> dict[str, NativeKernel]:
    """The kernels by name; mistakes are reported."""
    found: dict[str, NativeKernel] = {}
    for fields, _ in rows:
        kernel = _kernel(fields["kernel"], fields["body"], programs, report)
        if kernel is None:
            continue
        if kernel.name in found:
            report.error(fields["kernel"].place, f'the kernel "{kernel.name}" is declared twice')
        found[kernel.name] = kernel
    return found


def _kernel(head: Located, body: Located, programs: Programs, report: Report) -> NativeKernel | None:
    read = _HEAD.fullmatch(head.value)
    try:
        if read is None:
            raise ValueError(f"{head.value!r} is no head of a kernel")
        inputs, outputs = (tuple(map(Operand.read, t.split(", "))) for t in (read[2], read[3] or read[4]))
    except ValueError as error:
        expected = "name(x[n], y, k:int64) -> z[n], or -> (z[n], total)"
        report.error(head.place, str(error), length=length_of_scalar(head), expected=expected)
        return None
    functions = {*REDUCTIONS, *FUNCTIONS, *NAMED_NUMBERS, *programs}
    statements = _statements(body, {LENGTH, *[o.name for o in inputs]}, functions, report)
    if statements is None:
        return None
    kernel = NativeKernel(read[1], inputs, outputs, statements)
    missing = [o.name for o in outputs if o.name not in dict(statements)]
    if missing:
        report.error(
            body.place, f"nothing is assigned to {one_of(missing)}", expected="each result is assigned"
        )
        return None
    try:
        for scalar in SCALARS:
            lower(kernel, programs, scalar)
    except Unlowerable as error:
        report.error(body.place, f"the kernel {kernel.name} cannot be lowered: {error}")
        return None
    return kernel


def _statements(
    body: Located, known: set[str], functions: set[str], report: Report
) -> tuple[tuple[str, Expr], ...] | None:
    """The assignments, whose names are all known; None where there are mistakes."""
    try:
        read = read_assignments(body.value)
    except SyntaxError as error:
        report.error(body.place, f"it is no list of assignments: {error.msg}", expected="name = expression")
        return None
    found: list[tuple[str, Expr]] = []
    for target, value in read:
        if not isinstance(target, Name):
            report.error(body.place, "a kernel has assignments to names only", expected="name = expression")
            return None
        for name in free_names(value):
            if name.id not in known | functions:
                message = f'unknown name "{name.id}" in the kernel'
                close = suggestion(name.id, known | functions)
                report.error(body.at(name.span[0]), message, length=len(name.id), help=close)
                return None
        found.append((target.id, value))
        known.add(target.id)
    return tuple(found)
