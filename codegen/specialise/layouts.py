"""Specialise: the layout of results, and the statements that see to it.

Most results have PyTorch's layout as the kernel makes them. The statements of the others ask first, by
attributes alone, whether there can be anything to do: contiguous operands cost no call.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    return ResultLayout("like", names) if names and operator.is_elementwise else None


def relaid(operator: Operator, kernel: Kernel, number: int, variable: str, arrays: bool) -> Relaid | None:
    """The statement that gives a result its layout; None where it has it by construction.

    ``arrays`` says that arrays are NumPy's.
    """
    layout = layout_of(operator, number)
    if layout is None:
        return None
    optional = {a.name for a in operator.schema.arguments if a.type.is_optional_tensor}
    operands = [(parameter_name(n), n in optional) for n in layout.arguments]
    given = ", ".join(f"None if {n} is None else {n}._array" if o else f"{n}._array" for n, o in operands)
    call = f"{layout.kind}(T.backend.lib, {', '.join(filter(None, (variable, given)))})"
    if layout.flag is not None:
        call = f"{call} if {parameter_name(layout.flag)} else contiguous(T.backend.lib, {variable})"
    if not arrays or layout.kind == "column_major":
        return Relaid(f"{variable}.ndim{'' if layout.kind == 'strided_as' else ' > 1'}", call)
    here = f"{variable}.flags.c_contiguous"
    if layout.kind == "contiguous":
        return Relaid(f"not {here}", f"{variable}.copy()")
    if operator.layout:
        tests = [*_contiguous(operands), here]
    elif kernel.function is None and not kernel.calls and len(operands) == 1:
        return None
    else:
        # NumPy's results are in the order of the operands where these agree, and in C's order where they do
        # not. PyTorch's are in the order of the first operand that has one, which is C's if it is contiguous.
        tests = _contiguous(operands[:-1] or operands if kernel.function is None else operands)
    return Relaid(f"not {tests[0]}" if len(tests) == 1 else f"not ({' and '.join(tests)})", call)


def _contiguous(operands: Sequence[tuple[str, bool]]) -> list[str]:
    return [
        f"({n} is None or {n}._array.flags.c_contiguous)" if o else f"{n}._array.flags.c_contiguous"
        for n, o in operands
    ]
