"""Lower: how the values of elements become one: sums, products, extremes, whether any is true, or which.

Sums are formed in blocks, in the kernel's width, and those of blocks are added in float64: they are as
accurate as pairwise ones. A product that is only added is not rounded before, where processors can do that.
An extreme is NaN where there is one, and 0 where it is a zero of any sign: which of them would depend on the
order, and on x86-64 costs as much again to know.
"""

from __future__ import annotations

from ..expressions import Call, Expr, Name
from .instructions import Instructions, Kind, Unlowerable, Value, float_constant
from .scalars import Operand, ScalarLowering

#: Functions of many values that give one, by what they start from.
_FIRST = {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}
#: Those of conditions: ``where_first`` is the place of the first that holds, counted from its block's.
_OF_CONDITIONS = {"any": 0, "count": 0, "where_first": (1 << 31) - 1}
NAMES = (*_FIRST, *_OF_CONDITIONS)
#: What the values of blocks are brought together in where that is another type, and the place of none.
_TOTALS = {"sum": "double", "count": "i64", "where_first": "i64"}
_NOWHERE = (1 << 63) - 1


def is_reduction(expr: Expr) -> bool:
    """Whether an expression makes one value of many."""
    match expr:
        case Call(Name(name)) if name in NAMES:
            return True
    return False


def is_first(reduction: Call) -> bool:
    """Whether it gives a place."""
    return _name(reduction) == "where_first"


def _name(reduction: Call) -> str:
    assert isinstance(reduction.function, Name)
    return reduction.function.id


class Reductions:
    """Puts out the instructions of reductions, for one scalar type."""

    def __init__(self, body: Instructions, scalars: ScalarLowering, any_order: bool) -> None:
        self.body, self.scalars = body, scalars
        self.flags = " contract" + " reassoc" * any_order  # in the lanes of a vector

    def type_of(self, reduction: Call) -> str:
        """The type of what a block's elements are brought together in."""
        return "i32" if _name(reduction) in _OF_CONDITIONS else self.scalars.width.llvm

    def total_type_of(self, reduction: Call) -> str:
        """The type of what blocks are brought together in."""
        return _TOTALS.get(_name(reduction)) or self.type_of(reduction)

    def first(self, reduction: Call) -> str:
        """What a block starts from."""
        name = _name(reduction)
        if name in _OF_CONDITIONS:
            return str(_OF_CONDITIONS[name])
        return float_constant(_FIRST[name], self.scalars.width)

    def first_total(self, reduction: Call) -> str:
        """What the blocks start from."""
        return str(_NOWHERE) if _name(reduction) == "where_first" else self.first(reduction)

    def element(self, reduction: Call, operand: Operand, place: str, begin: str) -> str:
        """The value of an element at a place, as it is brought into a block that begins at another."""
        name = _name(reduction)
        if name not in _OF_CONDITIONS:
            return self.scalars.text(operand, Kind.FLOAT)
        if not isinstance(operand, Value) or operand.kind is not Kind.BOOL:
            raise Unlowerable(f"{name} takes a condition")
        if name == "where_first":
            behind = self.body.add(f"trunc i64 {self.body.add(f'sub i64 {place}, {begin}')} to i32")
            return self.body.add(f"select i1 {operand.text}, i32 {behind}, i32 {self.first(reduction)}")
        return self.body.add(f"zext i1 {operand.text} to i32")

    def brought_in(self, reduction: Call, acc: str, value: str) -> str:
        """What a block had, and one more element."""
        name, type_ = _name(reduction), self.type_of(reduction)
        if name == "sum":
            return self.body.add(f"fadd{self.flags} {type_} {acc}, {value}")
        if name == "prod":
            return self.body.add(f"fmul{self.flags} {type_} {acc}, {value}")
        if name == "count":
            return self.body.add(f"add nuw nsw {type_} {acc}, {value}")
        if name == "any":
            return self.body.add(f"or {type_} {acc}, {value}")
        if name == "where_first":
            return self._least(type_, acc, value)
        intrinsic = f"llvm.{name}imum.{self.scalars.width.suffix}"
        self.body.intrinsics.add(f"declare {type_} @{intrinsic}({type_}, {type_})")
        return self.body.add(f"call nsz {type_} @{intrinsic}({type_} {acc}, {type_} {value})")

    def _least(self, type_: str, a: str, b: str) -> str:
        return self.body.intrinsic(type_, f"llvm.smin.{type_}", (a, b))

    def brought_together(self, reduction: Call, total: str, block: str, begin: str) -> str:
        """The total of the blocks before, and of one more, which begins at a place."""
        name = _name(reduction)
        if name not in _TOTALS:
            return self.brought_in(reduction, total, block)
        if name == "count":
            return self.body.add(f"add i64 {total}, {self.body.add(f'zext i32 {block} to i64')}")
        if name == "where_first":
            none = self.body.add(f"icmp eq i32 {block}, {self.first(reduction)}")
            place = self.body.add(f"add i64 {self.body.add(f'zext i32 {block} to i64')}, {begin}")
            found = self.body.add(f"select i1 {none}, i64 {_NOWHERE}, i64 {place}")
            return self._least("i64", total, found)
        if self.scalars.width.llvm == "float":
            block = self.body.add(f"fpext float {block} to double")
        return self.body.add(f"fadd double {total}, {block}")

    def is_missing(self, reduction: Call, total: str) -> str:
        """Whether none of the blocks so far has the place that is looked for."""
        return self.body.add(f"icmp eq i64 {total}, {self.first_total(reduction)}")

    def result(self, reduction: Call, total: str) -> Value:
        """What a total stands for."""
        name = _name(reduction)
        if name == "any":
            return Value(self.body.add(f"icmp ne i32 {total}, 0"), Kind.BOOL)
        if name in ("count", "where_first"):
            return Value(total, Kind.LONG)
        if name == "sum" and self.scalars.width.llvm == "float":
            total = self.body.add(f"fptrunc double {total} to float")
        elif name in ("max", "min"):
            total = self.body.add(f"fadd {self.type_of(reduction)} {total}, 0.0")
        return Value(total, Kind.FLOAT)
