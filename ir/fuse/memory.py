"""Memory: where what outlives its loop lies. Buffers share an arena where they are not alive at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod

from .nodes import Arg, Checked, Eager, Input, Node, Reduce, Result, Table
from .scalars import STORED
from .schedule import Group, Schedule
from .views import Shape

#: To what buffers are aligned, in bytes, and from what on the rest of a larger place is used for another.
ALIGNED, WORTH = 64, 1024


class Home(Enum):
    """What kind of memory a buffer is in."""

    INPUT = "input"  # that a call is given, by its number
    TABLE = "table"  # that the program has
    OUTPUT = "output"  # that a call gives
    RESULT = "result"  # that an eager kernel gave
    ARENA = "arena"  # of the call, at an offset in bytes
    ROW = "row"  # the same, for one row at a time


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a buffer is."""

    home: Home
    number: int
    #: In bytes, behind the beginning of an array that several buffers share.
    offset: int = 0


@dataclass(slots=True)
class Arena:
    """Memory of so many bytes, in which places are taken and given back."""

    size: int = 0
    free: list[tuple[int, int]] = field(default_factory=list)
    taken: list[tuple[int, int, int]] = field(default_factory=list)

    def take(self, size: int, now: int, until: int) -> int:
        """A place of so many bytes, from one group on until behind another."""
        for place in [t for t in self.taken if t[0] < now]:
            self.taken.remove(place)
            self.free.append(place[1:])
        need = _aligned(size)
        fitting = [place for place in self.free if place[1] >= need]
        if fitting:
            at, had = min(fitting, key=lambda place: place[1])
            self.free.remove((at, had))
            if had - need >= WORTH:
                self.free.append((at + need, had - need))
                had = need
        else:
            at, had = self.size, need
            self.size += need
        self.taken.append((until, at, had))
        return at


class Plan:
    """The slots of the buffers of a schedule; a node without one is in registers."""

    def __init__(
        self,
        schedule: Schedule,
        outputs: Sequence[Node],
        stored_of: Mapping[Node, str],
        given: Mapping[Node, Slot] | None = None,
    ) -> None:
        """``stored_of``: by late reductions, the dtype of what they are formed in where it is another.

        ``given`` has the slots of nodes whose buffers share an array that is given, or is an output.
        """
        self.slots: dict[Node, Slot] = dict(given or {})
        written = [slot for node, slot in self.slots.items() if not isinstance(node, Input)]
        self._written = {slot.number for slot in written if slot.home is Home.INPUT}
        #: Where late reductions are formed.
        self.totals: dict[Node, int] = {}
        self.tables: list[Table] = []
        self.results: list[Result] = []
        self.arena = Arena()
        last = _last_uses(schedule)
        for number, node in enumerate(outputs):
            if not isinstance(node, Result):
                self.slots[node] = Slot(Home.OUTPUT, number)
        for at, group in enumerate(schedule.groups):
            for node in group.nodes:
                self._given(node)
                if isinstance(node, Eager):
                    continue
                if isinstance(node, Result):
                    self.slots[node] = Slot(Home.RESULT, len(self.results))
                    self.results.append(node)
                    continue
                if node in stored_of:
                    size = _bytes(node.shape, stored_of[node])
                    self.totals[node] = self.arena.take(size, at, at)
                if node not in self.slots and _is_stored(node, group, last, at):
                    self._store(node, group, last.get(node, at), at)

    def stays(self, node: Node) -> bool:
        """Whether nothing is written to a node's buffer while the program runs."""
        return isinstance(node, Table) or (isinstance(node, Input) and node.number not in self._written)

    def _given(self, node: Node) -> None:
        for arg in node.args:
            if isinstance(arg.node, Input) and arg.node not in self.slots:
                self.slots[arg.node] = Slot(Home.INPUT, arg.node.number)
            elif isinstance(arg.node, Table) and arg.node not in self.slots:
                self.slots[arg.node] = Slot(Home.TABLE, len(self.tables))
                self.tables.append(arg.node)

    def _store(self, node: Node, group: Group, until: int, at: int) -> None:
        inside = until == at and group.is_loops and bool(group.outer) and node not in group.late
        if inside and node not in group.of_rows:
            size = _bytes(group.row, node.dtype)
            self.slots[node] = Slot(Home.ROW, self.arena.take(size, at, at))
        else:
            size = _bytes(node.shape, node.dtype)
            self.slots[node] = Slot(Home.ARENA, self.arena.take(size, at, until))


def _is_stored(node: Node, group: Group, last: dict[Node, int], at: int) -> bool:
    """Whether a node's buffer is read where its value is in no register any more."""
    if not group.is_loops or node in group.late or last.get(node, at) > at:
        return True
    if node in group.of_rows:
        return False
    level = group.level[node]
    return any([group.level[user] != level for user in group.nodes if _reads(user, node)])


def _reads(user: Node, node: Node) -> bool:
    return any([arg.node is node for arg in user.args])


def _last_uses(schedule: Schedule) -> dict[Node, int]:
    """By node, the last group that reads it."""
    found: dict[Node, int] = {}
    for at, group in enumerate(schedule.groups):
        for node in group.nodes:
            for arg in node.args:
                found[arg.node] = at
    return found


def in_place(schedule: Schedule, wanted: Mapping[Node, int]) -> dict[Node, Slot]:
    """Which nodes can be written to the inputs of these numbers, in place of a buffer of their own.

    All that is read of the input is read before, or at the same place; and nothing fails once it is written.
    """
    checked = [i for i, group in enumerate(schedule.groups) if any(map(_may_fail, group.nodes))]
    reads: dict[int, list[tuple[int, Node, Arg]]] = {}
    for at, group in enumerate(schedule.groups):
        for node in group.nodes:
            for arg in node.args:
                if isinstance(arg.node, Input):
                    reads.setdefault(arg.node.number, []).append((at, node, arg))
    found: dict[Node, Slot] = {}
    for node, number in wanted.items():
        at = schedule.at.get(node, -1)
        if at <= max(checked, default=-1) or not _has_each_place(node, schedule.groups[at]):
            continue
        if all([_is_before(schedule.groups[at], at, node, read) for read in reads.get(number, ())]):
            found[node] = Slot(Home.INPUT, number)
    return found


def _may_fail(node: Node) -> bool:
    return isinstance(node, Checked | Eager)


def _has_each_place(node: Node, group: Group) -> bool:
    """Whether a node has a value for each place of its group's loops, made in them."""
    return group.is_loops and node not in group.late | group.of_rows and node.shape == group.space


def _is_before(group: Group, at: int, node: Node, read: tuple[int, Node, Arg]) -> bool:
    """Whether what is read is read before a node of a group is written, or for it."""
    where, reader, arg = read
    if where != at:
        return where < at
    if any([arg is each for each in reader.elsewhere]):
        return False
    first = group.nodes.index(reader) <= group.nodes.index(node)
    return first and group.level[reader] <= group.level[node] and arg.is_in_step(group.space)


def packed(nodes: Sequence[Node]) -> tuple[list[int], int]:
    """Where buffers are in one array, in bytes, and how many it has."""
    places, size = [], 0
    for node in nodes:
        places.append(size)
        size += _aligned(_bytes(node.shape, node.dtype))
    return places, size


def _aligned(size: int) -> int:
    """The bytes that a place of so many takes; one of none takes some, too."""
    return max(-(-size // ALIGNED), 1) * ALIGNED


def _bytes(shape: Shape, dtype: str) -> int:
    return prod(shape) * STORED[dtype][1]


def late_in(groups: Collection[Group]) -> list[Reduce]:
    """The reductions that are known behind their groups."""
    return [
        node for group in groups for node in group.nodes if node in group.late and isinstance(node, Reduce)
    ]
