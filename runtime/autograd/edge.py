"""Edges: where a tensor's gradient goes, as (Node, input number)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tengen.autograd.node import Node

Edge = tuple["Node", int]


def gradient_edge(tensor: Any) -> Edge | None:
    """Where the gradient of ``tensor`` goes: the Node that made it, a leaf's accumulator, or None."""
    edge: Edge | None = tensor._edge
    if edge is not None:
        return edge
    if not tensor._requires_grad:
        return None
    meta = tensor._meta
    if meta is not None and meta.accumulator is not None:
        accumulator = meta.accumulator()
        if accumulator is not None:
            return (accumulator, 0)
    return (new_accumulator(tensor), 0)


# Last, because an accumulator in turn needs edges.
from tengen.autograd.accumulate_grad import new_accumulator  # noqa: E402
