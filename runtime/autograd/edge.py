"""Edges: where a tensor's gradient goes, as (Node, input number).

The edge to a leaf's accumulator has the leaf as its third member: the accumulator knows it weakly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .node import Node

Edge = tuple["Node", int] | tuple["Node", int, Any]


def gradient_edge(tensor: Any) -> Edge | None:
    """Where the gradient of ``tensor`` goes: the Node that made it, a leaf's accumulator, or None."""
    edge: Edge | None = tensor._edge
    if edge is not None:
        return edge
    if not tensor._requires_grad:
        return None
    meta = tensor._meta
    accumulator = None if meta is None else meta.accumulator
    if accumulator.__class__ is AccumulateGrad:
        return (accumulator, 0, tensor)
    made = new_accumulator(tensor)
    return None if made is None else (made, 0, made.variable)


def gradient_edges(tensors: Iterable[Any]) -> tuple[Edge | None, ...]:
    """The edges of a list of tensors, of which some may be None."""
    return tuple(
        [t._edge or gradient_edge(t) if t is not None and t._requires_grad else None for t in tensors]
    )


def any_requires_grad(tensors: Iterable[Any]) -> bool:
    """Whether a gradient is wanted of one of a list of tensors, of which some may be None."""
    for t in tensors:  # noqa: SIM110  a generator takes twice as long
        if t is not None and t._requires_grad:
            return True
    return False


# Last, because an accumulator in turn needs edges.
from .accumulate_grad import AccumulateGrad, new_accumulator  # noqa: E402
