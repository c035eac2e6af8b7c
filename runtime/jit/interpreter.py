"""Running graphs: each node calls its operator, so whatever sees operators sees them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .graph import Graph, Value, replaced


def run_graph(graph: Graph, inputs: Sequence[Any], constants: Mapping[Value, Any] | None = None) -> list[Any]:
    """The outputs of a graph for these input tensors.

    ``constants`` replaces constants' tensors. Values are forgotten when nothing uses them any more.
    """
    values: dict[Value, Any] = {c.value: c.tensor for c in graph.constants}
    values.update(constants or {})
    values.update(zip(graph.inputs, inputs, strict=True))
    last = _last_uses(graph)
    for number, node in enumerate(graph.nodes):
        arguments = replaced(node.arguments, values.__getitem__)
        result = node.operator(*arguments)
        values.update(bound(node.result, result))
        for value in last.get(number, ()):
            values.pop(value, None)
    return [values[v] for v in graph.outputs]


def bound(structure: Any, result: Any) -> Iterator[tuple[Value, Any]]:
    """The Values of a structure, each with the tensor that stands there in a result."""
    if isinstance(structure, Value):
        yield structure, result
    elif isinstance(structure, (list, tuple)):
        for s, r in zip(structure, result, strict=True):
            yield from bound(s, r)


def _last_uses(graph: Graph) -> dict[int, list[Value]]:
    """By the number of a node, the values that are not needed behind it."""
    last: dict[Value, int] = {}
    for number, node in enumerate(graph.nodes):
        for value in (*node.inputs, *node.outputs):
            last[value] = number
    for value in graph.outputs:
        last.pop(value, None)
    found: dict[int, list[Value]] = {}
    for value, number in last.items():
        found.setdefault(number, []).append(value)
    return found
