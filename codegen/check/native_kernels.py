"""Check: native_kernels.yaml, the native kernels that kernels in runtime/kernels call by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...ir.expressions import Expr, Name, Subscript, free_names
from ...ir.kernels import REDUCED, SCALARS, NativeKernel, Operand
from ...ir.lower.instructions import Unlowerable
from ...ir.lower.kernels import lower
from ...ir.lower.passes import LENGTH, PLACES
from ...ir.lower.reductions import NAMES as REDUCTIONS
from ...ir.lower.scalars import NAMED_NUMBERS
from ...ir.lower.windows import OVER_TAPS, RANGE
from ...ir.reader import read_assignments
from ...ir.routines import FUNCTIONS, TO_INDEX, Routines
from ...ir.scans import AFTER, BEFORE, NATIVE_SCANS, PLACE
from ..model.diagnostics import Report, one_of, suggestion
from ..model.source import Located, Place
from ..read.fields import report_scalar
from ..read.keys import Key
from .kernel_families import Counts, FamilyBody, families_of, head_of, members
from .lowered import Lowered

NATIVE_KERNEL_KEYS = {
    key.name: key
    for key in (
        Key("kernel", ("str",), "its name, its operands and its results"),
        Key("counts", ("map",), "of a family, how many operands there are of each kind in each member"),
        Key("reduced", ("bool",), "whether there is one for each of float16 and bfloat16, too"),
        Key("body", ("str",), "assignments to names, the results among them"),
    )
}
#: Names in scans.
SCANS = (*NATIVE_SCANS.values(), BEFORE, AFTER, PLACE)
_COMMA = re.compile(r", (?![^\[]*\])")
_HEAD = re.compile(r"(\w+)\(([^()]+)\) -> (?:\(([^()]+)\)|([^(),\[]+(?:\[[^\]]+\])?(?::\w+)?))")


class LoweringCheck:
    """Whether there is machine code for kernels. ``answers`` are those of ``Lowered``."""

    def __init__(self, routines: Routines, answers: set[str], report: Report) -> None:
        self.routines, self.report = routines, report
        self.lowered = Lowered(routines, answers)

    def passes(self, kernel: NativeKernel, text: str, place: Place) -> bool:
        """Whether a kernel of this text is lowered; another is reported at the place."""
        return self.lowered.knows(text, lambda: self._is_lowered(kernel, place))

    def _is_lowered(self, kernel: NativeKernel, place: Place) -> bool:
        try:
            for scalar in SCALARS:
                lower(kernel, self.routines, scalar)
        except Unlowerable as error:
            self.report.error(place, f"the kernel {kernel.name} cannot be lowered: {error}")
            return False
        return True


def load_native_kernels(
    rows: Iterable[tuple[Mapping[str, Located], Place]],
    routines: Routines,
    check: LoweringCheck,
    report: Report,
) -> dict[str, NativeKernel]:
    """The kernels by name; mistakes are reported."""
    found: dict[str, NativeKernel] = {}
    for fields, _ in rows:
        head, body = fields["kernel"], fields["body"]
        for counts in members(fields.get("counts"), report):
            kernel = _kernel(head, body, counts, routines, report)
            if kernel is None:
                break
            if not check.passes(kernel, f"{head_of(head.value, counts)}\n{body.value}", body.place):
                break
            if kernel.name in found:
                report.error(head.place, f'the kernel "{kernel.name}" is declared twice')
            found[kernel.name] = kernel
            if "reduced" in fields and fields["reduced"].value:
                found.update({k.name: k for k in map(kernel.reduced, REDUCED)})
    return found


def _kernel(
    head: Located, body: Located, counts: Counts, routines: Routines, report: Report
) -> NativeKernel | None:
    text = head_of(head.value, counts)
    read = _HEAD.fullmatch(text)
    try:
        if read is None:
            raise ValueError(f"{text!r} is no head of a kernel")
        inputs, outputs = (tuple(map(Operand.read, _COMMA.split(t))) for t in (read[2], read[3] or read[4]))
    except ValueError as error:
        expected = "name(x[n], y, k:int64) -> z[n], or -> (z[n], total)"
        report_scalar(head, str(error), expected, report)
        return None
    functions = {*REDUCTIONS, *FUNCTIONS, TO_INDEX, *NAMED_NUMBERS, *SCANS, *OVER_TAPS, RANGE, *routines}
    tables = {o.name for o in outputs if o.dims}
    dims = {LENGTH, PLACES}
    if any(["q" in o.dims for o in outputs]):
        dims = {d for o in (*inputs, *outputs) for d in o.dims}
    family = FamilyBody(body, families_of(head.value, counts), counts, tables, report)
    read_body = _body(body, {*dims, *[o.name for o in inputs]}, family, functions, report)
    if read_body is None:
        return None
    kernel = NativeKernel(read[1], inputs, outputs, *read_body)
    assigned = {*dict(kernel.statements), *[n.id for table, _ in kernel.updates for n in free_names(table)]}
    missing = [o.name for o in outputs if o.name not in assigned]
    if missing:
        report.error(
            body.place, f"nothing is assigned to {one_of(missing)}", expected="each result is assigned"
        )
        return None
    return kernel


def _body(
    body: Located, known: set[str], family: FamilyBody, functions: set[str], report: Report
) -> tuple[tuple[tuple[str, Expr], ...], tuple[tuple[Subscript, Expr], ...]] | None:
    """The assignments and the updates, whose names are all known; None where there are mistakes."""
    try:
        read = family.lines(read_assignments(body.value))
    except SyntaxError as error:
        report.error(body.place, f"it is no list of assignments: {error.msg}", expected="name = expression")
        return None
    if not family.good:
        return None
    statements: list[tuple[str, Expr]] = []
    updates: list[tuple[Subscript, Expr]] = []
    for target, value in read:
        match target:
            case Name(name):
                if not _all_known(value, known | functions, body, report):
                    return None
                statements.append((name, value))
                known.add(name)
            case Subscript(Name(name)) if name in family.tables:
                if not all(
                    [_all_known(e, known | functions | {name}, body, report) for e in (target, value)]
                ):
                    return None
                updates.append((target, value))
            case _:
                expected = "name = expression, or result[index] = expression"
                message = "a kernel has assignments to names, and to elements of results"
                report.error(body.place, message, expected=expected)
                return None
    return tuple(statements), tuple(updates)


def _all_known(expr: Expr, known: set[str], body: Located, report: Report) -> bool:
    for name in free_names(expr):
        if name.id not in known:
            message = f'unknown name "{name.id}" in the kernel'
            close = suggestion(name.id, known)
            report.error(body.at(name.span[0]), message, length=len(name.id), help=close)
            return False
    return True
