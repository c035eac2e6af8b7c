"""Specialise: the layout of results, and the statements that see to it.

Most results have PyTorch's layout as the kernel makes them. The statements of the others ask first, by
attributes alone, whether there can be anything to do: contiguous operands cost no call.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.expressions import Conditional, Expr, Name, Operation, all_of, dotted
from ...ir.reader import filled
from ...ir.statements import call, unless_none
from ..model.annotations import parameter_name
from ..model.operators import Kernel, Operator, ResultLayout
from ..model.results import Relaid


def layout_of(operator: Operator, number: int) -> ResultLayout | None:
    """What is declared of a result; else what the operator's tags say: row-major for reductions over some
    dimensions, that of the operands for elementwise operators."""
    if operator.layout:
        return operator.layout[number]
    if "reduction" in operator.tags:
        over_some = any(a.name == "dim" for a in operator.schema.arguments)
        return ResultLayout("contiguous") if over_some else None
    names = tuple(a.name for a in operator.schema.arguments if a.is_tensor)
    return ResultLayout("like", names) if names and operator.of_elements else None


def relaid(operator: Operator, kernel: Kernel, number: int, variable: str, arrays: bool) -> Relaid | None:
    """The statement that gives a result its layout; None where it has it by construction.

    ``arrays`` says that arrays are NumPy's.
    """
    layout = layout_of(operator, number)
    if layout is None:
        return None
    optional = {a.name for a in operator.schema.arguments if a.type.is_optional_tensor}
    operands = [(parameter_name(n), n in optional) for n in layout.arguments]
    r, library = Name(variable), filled("T.backend.lib")
    arrays_of = [(Name(n), dotted(f"{n}._array"), o) for n, o in operands]
    given = [unless_none(x, array) if o else array for x, array, o in arrays_of]
    made: Expr = call(layout.kind, library, r, *given)
    if layout.flag is not None:
        made = Conditional(Name(parameter_name(layout.flag)), made, call("contiguous", library, r))
    if not arrays or layout.kind == "column_major":
        several = filled("r.ndim" if layout.kind == "strided_as" else "r.ndim > 1", r=r)
        return Relaid(several, made)
    here = filled("r.flags.c_contiguous", r=r)
    if layout.kind == "contiguous":
        return Relaid(Operation("not x", (here,)), filled("r.copy()", r=r))
    if layout.kind == "channels_last":
        # Where there is one channel, or one pixel, what is contiguous may be channels-last as well.
        one_order = [filled("not x._array.shape.count(1)", x=Name(n)) for n, _ in operands]
        tests = [*_contiguous(operands), here, *one_order]
    elif operator.layout:
        tests = [*_contiguous(operands), here]
    elif kernel.function is None and not kernel.calls and len(operands) == 1:
        return None
    else:
        # NumPy's results are in the order of the operands where these agree, and in C's order where they do
        # not. PyTorch's are in the order of the first operand that has one, which is C's if it is contiguous.
        tests = _contiguous(operands[:-1] or operands if kernel.function is None else operands)
    return Relaid(Operation("not x", (all_of(tests),)), made)


def _contiguous(operands: Sequence[tuple[str, bool]]) -> list[Expr]:
    test = "x._array.flags.c_contiguous"
    return [filled(f"x is None or {test}" if o else test, x=Name(n)) for n, o in operands]
