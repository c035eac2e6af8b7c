"""Scalars: elements in memory and in registers, by their dtypes, and the expressions of Pointwise nodes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..expressions import Constant, Expr, Name
from ..lower import reduced
from ..lower.instructions import (
    WIDTHS,
    Instructions,
    Kind,
    Unlowerable,
    Value,
    float_constant,
)
from ..lower.scalars import ScalarLowering
from ..routines import Routines

#: Types in memory, with their bytes.
STORED = {
    "float32": ("float", 4),
    "float64": ("double", 8),
    "int64": ("i64", 8),
    "bool": ("i8", 1),
    "float16": ("i16", 2),
    "bfloat16": ("i16", 2),
    "int32": ("i32", 4),
    "int16": ("i16", 2),
    "int8": ("i8", 1),
    "uint8": ("i8", 1),
    "complex64": ("i64", 8),
    "complex128": ("i128", 16),
}
FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
#: What is copied, but not computed with.
COMPLEX = ("complex64", "complex128")
_KINDS = {"float32": Kind.FLOAT, "float64": Kind.FLOAT, "int64": Kind.LONG, "bool": Kind.BOOL}


def type_of(dtype: str) -> str:
    """The type of an element in a register: of what is not computed with, its bits."""
    return "i1" if dtype == "bool" else STORED[dtype][0]


class Scalars:
    """Puts out the instructions of elements."""

    def __init__(self, body: Instructions, routines: Routines) -> None:
        self.body = body
        self.lowering = {width: ScalarLowering(body, width, routines) for width in FLOATS}

    def load(self, dtype: str, pointer: str, mark: str) -> str:
        """The element that a pointer points to."""
        type_, size = STORED[dtype]
        found = self.body.add(f"load {type_}, ptr {pointer}, align {size}{mark}")
        return self.body.add(f"icmp ne i8 {found}, 0") if dtype == "bool" else found

    def store(self, dtype: str, value: str, pointer: str, mark: str) -> None:
        """Write an element."""
        type_, size = STORED[dtype]
        if dtype == "bool":
            value = self.body.add(f"zext i1 {value} to i8")
        self.body.put(f"store {type_} {value}, ptr {pointer}, align {size}{mark}")

    def computed(self, expr: Expr, operands: Sequence[tuple[str, str]], dtype: str) -> str:
        """The value of an expression of operands, each with its dtype. Raises Unlowerable."""
        if expr == Name("a0"):
            text, own = operands[0]
            return text if own == dtype else self.cast(text, own, dtype)
        if isinstance(expr, Constant) and dtype not in _KINDS:
            return self._constant(expr.value, dtype)
        dtypes = [own for _, own in operands]
        if not {*dtypes, dtype} <= {*_KINDS}:
            raise Unlowerable(f"{dtype} is not computed with")
        widths = {own for own in (*dtypes, dtype) if own in FLOATS}
        if len(widths) > 1:
            raise Unlowerable("float32 and float64 meet")
        lowering = self.lowering[widths.pop() if widths else "float32"]
        env = {f"a{i}": Value(text, _KINDS[own]) for i, (text, own) in enumerate(operands)}
        found = lowering.lower(expr, env)
        if isinstance(found, Value) and found.kind is not _KINDS[dtype]:
            raise Unlowerable(f"it gives a {found.kind.value} value, not {dtype}")
        return lowering.text(found, _KINDS[dtype])

    def _constant(self, value: float, dtype: str) -> str:
        """A number as a dtype that is not computed with."""
        if dtype in HALVES:
            wide = self.body.add(f"fadd float {float_constant(value, WIDTHS['float32'])}, 0.0")
            return reduced.narrowed(self.body, dtype, wide)
        if dtype in COMPLEX:
            raise Unlowerable("a complex number")
        return str(int(value))

    def cast(self, value: str, source: str, target: str) -> str:
        """A value as another dtype. Raises Unlowerable for what depends on the processor."""
        if source in COMPLEX or target in COMPLEX:
            raise Unlowerable("complex numbers")
        if source in HALVES:
            wide = reduced.widened(self.body, source, value)
            return wide if target == "float32" else self.cast(wide, "float32", target)
        if target in HALVES:
            given = value if source == "float32" else self.cast(value, source, "float32")
            return reduced.narrowed(self.body, target, given)
        if target == "bool":
            return self._as_bool(value, source)
        of, to = type_of(source), type_of(target)
        if source in FLOATS:
            if target not in FLOATS:
                raise Unlowerable("a floating-point number as an integer")
            return self.body.add(f"{'fpext' if target == 'float64' else 'fptrunc'} {of} {value} to {to}")
        unsigned = source in ("bool", "uint8")
        if target in FLOATS:
            return self.body.add(f"{'uitofp' if unsigned else 'sitofp'} {of} {value} to {to}")
        before, after = (1 if source == "bool" else STORED[source][1] * 8), STORED[target][1] * 8
        if before == after:
            return value
        how = "trunc" if before > after else "zext" if unsigned else "sext"
        return self.body.add(f"{how} {of} {value} to {to}")

    def _as_bool(self, value: str, source: str) -> str:
        if source in FLOATS:
            return self.body.add(f"fcmp une {type_of(source)} {value}, 0.0")
        return self.body.add(f"icmp ne {type_of(source)} {value}, 0")


class Trials:
    """Whether expressions can be computed: each is tried once."""

    def __init__(self, routines: Routines) -> None:
        self.routines = routines
        self.lowers = functools.cache(self._lowers)

    def _lowers(self, expr: Expr, dtypes: tuple[str, ...], dtype: str) -> bool:
        if not {*dtypes, dtype} <= {*STORED}:
            return False
        try:
            Scalars(Instructions(), self.routines).computed(expr, [("%x", own) for own in dtypes], dtype)
        except (Unlowerable, ValueError, OverflowError):
            return False
        return True
