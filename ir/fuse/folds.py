"""Folds: how elements come to one value. Sums of float32 are formed in blocks, and these added in float64."""

from __future__ import annotations

from dataclasses import dataclass

from ..lower.instructions import WIDTHS, Instructions, float_constant
from .scalars import FLOATS, type_of

#: What folds start from.
_FIRST = {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}
_FIRST_INTEGER = {"sum": 0, "prod": 1, "max": -(1 << 63), "min": (1 << 63) - 1}
_INTEGER = {"sum": "add", "prod": "mul"}
_FLOATING = {"sum": "fadd reassoc", "prod": "fmul reassoc"}
NAMES = (*_FIRST, "any", "all")


@dataclass(frozen=True, slots=True)
class Fold:
    """A fold of elements of a dtype: in blocks, and of these in a total."""

    body: Instructions
    name: str
    dtype: str

    @property
    def lowers(self) -> bool:
        """Whether there are instructions for it."""
        if self.name in ("any", "all"):
            return self.dtype == "bool"
        return self.name in _FIRST and self.dtype in (*FLOATS, "int64")

    @property
    def block(self) -> str:
        """The type of a block."""
        return type_of(self.dtype) if self.dtype != "bool" else "i8"

    @property
    def total(self) -> str:
        """The type of the total."""
        return "double" if self._widens else self.block

    @property
    def stored(self) -> str:
        """The dtype of totals that are kept in memory."""
        return "float64" if self._widens else self.dtype

    @property
    def _widens(self) -> bool:
        return self.name == "sum" and self.dtype == "float32"

    def first(self, total: bool = False) -> str:
        """What a block, or the total, starts from."""
        if self.name in ("any", "all"):
            return "0" if self.name == "any" else "1"
        if self.dtype not in FLOATS:
            return str(_FIRST_INTEGER[self.name])
        return float_constant(_FIRST[self.name], WIDTHS[self.stored if total else self.dtype])

    def element(self, value: str) -> str:
        """An element as blocks take it."""
        return self.body.add(f"zext i1 {value} to i8") if self.dtype == "bool" else value

    def brought_in(self, acc: str, value: str) -> str:
        """What a block had, and one more element."""
        type_ = self.block
        if self.name in ("any", "all"):
            return self.body.add(f"{'or' if self.name == 'any' else 'and'} {type_} {acc}, {value}")
        if self.dtype in FLOATS:
            if self.name in _FLOATING:
                return self.body.add(f"{_FLOATING[self.name]} {type_} {acc}, {value}")
            intrinsic = f"llvm.{self.name}imum.{WIDTHS[self.dtype].suffix}"
            self.body.intrinsics.add(f"declare {type_} @{intrinsic}({type_}, {type_})")
            return self.body.add(f"call nsz {type_} @{intrinsic}({type_} {acc}, {type_} {value})")
        if self.name in _INTEGER:
            return self.body.add(f"{_INTEGER[self.name]} {type_} {acc}, {value}")
        return self.body.intrinsic(type_, f"llvm.s{self.name}.{type_}", (acc, value))

    def widened(self, block: str) -> str:
        """A block as totals are."""
        return self.body.add(f"fpext float {block} to double") if self._widens else block

    def brought_together(self, total: str, block: str) -> str:
        """What blocks came to, and one more."""
        if self._widens:
            return self.body.add(f"fadd double {total}, {self.widened(block)}")
        return self.brought_in(total, block)

    def result(self, total: str) -> str:
        """The value that a total stands for: an extreme that is a zero is a positive one."""
        if self._widens:
            return self.body.add(f"fptrunc double {total} to float")
        if self.dtype == "bool":
            return self.body.add(f"icmp ne i8 {total}, 0")
        if self.dtype in FLOATS and self.name in ("max", "min"):
            return self.body.add(f"fadd {self.total} {total}, 0.0")
        return total
