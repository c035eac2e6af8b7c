"""Lower: the instructions of one LLVM function, as text."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Unlowerable(Exception):
    """An expression has no native form; the message says what of it has none."""


@dataclass(frozen=True, slots=True)
class Width:
    """A floating-point type of LLVM, and the integer of the same width."""

    scalar: str  # tengen's name: "float32"
    llvm: str  # "float"
    suffix: str  # of intrinsics: "f32"
    integer: str  # "i32"
    bytes: int
    lanes: int = 0  # of vectors of such numbers, which is what values are then

    def vector_of(self, type_: str) -> str:
        """The type of as many values of a type."""
        return f"<{self.lanes} x {type_}>" if self.lanes else type_

    def splat(self, type_: str, text: str) -> str:
        """A constant of a type, in each lane."""
        return f"splat ({type_} {text})" if self.lanes else text


WIDTHS = {
    "float32": Width("float32", "float", "f32", "i32", 4),
    "float64": Width("float64", "double", "f64", "i64", 8),
}


class Kind(Enum):
    """What an SSA value is."""

    FLOAT = "float"  # of the kernel's own width
    WIDE = "wide"  # a float64 in a float32 kernel
    INT = "int"  # an integer of the own width
    LONG = "long"  # an int64: an operand, or as wide as a wide value
    BOOL = "bool"  # an i1


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA value."""

    text: str
    kind: Kind


class Instructions:
    """Collects the lines of a function, gives fresh names, and notes the intrinsics that it calls."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.intrinsics: set[str] = set()
        self._count = 0

    def name(self, hint: str = "v") -> str:
        """A name that is not in use."""
        self._count += 1
        return f"{hint}.{self._count}"

    def add(self, text: str) -> str:
        """An instruction that gives a value: its name."""
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def put(self, text: str) -> None:
        """An instruction that gives none, or whose name is chosen."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def intrinsic(self, type_: str, name: str, arguments: Sequence[str]) -> str:
        """The call of an intrinsic of which the operands have the type of the result."""
        self.intrinsics.add(f"declare {type_} @{name}({', '.join([type_] * len(arguments))})")
        given = ", ".join([f"{type_} {a}" for a in arguments])
        return self.add(f"call {type_} @{name}({given})")


def float_constant(value: float, width: Width) -> str:
    """A number as LLVM writes it: the bits of a double, which the type must hold exactly."""
    if width.scalar == "float32":
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
