"""Schedule: nodes to groups, each one nest of loops in passes over rows, or a call.

A node is put in the first group that it fits in: of the same space, and where all that it reads of the group
is there at the same place. A reduction over the last loops makes the others those of rows, and what follows
from it comes in a later pass over the row; any other reduction is known behind its group alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .nodes import Arg, Node, Pick, Pointwise, Reduce, Result, Scatter
from .views import Shape, contiguous

#: The most nodes of a group: longer loops take LLVM more than they save.
MOST = 96


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that are computed together."""

    space: Shape
    #: Whether it is loops; else it is a call of one node, with its results.
    is_loops: bool = True
    #: How many loops are those of rows, once a reduction tells.
    outer: int | None = None
    nodes: list[Node] = field(default_factory=list)
    #: In which pass a node is computed.
    level: dict[Node, int] = field(default_factory=dict)
    #: Nodes of which there is one value for each row.
    of_rows: set[Node] = field(default_factory=set)
    #: What is complete behind the group: reductions, and what is written at indices.
    late: set[Node] = field(default_factory=set)

    @property
    def rows(self) -> Shape:
        """The extents of the loops of rows."""
        return self.space[: self.outer or 0]

    @property
    def row(self) -> Shape:
        """The extents of the loops of a row."""
        return self.space[self.outer or 0 :]

    @property
    def passes(self) -> int:
        """How many passes over a row there are."""
        return max(self.level.values(), default=0) + 1


class Schedule:
    """The groups of nodes, in order; ``at`` has the number of each node's."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.groups: list[Group] = []
        self.at: dict[Node, int] = {}
        for node in nodes:
            if isinstance(node, Result):
                self.at[node] = self.at[node.args[0].node]
                self.groups[self.at[node]].nodes.append(node)
            elif not node.is_loops:
                self._open(Group(node.space, is_loops=False), node)
            elif not any(map(self._puts(node), range(self._first(node), len(self.groups)))):
                self.groups.append(Group(node.space))
                self._put(node, len(self.groups) - 1)
        self._sink(nodes)
        self.groups = [group for group in self.groups if group.nodes]
        self.at = {node: number for number, group in enumerate(self.groups) for node in group.nodes}

    def _open(self, group: Group, node: Node) -> None:
        self.groups.append(group)
        group.nodes.append(node)
        self.at[node] = len(self.groups) - 1

    def _puts(self, node: Node) -> Callable[[int], bool]:
        """What puts a node in the group of a number, if it fits in."""
        return lambda number: self._put(node, number)

    def _first(self, node: Node) -> int:
        """The first group that can have a node: what it reads is known there, or computed in it."""
        return max([self.at.get(arg.node, 0) for arg in node.args], default=0)

    def _put(self, node: Node, number: int) -> bool:
        """Put a node in a group, if it fits in."""
        group = self.groups[number]
        if not group.is_loops or len(group.nodes) >= MOST:
            return False
        inside = [arg for arg in node.args if self.at.get(arg.node) == number]
        if any([self.at.get(arg.node) == number for arg in node.elsewhere]):
            return False
        level = self._level_of_row(node, group, inside)
        if level is not None:
            group.of_rows.add(node)
        else:
            level = self._level(node, group, inside)
            if level is None:
                return False
            if isinstance(node, Reduce):
                self._reduce(node, group)
            elif isinstance(node, Scatter):
                group.late.add(node)
        group.level[node] = level
        group.nodes.append(node)
        self.at[node] = number
        return True

    def _sink(self, nodes: Sequence[Node]) -> None:
        """Move what a later group alone reads, at the place at hand, to that group, which then loads less."""
        users: dict[Node, list[Node]] = {}
        for node in nodes:
            for arg in node.args:
                users.setdefault(arg.node, []).append(node)
        for node in reversed(nodes):
            if isinstance(node, Pointwise | Pick) and node in users and self._sinks(node, users):
                before, number = self.groups[self.at[node]], self.at[users[node][0]]
                before.nodes.remove(node)
                self.groups[number].nodes.insert(0, node)
                self.groups[number].level[node] = min([self.groups[number].level[u] for u in users[node]])
                self.at[node] = number

    def _sinks(self, node: Node, users: Mapping[Node, Sequence[Node]]) -> bool:
        """Whether a node can be in the group of those that read it, and nothing more is stored for that."""
        before, group = self.groups[self.at[node]], self.groups[self.at[users[node][0]]]
        if group is before or not group.is_loops or node.space != group.space or len(group.nodes) >= MOST:
            return False
        for user in users[node]:
            if self.groups[self.at[user]] is not group or user.space != group.space:
                return False
            if any([arg.node is node for arg in user.elsewhere]):
                return False
            if any([arg.node is node and not arg.is_in_step(group.space) for arg in user.elements]):
                return False
        stays = {
            a.node
            for a in node.args
            if any([self.at[u] == self.at[node] for u in users[a.node] if u is not node])
        }
        return len(stays) < 2

    def _level_of_row(self, node: Node, group: Group, inside: Sequence[Arg]) -> int | None:
        """The pass behind which a node of one value for each row is known; None for any other node."""
        if not isinstance(node, Pointwise) or group.outer is None or not inside:
            return None
        if node.space != group.rows or node.space == group.space:
            return None
        for arg in inside:
            if arg.node not in group.of_rows or not arg.is_in_step(node.space):
                return None
        return max([group.level[arg.node] for arg in inside])

    def _level(self, node: Node, group: Group, inside: Sequence[Arg]) -> int | None:
        """The pass in which a node of a value for each place can be computed; None if it does not fit."""
        if node.space != group.space:
            return None
        level = 0
        for arg in inside:
            if arg.node in group.late:
                return None
            if arg.node in group.of_rows:
                beside = contiguous(group.rows) + (0,) * len(group.row)
                if arg.offset or arg.strides != beside:
                    return None
                level = max(level, group.level[arg.node] + 1)
            elif arg.is_in_step(group.space):
                level = max(level, group.level[arg.node])
            else:
                return None
        return level

    def _reduce(self, node: Reduce, group: Group) -> None:
        """Say whether a reduction has a value for each row, or is known behind the group."""
        count = len(node.loops) - len(node.axes)
        last = node.axes == tuple(range(count, len(node.loops)))
        if last and group.outer in (None, count):
            group.outer = count
            group.of_rows.add(node)
        else:
            group.late.add(node)
