"""Functions: a schedule as steps, each a function of LLVM's or a call of Python's, and the text of their module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tengen.ir.lower.instructions import WIDTHS, Instructions
from tengen.ir.lower.loops import Memory
from tengen.ir.routines import Routines

from .calls import Blas, pieces, product, scatter
from .folds import Fold
from .loops import STATUS, Function, Loops
from .memory import Home, Plan, late_in
from .nodes import Eager, Node, Pieces, Product, Result, Scatter
from .scalars import Scalars
from .schedule import Group, Schedule

#: Loops of so many turns or fewer, around which there are others, are worth unrolling.
SHORT = 8
_METADATA = """\
attributes #0 = { nounwind "prefer-vector-width"="512" }
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


def module(nodes: Sequence[Node], outputs: Sequence[Node], routines: Routines, blas: Blas | None) -> Module:
    """The module that computes outputs, which are distinct nodes that have no given buffer."""
    schedule = Schedule(nodes)
    late = {r: Fold(Instructions(), r.fold, r.args[0].node.dtype).stored for r in late_in(schedule.groups)}
    plan = Plan(schedule, outputs, {r: stored for r, stored in late.items() if stored != r.dtype})
    return _Maker(schedule, plan, routines, blas).module()


class _Maker:
    def __init__(self, schedule: Schedule, plan: Plan, routines: Routines, blas: Blas | None) -> None:
        self.schedule, self.plan, self.routines, self.blas = schedule, plan, routines, blas
        homes = {(s.home, s.number) for s in plan.slots.values() if s.home not in (Home.ARENA, Home.ROW)}
        self.pointers = sorted(homes, key=lambda home: (list(Home).index(home[0]), home[1]))
        self.number = {home: i for i, home in enumerate(self.pointers)}
        self.intrinsics: set[str] = set()
        self.texts: list[str] = []
        self.loops = 0
        self.unrolls = False

    def module(self) -> Module:
        steps: list[Step] = []
        waiting: list[Group] = []

        def native() -> None:
            if waiting:
                steps.append(Native(f"step{len(steps)}"))
                self._function(f"step{len(steps) - 1}", waiting)
                waiting.clear()

        for group in self.schedule.groups:
            node = group.nodes[0]
            if isinstance(node, Eager) or (isinstance(node, Product) and not self._is_native(node)):
                native()
                steps.append(Called(node, [n for n in group.nodes[1:] if isinstance(n, Result)]))
            else:
                waiting.append(group)
        native()
        marks = "".join([f"!{n} = distinct !{{!{n}, !1}}\n" for n in range(2, self.loops + 2)])
        text = "\n".join([*sorted(self.intrinsics), *self.texts, _METADATA + marks])
        size = self.plan.arena.size
        return Module(
            text, steps, self.plan, self.pointers, size, self.unrolls, self.schedule.groups
        )

    def _is_native(self, node: Product) -> bool:
        return self.blas is not None and node.dtype in self.blas.gemm

    def _function(self, name: str, groups: Sequence[Group]) -> None:
        body = Instructions()
        memory = Memory(body, WIDTHS["float32"])
        memory.loops = self.loops
        known: dict[Node, str] = {}
        head = Instructions()

        def given(number: int) -> str:
            at = f"%at{number}"
            head.put(f"{at}.p = getelementptr ptr, ptr %table, i64 {number}")
            head.put(f"{at} = load ptr, ptr {at}.p, !invariant.load !{{}}")
            return at

        taken: dict[int, str] = {}

        def pointer(node: Node) -> str:
            found = known.get(node)
            if found is None:
                slot = self.plan.slots[node]
                if slot.home in (Home.ARENA, Home.ROW):
                    found = arena(slot.number)
                else:
                    number = self.number[slot.home, slot.number]
                    found = taken.get(number) or given(number)
                    taken[number] = found
                known[node] = found
            return found

        places: dict[int, str] = {}

        def arena(offset: int) -> str:
            if offset not in places:
                number = len(self.pointers)
                base = taken.get(number) or given(number)
                taken[number] = base
                places[offset] = f"%arena{offset}"
                head.put(f"%arena{offset} = getelementptr i8, ptr {base}, i64 {offset}")
            return places[offset]

        function = Function(body, memory, Scalars(body, self.routines), self.plan, pointer, arena)
        for group in groups:
            self._group(function, group)
        self.loops = memory.loops
        self.intrinsics |= body.intrinsics
        status = f"  {STATUS} = alloca i32, align 8\n  store i32 0, ptr {STATUS}, align 8"
        result = body.add(f"load i32, ptr {STATUS}, align 8")
        lines = [status, *function.own, *head.lines, *body.lines, f"  ret i32 {result}", "}"]
        self.texts.append("\n".join([f"define i32 @{name}(ptr %table) #0 {{", *lines]))

    def _group(self, function: Function, group: Group) -> None:
        if group.is_loops:
            loops = Loops(function, group)
            short = [extent for extent, _ in loops.row[-1:] if len(loops.rows) + len(loops.row) > 1]
            self.unrolls |= any([extent <= SHORT for extent in short])
            loops.put()
            return
        node = group.nodes[0]
        match node:
            case Product():
                assert self.blas is not None
                product(function, node, self.blas)
            case Pieces():
                pieces(function, node)
            case Scatter():
                scatter(function, node)
            case _:
                raise NotImplementedError(f"no instructions for {type(node).__name__}")
