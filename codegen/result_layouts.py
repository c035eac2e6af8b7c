"""The layout of results: what ``layout`` says of an operator, and the statements that see to it.

Most results have PyTorch's layout as the kernel makes them. The statements of the others ask first, by
attributes alone, whether there can be anything to do: contiguous operands cost no call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .annotations import parameter_name
from .blocks import elementwise
from .diagnostics import Report, one_of, suggestion
from .fields import length_of_scalar
from .methods import Relaid
from .model import Kernel, Located, Operator, ResultLayout, Schema

#: The layouts that need no argument, and those that are made from that of arguments.
PLAIN = ("contiguous", "column_major")
OF_ARGUMENTS = ("like", "strided_as", "channels_last")
_WRITTEN = re.compile(r"(\w+)(?:\(([\w\s,]+)\))?(?: if (\w+))?")


def parse_layouts(located: Located | None, schema: Schema, report: Report) -> tuple[ResultLayout | None, ...]:
    """A layout for each result, None where the kernel's is right; mistakes are reported."""
    if located is None:
        return ()
    written = located.value if isinstance(located.value, tuple) else (located,)
    if len(written) != len(schema.returns):
        expected = f"a list of {len(schema.returns)}, with null for a result whose layout the kernel makes"
        report.error(located.place, f"{len(written)} layouts for {len(schema.returns)} results",
                     length=length_of_scalar(located), expected=expected)  # fmt: skip
        return ()
    return tuple(_layout(one, schema, report) for one in written)


def _layout(located: Located, schema: Schema, report: Report) -> ResultLayout | None:
    text = located.value
    if text is None:
        return None
    match = _WRITTEN.fullmatch(str(text))
    kind, given, flag = match.groups() if match else (str(text), None, None)
    names = [n.strip() for n in given.split(",")] if given else []
    if kind not in (OF_ARGUMENTS if given else PLAIN):
        every = [*PLAIN, *(f"{k}(self)" for k in OF_ARGUMENTS)]
        report.error(located.place, f'unknown layout "{text}"', length=length_of_scalar(located),
                     expected=one_of(every), help=suggestion(kind, (*PLAIN, *OF_ARGUMENTS)))  # fmt: skip
        return None
    if flag is not None and flag not in [a.name for a in schema.arguments if str(a.type) == "bool"]:
        report.error(
            located.at(str(text).rindex(flag)),
            f'"{flag}" is no bool argument',
            length=len(flag),
            expected="a bool argument",
        )
        return None
    tensors = [a.name for a in schema.arguments if str(a.type) in ("Tensor", "Tensor?")]
    for name in names:
        if name not in tensors:
            place = located.at(str(text).index(name))
            help = suggestion(name, tensors)
            report.error(
                place,
                f'"{name}" is no Tensor argument',
                length=len(name),
                expected=one_of(tensors),
                help=help,
            )
            return None
    return ResultLayout(kind, tuple(names), flag)


def layout_of(operator: Operator, number: int) -> ResultLayout | None:
    """What is declared of a result; else what the operator's tags say: row-major for reductions over some
    dimensions, that of the operands for elementwise operators."""
    if operator.layout:
        return operator.layout[number]
    if "reduction" in operator.tags:
        over_some = any(a.name == "dim" for a in operator.schema.arguments)
        return ResultLayout("contiguous") if over_some else None
    names = tuple(a.name for a in operator.schema.arguments if str(a.type) in ("Tensor", "Tensor?"))
    return ResultLayout("like", names) if names and elementwise(operator) else None


def relaid(operator: Operator, kernel: Kernel, number: int, variable: str, arrays: bool) -> Relaid | None:
    """The statement that gives a result its layout; None where it has it by construction.

    ``arrays`` says that arrays are NumPy's.
    """
    layout = layout_of(operator, number)
    if layout is None:
        return None
    optional = {a.name for a in operator.schema.arguments if str(a.type) == "Tensor?"}
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
