"""Writes at indices: what a buffer holds before, and how what is written meets it."""

from __future__ import annotations

from math import prod

from ..lower.instructions import Instructions
from .nodes import Node
from .scalars import FLOATS, STORED

_ADDED = {"float32": "fadd", "float64": "fadd", "int64": "add"}
_MULTIPLIED = {"float32": "fmul", "float64": "fmul", "int64": "mul"}
#: Ways to meet what is there that are one instruction, and those by which it stays where a comparison holds.
_ARITHMETIC = {"add": _ADDED, "mul": _MULTIPLIED}
_STAYS = {"max": "gt", "min": "lt"}


def scatters(how: str, dtype: str) -> bool:
    """Whether there are instructions for writes at indices."""
    return how == "set" or (how in (*_ARITHMETIC, *_STAYS) and dtype in _ADDED)


def met(body: Instructions, how: str, dtype: str, before: str, value: str) -> str:
    """What is there, and what is written, as one; a NaN that is there stays."""
    type_ = STORED[dtype][0]
    if how in _ARITHMETIC:
        return body.add(f"{_ARITHMETIC[how][dtype]} {type_} {before}, {value}")
    if dtype in FLOATS:
        stays = body.add(f"fcmp o{_STAYS[how]} {type_} {before}, {value}")
        unknown = body.add(f"fcmp uno {type_} {before}, {before}")
        stays = body.add(f"or i1 {stays}, {unknown}")
    else:
        stays = body.add(f"icmp s{_STAYS[how]} {type_} {before}, {value}")
    return body.add(f"select i1 {stays}, {type_} {before}, {type_} {value}")


def fill_zero(body: Instructions, node: Node, pointer: str) -> None:
    """Make all elements of a buffer 0."""
    body.intrinsics.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    body.put(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {_bytes(node)}, i1 false)")


def copy_all(body: Instructions, node: Node, pointer: str, source: str) -> None:
    """Make all elements of a buffer those of another one."""
    body.intrinsics.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    body.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {pointer}, ptr {source}, i64 {_bytes(node)}, i1 false)")


def _bytes(node: Node) -> int:
    return prod(node.shape) * STORED[node.dtype][1]
