"""Native kernels: what stands between operators and machine code, over scalars or over rows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..ir.expressions import Expr

#: The scalar types that native kernels are made for.
SCALARS = ("float32", "float64")
_DTYPES = ("number", "bool", "int64", "float16", "bfloat16")
_OPERAND = re.compile(r"(\w+)(\[n\])?(?::(\w+))?")


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand or a result of a kernel, as it is written: ``x``, ``x[n]``, ``index:int64``."""

    name: str
    is_row: bool = False  # it has an element for each place of the dimension that the kernel works along
    dtype: str = ""  # of _DTYPES, "number" being one for all elements; else the kernel's own

    @classmethod
    def read(cls, text: str) -> Operand:
        """Of the text. Raises ValueError."""
        found = _OPERAND.fullmatch(text)
        if found is None or found[3] not in (None, *_DTYPES):
            raise ValueError(f"{text!r} is no operand of a kernel")
        return cls(found[1], found[2] is not None, found[3] or "")

    def __str__(self) -> str:
        return f"{self.name}{'[n]' if self.is_row else ''}{f':{self.dtype}' if self.dtype else ''}"


@dataclass(frozen=True, slots=True)
class NativeKernel:
    """A kernel: its operands, its results, and the statements that compute these.

    Without rows it is elementwise. With rows, statements may use reductions of them: ``sum(x)``, ``max(x)``.
    """

    name: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    statements: tuple[tuple[str, Expr], ...]

    @property
    def is_elementwise(self) -> bool:
        return not any([o.is_row for o in self.operands])

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Those and the results, in the order of a ufunc's arguments."""
        return (*self.inputs, *self.outputs)

    @property
    def signature(self) -> str:
        """The signature of a generalised ufunc; empty of an elementwise one."""
        if self.is_elementwise:
            return ""
        inputs, outputs = [",".join(["(n)" if o.is_row else "()" for o in of]) for of in self.sides]
        return f"{inputs}->{outputs}"

    @property
    def sides(self) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
        return self.inputs, self.outputs
