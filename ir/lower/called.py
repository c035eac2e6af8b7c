"""Lower: routines that repeat something, which are functions of their own.

LLVM does not vectorise a loop with another one in it. So such a routine is a function that loops call, and
beside it there is one of vectors, for each number of lanes. A mark of LLVM's names these, and loops that are
vectorised call them instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..routines import Routine
from .instructions import Instructions, Width

#: The lanes of vectors that loops may be made of.
LANES = (2, 4, 8, 16)
#: They are hidden, so that they stay where nothing has called them yet, and are no library's own names.
_DEFINED = "define weak hidden"
_MARKS = 'noinline nounwind willreturn memory(none) "prefer-vector-width"="512"'
#: Puts out what a routine gives of operands, as values of a width: the text of the result.
Put = Callable[[Instructions, Width, Sequence[str]], str]


def called(
    name: str, routine: Routine, put: Put, body: Instructions, width: Width, given: Sequence[str]
) -> str:
    """The call of a routine, of operands that are floating-point values of a width."""
    for lanes in {width.lanes} if width.lanes else (0, *LANES):
        body.intrinsics |= _definitions(name, routine, put, replace(width, lanes=lanes))
    type_ = width.vector_of(width.llvm)
    operands = ", ".join([f"{type_} {text}" for text in given])
    return body.add(f"call {type_} @{_symbol(name, width)}({operands})")


def _definitions(name: str, routine: Routine, put: Put, width: Width) -> set[str]:
    """The text of a routine's function, and of what that calls."""
    body, type_ = Instructions(), width.vector_of(width.llvm)
    operands = [f"%{operand}" for operand in routine.operands]
    result = put(body, width, operands)
    parameters = ", ".join([f"{type_} {operand}" for operand in operands])
    marks = _MARKS + _variants(name, width, routine)
    head = f"{_DEFINED} {type_} @{_symbol(name, width)}({parameters}) {marks} {{"
    return {*body.intrinsics, "\n".join([head, *body.lines, f"  ret {type_} {result}", "}"])}


def _variants(name: str, width: Width, routine: Routine) -> str:
    """The mark that names the functions of vectors, of a function of numbers."""
    if width.lanes:
        return ""
    own, operands = _symbol(name, width), "v" * len(routine.operands)
    of_vectors = [f"_ZGV_LLVM_N{lanes}{operands}_{own}({own}.{lanes})" for lanes in LANES]
    return f' "vector-function-abi-variant"="{",".join(of_vectors)}"'


def _symbol(name: str, width: Width) -> str:
    return f"{name}.{width.scalar}{f'.{width.lanes}' if width.lanes else ''}"
