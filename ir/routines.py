"""Routines: functions in arithmetic alone, and the functions of their language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .expressions import Call, Expr, Name


@dataclass(frozen=True, slots=True)
class Routine:
    """How a function is computed for one scalar type, in arithmetic alone: what native kernels are made of.

    Each name is assigned once, and the last one is ``result``. Calls are of the language's own functions
    (FUNCTIONS) and of functions that have a routine for the same scalar type.
    """

    operands: tuple[str, ...]  # x, y, z
    statements: tuple[tuple[str, Expr], ...]
    ulp: float  # by how much the result may differ from the exact one, in units of its last place

    @property
    def repeats(self) -> bool:
        """Whether it has a loop."""
        return any([isinstance(e, Call) and e.function == Name(REPEAT) for _, e in self.statements])


#: Functions by name, with their routines by scalar type.
Routines = Mapping[str, Mapping[str, Routine]]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language: the kinds that it takes, and that of its result."""

    takes: tuple[str, ...]  # "float" | "int" | "bool" | "any", which is one of the first two
    gives: str
    repeats: bool = False  # whether the last of these may come again
    widens: int = 0  # whether the result is twice as wide (1) or half (-1)


def _functions(text: str) -> Iterator[tuple[str, Function]]:
    """The functions of a table of signatures."""
    for line in text.split("\n"):
        name, _, kinds = line.partition(": ")
        takes, _, gives = kinds.partition(" -> ")
        widens = gives.startswith("wide ") - takes.startswith("wide ")
        operands = tuple([kind.removeprefix("wide ") for kind in takes.split(", ") if kind != "..."])
        yield name, Function(operands, gives.removeprefix("wide "), takes.endswith("..."), widens)


#: The functions of the language. All operands of one that are not bool are of one width.
FUNCTIONS = dict(
    _functions(
        """\
fma: float, float, float -> float
where: bool, any, any -> any
abs: float -> float
sqrt: float -> float
floor: float -> float
ceil: float -> float
trunc: float -> float
rint: float -> float
copysign: float, float -> float
maximum: float, float -> float
minimum: float, float -> float
poly: float, float, float, ... -> float
bits: float -> int
from_bits: int -> float
to_int: float -> int
to_float: int -> float
wide: float -> wide float
narrow: wide float -> float"""
    )
)
#: ``r = repeat(first, condition, following)``: r is the first value, and as long as the condition holds of
#: it, the following one.
REPEAT = "repeat"
#: What native kernels may call, too: the int64 of a whole number below 2**31, by which an element is picked.
TO_INDEX = "to_index"
