"""Algebra: what needs not be computed, since it follows from what is known of the operands.

The gradient of ``x[t]`` is zeros with one part. The sum of such gradients of all parts is one buffer of
parts, where adding them one after the other would take the square of the time.
"""

from __future__ import annotations

from math import prod

from ..expressions import Expr, Name, Operation
from .nodes import Arg, Pieces, Place
from .views import Shape, contiguous

_SUM = Operation("+", (Name("a0"), Name("a1")))


def sum_of_parts(expr: Expr, args: tuple[Arg, ...], space: Shape) -> Pieces | None:
    """The sum of two buffers of parts as one buffer of these.

    None where it is no such sum, or where parts overlap. A zero of a part keeps its sign.
    """
    if expr != _SUM or len(args) != 2 or not all([arg.is_in_step(space) for arg in args]):
        return None
    first, second = [arg.node for arg in args]
    if not isinstance(first, Pieces) or not isinstance(second, Pieces) or first.covered or second.covered:
        return None
    boxes = [[_box(place, space) for place in pieces.places] for pieces in (first, second)]
    if any([a is None or b is None or _meet(a, b) for a in boxes[0] for b in boxes[1]]):
        return None
    places = (*first.places, *second.places)
    covered = sum([prod(place.shape) for place in places]) == prod(space)
    found = (*first.args, *second.args)
    return Pieces(space, first.dtype, found, places=places, covered=covered)


def _box(place: Place, space: Shape) -> tuple[tuple[int, int], ...] | None:
    """Along each dim of a buffer, from where on and before where a part is; None if it has gaps."""
    offset, steps = place.offset, contiguous(space)
    extents = dict(zip(place.strides, place.shape, strict=True))
    if len(extents) < len(place.strides) or not {*extents} <= {*steps}:
        return None
    found = []
    for step in steps:
        begin, offset = divmod(offset, step)
        found.append((begin, begin + extents.get(step, 1)))
    return tuple(found) if all([end <= n for (_, end), n in zip(found, space, strict=True)]) else None


def _meet(a: tuple[tuple[int, int], ...], b: tuple[tuple[int, int], ...]) -> bool:
    return all([p < q_end and q < p_end for (p, p_end), (q, q_end) in zip(a, b, strict=True)])
