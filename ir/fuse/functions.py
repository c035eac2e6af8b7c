"""Functions: a schedule as steps, of LLVM's functions and calls of Python's, and the text of a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..lower.instructions import WIDTHS, Instructions
from ..lower.loops import Memory
from ..routines import Routines
from .calls import Blas, pieces, product
from .folds import Fold
from .loops import STATUS, Function, Loops
from .memory import Home, Plan, Slot, late_in
from .nodes import Checked, Eager, Node, Pieces, Product, Result
from .scalars import STORED, Scalars
from .schedule import Group, Schedule

#: Loops of so many turns or fewer, around which there are others, are worth unrolling.
SHORT = 8
_METADATA = """\
attributes #0 = { nounwind }
attributes #1 = { nounwind noinline "prefer-vector-width"="512" }
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
"""


@dataclass(slots=True)
class Native:
    """A step: a function of the module, by its name."""

    name: str


@dataclass(slots=True)
class Called:
    """A step: a call of Python's, of a node and its results."""

    node: Node
    results: list[Result] = field(default_factory=list)


Step = Native | Called


@dataclass(slots=True)
class Module:
    """What is to be compiled, and what a call does with it."""

    text: str
    steps: list[Step]
    plan: Plan
    #: The home of each pointer that the functions are given, in order.
    pointers: list[tuple[Home, int]]
    arena: int
    unrolls: bool
    groups: list[Group]


def module(
    schedule: Schedule,
    outputs: Sequence[Node],
    routines: Routines,
    blas: Blas | None,
    given: Mapping[Node, Slot] | None = None,
) -> Module:
    """The module that computes outputs, which are distinct nodes that have no given buffer.

    ``given`` has the slots of nodes whose buffers share an array, or are inputs. Where nodes are written to
    inputs, nothing is if there is an error.
    """
    late = {r: Fold(Instructions(), r.fold, r.args[0].node.dtype).stored for r in late_in(schedule.groups)}
    plan = Plan(schedule, outputs, {r: stored for r, stored in late.items() if stored != r.dtype}, given)
    return _Maker(schedule, plan, routines, blas).module()


#: An element of a node's buffer, by its number; without a node a place in the arena, in bytes.
Place = tuple[Node | None, int]


class _Pointers:
    """What a function is given: pointers to buffers, by a table in memory, of which the last is the arena."""

    def __init__(self, body: Instructions, plan: Plan, homes: Sequence[tuple[Home, int]]) -> None:
        self.body, self.plan, self.homes = body, plan, homes
        self.number = {home: i for i, home in enumerate(homes)}
        self._given: dict[int, str] = {}
        self._places: dict[int, str] = {}

    def of(self, node: Node | None, place: int) -> str:
        """The pointer to an element of a node's buffer, or to a place in the arena."""
        if node is None:
            return self._in_arena(place)
        if place:
            return self.body.add(
                f"getelementptr {STORED[node.dtype][0]}, ptr {self.of(node, 0)}, i64 {place}"
            )
        slot = self.plan.slots[node]
        if slot.offset:
            base = self._of_table(self.number[slot.home, slot.number])
            return self.body.add(f"getelementptr i8, ptr {base}, i64 {slot.offset}")
        if slot.home in (Home.ARENA, Home.ROW):
            return self._in_arena(slot.number)
        return self._of_table(self.number[slot.home, slot.number])

    def _in_arena(self, offset: int) -> str:
        """The pointer to a place in the arena."""
        if offset not in self._places:
            base = self._of_table(len(self.homes))
            self._places[offset] = f"%arena{offset}"
            self.body.put(f"%arena{offset} = getelementptr i8, ptr {base}, i64 {offset}")
        return self._places[offset]

    def _of_table(self, number: int) -> str:
        if number not in self._given:
            self._given[number] = at = f"%at{number}"
            self.body.put(f"{at}.p = getelementptr ptr, ptr %table, i64 {number}")
            self.body.put(f"{at} = load ptr, ptr {at}.p, !invariant.load !{{}}")
        return self._given[number]


class _Maker:
    """Puts out the functions of a schedule, one for groups between which Python calls nothing."""

    def __init__(self, schedule: Schedule, plan: Plan, routines: Routines, blas: Blas | None) -> None:
        self.schedule, self.plan, self.routines, self.blas = schedule, plan, routines, blas
        slots = [(slot.home, slot.number) for slot in plan.slots.values()]
        homes = {home for home in slots if home[0] not in (Home.ARENA, Home.ROW)}
        self.homes = sorted(homes, key=lambda home: (list(Home).index(home[0]), home[1]))
        self.intrinsics: set[str] = set()
        self.texts: list[str] = []
        #: By the instructions of their functions, the names of groups.
        self.known: dict[str, str] = {}
        self.steps: list[Step] = []
        self.loops = 0
        self.unrolls = False

    def module(self) -> Module:
        waiting: list[Group] = []
        for group in self.schedule.groups:
            if self._is_native(group.nodes[0]):
                waiting.append(group)
                continue
            self._function(waiting)
            waiting = []
            self.steps.append(Called(group.nodes[0], [n for n in group.nodes if isinstance(n, Result)]))
        self._function(waiting)
        marks = "".join([f"!{n} = distinct !{{!{n}, !1}}\n" for n in range(2, self.loops + 2)])
        text = "\n".join([*sorted(self.intrinsics), *self.texts, _METADATA + marks])
        size, groups = self.plan.arena.size, self.schedule.groups
        return Module(text, self.steps, self.plan, self.homes, size, self.unrolls, groups)

    def _is_native(self, node: Node) -> bool:
        if isinstance(node, Product):
            return self.blas is not None and node.dtype in self.blas.gemm
        return not isinstance(node, Eager)

    def _function(self, groups: Sequence[Group]) -> None:
        """Put out the function of a step, which calls those of its groups."""
        if not groups:
            return
        body, name = Instructions(), f"step{len(self.steps)}"
        pointers = _Pointers(body, self.plan, self.homes)
        status = "0"
        checks = False
        for number, group in enumerate(groups):
            if checks and self._writes(group):
                checks = False
                self._leave(body, status, number)
                status = "0"
            checks |= any([isinstance(node, Checked) for node in group.nodes])
            function, given = self._function_of(group)
            operands = ", ".join([f"ptr {pointers.of(*each)}" for each in given])
            found = body.add(f"call i32 @{function}({operands})")
            status = body.add(f"or i32 {status}, {found}")
        lines = [*body.lines, f"  ret i32 {status}", "}"]
        self.texts.append("\n".join([f"define i32 @{name}(ptr %table) #0 {{", *lines]))
        self.steps.append(Native(name))

    def _writes(self, group: Group) -> bool:
        """Whether a group writes to an input."""
        slots = [self.plan.slots.get(node) for node in group.nodes]
        return any([slot is not None and slot.home is Home.INPUT for slot in slots])

    def _leave(self, body: Instructions, status: str, number: int) -> None:
        """Return where an element was out of range."""
        failed = body.add(f"icmp ne i32 {status}, 0")
        body.put(f"br i1 {failed}, label %failed{number}, label %go{number}")
        body.label(f"failed{number}")
        body.put(f"ret i32 {status}")
        body.label(f"go{number}")

    def _function_of(self, group: Group) -> tuple[str, list[Place]]:
        """The function of a group, and what it is given; groups that do the same have one."""
        text, given = self._text(group, 0)
        if text not in self.known:
            name = f"group{len(self.known)}"
            own, _ = self._text(group, self.loops)
            parameters = ", ".join([f"ptr %p{i}" for i in range(len(given))])
            self.texts.append(f"define internal i32 @{name}({parameters}) #1 {{\n{own}\n}}")
            self.known[text] = name
        return self.known[text], given

    def _text(self, group: Group, loops: int) -> tuple[str, list[Place]]:
        """The instructions of a group's function, whose loops are numbered from one on."""
        body = Instructions()
        memory = Memory(body, WIDTHS["float32"])
        memory.loops = loops
        given: list[Place] = []

        def pointer(node: Node | None, place: int) -> str:
            if (node, place) not in given:
                given.append((node, place))
            return f"%p{given.index((node, place))}"

        def arena(place: int) -> str:
            return pointer(None, place)

        function = Function(body, memory, Scalars(body, self.routines), self.plan, pointer, arena)
        self._group(function, group)
        self.loops = max(self.loops, memory.loops)
        self.intrinsics |= body.intrinsics
        status = [f"  {STATUS} = alloca i32, align 8", f"  store i32 0, ptr {STATUS}, align 8"]
        result = body.add(f"load i32, ptr {STATUS}, align 8")
        return "\n".join([*status, *function.own, *body.lines, f"  ret i32 {result}"]), given

    def _group(self, function: Function, group: Group) -> None:
        if group.is_loops:
            loops = Loops(function, group)
            if len(loops.rows) + len(loops.row) > 1:
                self.unrolls |= any([extent <= SHORT for extent, _ in loops.row[-1:]])
            loops.put()
            return
        match group.nodes[0]:
            case Product() as node:
                assert self.blas is not None
                product(function, node, self.blas)
            case Pieces() as node:
                pieces(function, node)
            case other:
                raise NotImplementedError(f"no instructions for {type(other).__name__}")
