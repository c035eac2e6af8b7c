"""GraphTask: one backward pass; what it has to run, in which order, and what it captures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from ..core.interception import Layer, active, observers
from ..core.thread_state import propagated
from .edge import Edge
from .node import LEAF_SEQUENCE_NR, Node


class CurrentTask(threading.local):
    """The backward pass that this thread is in the midst of, the innermost one."""

    task: GraphTask | None = None


current = propagated(CurrentTask())


class Capture:
    """Stands in the order before a Node whose incoming gradient was asked for."""

    __slots__ = ("node", "wanted")

    def __init__(self, node: Node) -> None:
        self.node = node
        #: (input number of the node, index among what was asked for)
        self.wanted: list[tuple[int, int]] = []


class GraphTask:
    """The plan of one backward pass and its results.

    A Node is made after all Nodes that its edges lead to, so descending sequence numbers are an
    order in which every Node comes when its gradient is complete. Leaves have no such number:
    each stands behind the last Node that leads to it, so that it runs as early as can be.
    """

    __slots__ = (
        "__weakref__",
        "_runs",
        "callbacks",
        "captured",
        "deferred",
        "keep_graph",
        "needed",
        "observers",
        "order",
        "over_tensors",
    )

    def __init__(
        self,
        root: Node,
        keep_graph: bool,
        over_tensors: bool,
        inputs: Sequence[Edge] | None = None,
        accumulate: bool = True,
    ) -> None:
        self.keep_graph = keep_graph
        #: Whether gradients travel as Tensors, through ``apply_graph``.
        self.over_tensors = over_tensors
        #: Who looks on while the Nodes run.
        self.observers: tuple[Layer, ...] = observers() if active else ()
        #: The Nodes that lead to ``inputs``; None when everything runs.
        self.needed: set[Node] | None = None
        self.captured: list[Any] = []
        self._runs: frozenset[Any] | None = None
        #: The sums that are formed later, by where they go.
        self.deferred: dict[Node, Any] = {}
        #: What is to be called when the pass is done.
        self.callbacks: list[Callable[[], Any]] = []
        if inputs is None:
            places = reachable(root, 0)
            self.order: list[Any] = sorted(places, key=places.__getitem__, reverse=True)
        else:
            numbers = [edge[0].sequence_nr for edge in inputs]
            # A leaf may be reached from anywhere; what else was asked for only from newer Nodes.
            places = reachable(root, 0 if LEAF_SEQUENCE_NR in numbers else min(numbers))
            order = sorted(places, key=places.__getitem__, reverse=True)
            self._restrict(order, inputs, accumulate)

    def run_callbacks(self) -> None:
        """Call what was queued while the pass ran, and what these calls queue."""
        for callback in self.callbacks:  # which may grow meanwhile
            callback()

    def will_run(self, nodes: Sequence[Node | None]) -> list[bool]:
        """Of each Node, whether this pass runs it, or captures the gradient that arrives there."""
        found = {node.node if node.__class__ is Capture else node for node in self.order}
        return [node in found for node in nodes]

    def has_to_run(self, node: Node) -> bool:
        """Whether a Node is among those that this pass runs; they are looked up once they are asked for."""
        if self._runs is None:
            self._runs = frozenset(self.order)
        return node in self._runs

    def _restrict(self, order: list[Node], inputs: Sequence[Edge], accumulate: bool) -> None:
        """Keep of ``order`` what leads to the inputs, and note what is captured where."""
        captures: dict[Node, Capture] = {}
        targets = [edge[0] for edge in inputs]
        if not accumulate:
            self.captured = [None] * len(inputs)
            for index, wanted in enumerate(inputs):
                node = wanted[0]
                if node not in captures:
                    captures[node] = Capture(node)
                captures[node].wanted.append((wanted[1], index))
        self.needed = reached = set(targets)  # what gradients are to be delivered to
        found: list[Any] = []  # the last comes first
        for node in reversed(order):
            for edge in node.next_edges:
                if edge is not None and edge[0] in reached:
                    reached.add(node)
                    found.append(node)
                    break
            else:
                if accumulate and node in reached:
                    found.append(node)
            if node in captures:
                found.append(captures[node])
        found.reverse()
        self.order = found


def reachable(root: Node, oldest: int) -> dict[Node, int]:
    """The Nodes below ``root``, with the number that says when each can run: the greatest first.

    Nodes older than ``oldest`` are left out: they cannot lead to it. Equal numbers run in the
    order of the dictionary.
    """
    places = {root: root.sequence_nr}
    leaves: dict[Node, int] = {}
    found = [root]
    append = found.append
    for node in found:  # which grows meanwhile
        for edge in node.next_edges:
            if edge is not None:
                target = edge[0]
                if target not in places:
                    number = target.sequence_nr
                    if number == LEAF_SEQUENCE_NR:
                        number = node.sequence_nr
                        if target not in leaves or number < leaves[target]:
                            leaves[target] = number
                    elif number >= oldest:
                        places[target] = number
                        append(target)
    places.update(leaves)  # behind the nodes of the same numbers
    return places
