"""Sums the gradients that meet at a Node, never in memory that is somebody else's."""

from __future__ import annotations

from typing import Any

from .linear_maps import add_tensors
from .node import Node
from .ownership import is_buffers_only

#: What waits for each Node: a value, or for several inputs a list of values and None.
Buffers = dict[Node, Any]


def add_arrays(lib: Any, buffers: Any, key: Any, value: Any) -> None:
    """Add ``value`` to ``buffers[key]``: in place when that array is held by nobody else."""
    if value.shape and is_buffers_only(buffers, key):
        buffers[key] = lib.add_(buffers[key], value)
    else:
        buffers[key] = lib.add(buffers[key], value)


def add_values(lib: Any, buffers: Any, key: Any, value: Any, graph: bool) -> None:
    """Add an array, or with ``graph`` a Tensor, to what is in ``buffers[key]``."""
    if graph:
        buffers[key] = add_tensors(buffers[key], value)
    else:
        add_arrays(lib, buffers, key, value)


def deliver(buffers: Buffers, node: Node, number: int, value: Any, graph: bool) -> None:
    """Put a value that fits where ``node`` finds it as its gradient ``number``."""
    if node.type.__class__ is not tuple:
        if node in buffers:
            add_values(node.type.backend.lib, buffers, node, value, graph)
        else:
            buffers[node] = value
        return
    slots = buffers.get(node)
    if slots is None:
        slots = buffers[node] = [None] * len(node.type)
    if slots[number] is None:
        slots[number] = value
    else:
        add_values(node.type[number].backend.lib, slots, number, value, graph)
