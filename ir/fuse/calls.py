"""Calls: nodes that are no loops over one space, as a function's instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..lower.loops import ACCESS
from .loops import Function
from .nodes import Arg, Node, Pieces, Product
from .scalars import STORED
from .views import Shape, contiguous, merged, without_ones
from .writes import fill_zero

_ROW_MAJOR, _AS_IS, _TRANSPOSED = 101, 111, 112


@dataclass(frozen=True, slots=True)
class Blas:
    """A BLAS library: its functions of products by dtypes, and the type of its integers."""

    gemm: Mapping[str, str]
    integer: str


def product(function: Function, node: Product, blas: Blas) -> None:
    """Put out the products of matrices."""
    body, (m, k, n) = function.body, node.sizes
    type_, integer, symbol = STORED[node.dtype][0], blas.integer, blas.gemm[node.dtype]
    sizes = ", ".join([integer] * 3)
    takes = f"i32, i32, i32, {sizes}, {type_}, ptr, {integer}, ptr, {integer}, {type_}, ptr, {integer}"
    body.intrinsics.add(f"declare void @{symbol}({takes})")
    a, b = node.args
    (way_a, lead_a), (way_b, lead_b) = leading(a.strides[-2:], (m, k)), leading(b.strides[-2:], (k, n))

    def call(places: list[str]) -> None:
        both = zip(((a.node, a.offset), (b.node, b.offset), (node, 0)), places, strict=True)
        at_a, at_b, at_c = [function.at(type_, function.pointer(*one), place) for one, place in both]
        dims = ", ".join([f"{integer} {size}" for size in (m, n, k)])
        body.put(
            f"call void @{symbol}(i32 {_ROW_MAJOR}, i32 {way_a}, i32 {way_b}, {dims}, {type_} 1.0, "
            f"ptr {at_a}, {integer} {lead_a}, ptr {at_b}, {integer} {lead_b}, {type_} 0.0, "
            f"ptr {at_c}, {integer} {n})"
        )

    apart = tuple([step * m * n for step in contiguous(node.batch)])
    strides = a.strides[:-2], b.strides[:-2], apart
    longer = [d for d, n in enumerate(node.batch) if n != 1]
    kept = [tuple([own[d] for d in longer]) for own in strides]
    _over(function, without_ones(node.batch), kept, call)


def leading(strides: Shape, sizes: tuple[int, int]) -> tuple[int, int]:
    """How a matrix lies, as BLAS is told, and how far its rows (or columns) are apart."""
    rows, columns = sizes
    if (strides[1] == 1 or columns == 1) and (strides[0] >= columns or rows == 1):
        return _AS_IS, max(strides[0] if rows != 1 else 1, columns, 1)
    return _TRANSPOSED, max(strides[1] if columns != 1 else 1, rows, 1)


def lies_well(strides: Shape, sizes: tuple[int, int]) -> bool:
    """Whether BLAS takes a matrix as it lies."""
    rows, columns = sizes
    by_rows = (strides[1] == 1 or columns == 1) and (strides[0] >= columns or rows == 1)
    by_columns = (strides[0] == 1 or rows == 1) and (strides[1] >= rows or columns == 1)
    return by_rows or by_columns


def _over(
    function: Function,
    shape: Shape,
    strides: Sequence[Shape],
    inside: Callable[[list[str]], None],
    parallel: bool = False,
) -> None:
    """Loops over a shape, and inside them the places of what has these strides.

    ``parallel``: what is done at a place does not depend on another one.
    """
    body = function.body
    loops = merged(shape, strides)
    indices: list[tuple[str, int]] = []

    def place(own: Shape) -> str:
        found = "0"
        for index, dim in indices:
            if own[dim]:
                step = body.add(f"mul nsw i64 {index}, {own[dim]}")
                found = step if found == "0" else body.add(f"add nsw i64 {found}, {step}")
        return found

    def nested(depth: int) -> None:
        if depth == len(loops):
            inside([place(own) for own in strides])
            return
        extent, axes = loops[depth]
        innermost = depth == len(loops) - 1
        with function.memory.over("0", str(extent), parallel=parallel and innermost) as index:
            indices.append((index, axes[-1]))
            nested(depth + 1)
            indices.pop()

    nested(0)


def pieces(function: Function, node: Pieces) -> None:
    """Put out the copies of parts into a buffer."""
    if not node.covered:
        fill_zero(function.body, node, function.pointer(node, 0))
    for arg, place in zip(node.args, node.places, strict=True):
        _copy(function, arg, node, without_ones(place.shape), place.strides, place.offset)


def _copy(function: Function, arg: Arg, node: Node, shape: Shape, strides: Shape, offset: int) -> None:
    """A loop that copies elements; ``shape`` has the loops of the operand, which has its own strides."""
    body, (type_, size) = function.body, STORED[node.dtype]

    def each(places: list[str]) -> None:
        source = function.at(type_, function.pointer(arg.node, arg.offset), places[0])
        target = function.at(type_, function.pointer(node, offset), places[1])
        value = body.add(f"load {type_}, ptr {source}, align {size}{ACCESS}")
        body.put(f"store {type_} {value}, ptr {target}, align {size}{ACCESS}")

    _over(function, shape, (arg.strides, strides), each, parallel=True)
