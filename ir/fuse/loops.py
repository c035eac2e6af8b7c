"""Loops: a group of nodes as one nest, with the passes over a row inside the loops of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from math import prod

from ..lower.instructions import Instructions
from ..lower.loops import ACCESS, Memory
from .folds import Fold
from .memory import Home, Plan
from .nodes import Arg, Checked, Node, Pick, Places, Pointwise, Reduce, Scatter
from .scalars import STORED, Scalars
from .schedule import Group
from .views import Shape, contiguous, merged
from .writes import copy_all, fill_zero, met

#: The elements of which one sum is formed.
BLOCK = 4096
#: The memory of what the function returns: not 0 where something is wrong.
STATUS = "%status"
#: Of what nobody writes while the function runs.
_INVARIANT = ", !invariant.load !{}"


@dataclass(slots=True)
class Function:
    """What all groups of a function put their instructions in."""

    body: Instructions
    memory: Memory
    scalars: Scalars
    plan: Plan
    #: The pointer to an element of a node's buffer, by its number.
    pointer: Callable[[Node, int], str]
    #: The pointer to a place in the arena.
    arena: Callable[[int], str]
    #: Memory of the function's own, which stands at its beginning.
    own: list[str] = field(default_factory=list)

    def allocated(self, type_: str) -> str:
        """Memory for one value."""
        name = f"%{self.body.name('own')}"
        self.own.append(f"  {name} = alloca {type_}, align 8")
        return name

    def get(self, type_: str, memory: str) -> str:
        return self.body.add(f"load {type_}, ptr {memory}, align 8")

    def set(self, type_: str, value: str, memory: str) -> None:
        self.body.put(f"store {type_} {value}, ptr {memory}, align 8")

    def at(self, type_: str, pointer: str, place: str) -> str:
        """The pointer to the element at a place."""
        if place == "0":
            return pointer
        return self.body.add(f"getelementptr inbounds {type_}, ptr {pointer}, i64 {place}")


#: A loop: its index, and the numbers of the loops that it stands for.
Index = tuple[str, tuple[int, ...]]


class Loops:
    """One group."""

    def __init__(self, function: Function, group: Group) -> None:
        self.function, self.group = function, group
        self.body, self.memory = function.body, function.memory
        self.space, self.outer = group.space, group.outer or 0
        #: What is known of the row, or the place, at hand.
        self.values: dict[Node, str] = {}
        self.loaded: dict[Arg, str] = {}
        self.indices: list[Index] = []
        accesses = [*self._accesses()]
        rows = merged(self.space[: self.outer], [a[: self.outer] for a in accesses])
        row = merged(self.space[self.outer :], [a[self.outer :] for a in accesses])
        self.rows = rows
        self.row = [(extent, tuple([a + self.outer for a in axes])) for extent, axes in row]
        self.totals = {r: self._fold(r) for r in group.nodes if isinstance(r, Reduce)}
        self.blocks = {r: function.allocated(fold.block) for r, fold in self.totals.items()}
        self.sums = {r: function.allocated(fold.total) for r, fold in self.totals.items()}

    def put(self) -> None:
        """Put the group out."""
        for node in self.group.late:
            if isinstance(node, Scatter):
                self._begin_scatter(node)
            else:
                self._begin_late(node)
        with ExitStack() as stack:
            for extent, axes in self.rows:
                stack.enter_context(self._loop(extent, axes))
            for level in range(self.group.passes):
                self._pass(level)
                self._of_rows(level)
        for node in self.group.late:
            if isinstance(node, Reduce):
                self._finish_late(node)

    # -- memory ------------------------------------------------------------------------------

    def _accesses(self) -> Iterator[Shape]:
        """The strides, over all loops, of what is read and written in memory."""
        for node in self.group.nodes:
            if node in self.group.of_rows and not isinstance(node, Reduce):
                yield from [(*arg.strides, *(0,) * len(self.group.row)) for arg in node.args]
                continue
            for arg in node.args if isinstance(node, Pick) else node.elements:
                if arg.node not in self.group.of_rows:
                    yield arg.strides
            if isinstance(node, Reduce):
                yield kept_strides(node)
            elif isinstance(node, Scatter):
                yield node.steps
            else:
                yield contiguous(self.space)

    def _is_at_hand(self, arg: Arg, level: int) -> bool:
        """Whether an operand's value is in a register in a pass."""
        node = arg.node
        return node in self.group.level and (node in self.group.of_rows or self.group.level[node] == level)

    def _address(self, arg: Arg) -> tuple[Shape, int]:
        """Over all loops, the strides and the offset of what is read in memory."""
        slot = self.function.plan.slots.get(arg.node)
        if slot is not None and slot.home is Home.ROW:
            return (0,) * self.outer + contiguous(self.group.row), 0
        return arg.strides, arg.offset

    def _place(self, strides: Shape) -> str:
        """The number of the element at hand, of what has these strides."""
        found = ""
        for index, axes in self.indices:
            stride = strides[axes[-1]]
            if stride:
                step = index if stride == 1 else self.body.add(f"mul nsw i64 {index}, {stride}")
                found = self.body.add(f"add nsw i64 {found}, {step}") if found else step
        return found or "0"

    def _load(self, arg: Arg) -> None:
        strides, offset = self._address(arg)
        dtype = arg.node.dtype
        place = self._place(strides)
        if isinstance(arg.node, Places):
            self.loaded[arg] = self.body.add(f"add nsw i64 {place}, {offset}") if offset else place
            return
        pointer = self.function.at(STORED[dtype][0], self.function.pointer(arg.node, offset), place)
        mark = _INVARIANT if self.function.plan.stays(arg.node) else ""
        self.loaded[arg] = self.function.scalars.load(dtype, pointer, ACCESS + mark)

    def _store(self, node: Node, strides: Shape, value: str) -> None:
        place = self._place(strides)
        pointer = self.function.at(STORED[node.dtype][0], self.function.pointer(node, 0), place)
        self.function.scalars.store(node.dtype, value, pointer, ACCESS)

    # -- passes ------------------------------------------------------------------------------

    @contextmanager
    def _loop(self, extent: int, axes: tuple[int, ...], parallel: bool = False) -> Iterator[None]:
        """A loop whose index is known inside."""
        with self.memory.over("0", str(extent), parallel=parallel) as index:
            self.indices.append((index, axes))
            yield
            self.indices.pop()

    def _pass(self, level: int) -> None:
        """One pass over the row at hand."""
        group = self.group
        nodes = [n for n in group.nodes if group.level[n] == level and self._is_of_places(n)]
        if not nodes:
            return
        reductions = [n for n in nodes if isinstance(n, Reduce)]
        for r in reductions:
            if r in group.of_rows:
                self.function.set(self.totals[r].total, self.totals[r].first(True), self.sums[r])
        reads: dict[int, list[Arg]] = {}
        self.loaded = {}
        for arg in dict.fromkeys([a for n in nodes for a in n.elements]):
            if not self._is_at_hand(arg, level):
                reads.setdefault(self._depth(arg), []).append(arg)
        for arg in reads.get(0, ()):
            self._load(arg)
        with ExitStack() as stack:
            for depth, (extent, axes) in enumerate(self.row[:-1], 1):
                stack.enter_context(self._loop(extent, axes))
                for arg in reads.get(depth, ()):
                    self._load(arg)
            if self.row:
                self._innermost(nodes, reductions, reads.get(len(self.row), ()))
            else:
                self._begin_blocks(reductions)
                self._each(nodes)
                self._end_blocks(reductions)

    def _is_of_places(self, node: Node) -> bool:
        """Whether it is computed at each place of a row."""
        return node not in self.group.of_rows or isinstance(node, Reduce)

    def _depth(self, arg: Arg) -> int:
        """How many loops of a row must have an index for an operand to be read."""
        strides, _ = self._address(arg)
        return max([d for d, (_, axes) in enumerate(self.row, 1) if strides[axes[-1]]], default=0)

    def _innermost(self, nodes: Sequence[Node], reductions: Sequence[Reduce], reads: Sequence[Arg]) -> None:
        extent, axes = self.row[-1]

        def elements() -> None:
            for arg in reads:
                self._load(arg)
            self._each(nodes)

        inside = [r for r in reductions if not self._is_spread(r)]
        if not inside or extent <= BLOCK:
            self._begin_blocks(inside)
            with self._loop(extent, axes, True):
                elements()
            self._end_blocks(inside)
            return
        with self.memory.over("0", str(extent), str(BLOCK)) as begin:
            self._begin_blocks(inside)
            behind = self.body.add(f"add nuw nsw i64 {begin}, {BLOCK}")
            end = self.body.intrinsic("i64", "llvm.smin.i64", (behind, str(extent)))
            with self.memory.over(begin, end, parallel=True) as index:
                self.indices.append((index, axes))
                elements()
                self.indices.pop()
            self._end_blocks(inside)

    def _each(self, nodes: Sequence[Node]) -> None:
        """What is done at each place."""
        for node in nodes:
            if isinstance(node, Reduce):
                self._bring_in(node, self._operand(node.args[0]))
                continue
            if isinstance(node, Scatter):
                self._scatter(node)
                continue
            self.values[node] = self._computed(node)
            slot = self.function.plan.slots.get(node)
            if slot is not None:
                row = (0,) * self.outer + contiguous(self.group.row)
                strides = row if slot.home is Home.ROW else contiguous(self.space)
                self._store(node, strides, self.values[node])

    def _operand(self, arg: Arg) -> str:
        found = self.loaded.get(arg)
        return self.values[arg.node] if found is None else found

    def _computed(self, node: Node) -> str:
        """The value of a node at the place at hand."""
        if isinstance(node, Pick):
            return self._picked(node)
        operand = self._operand(node.args[0]) if node.args else ""
        if isinstance(node, Checked):
            self._check(self._operand(node.args[1]))
            return operand
        assert isinstance(node, Pointwise)
        operands = [(self._operand(arg), arg.node.dtype) for arg in node.args]
        return self.function.scalars.computed(node.expr, operands, node.dtype)

    def _picked(self, node: Pick) -> str:
        given = node.args[1]
        base = self.function.pointer(given.node, given.offset)
        pointer = self._further(node, base, given.strides)
        return self.function.scalars.load(node.dtype, pointer, ACCESS)

    def _begin_scatter(self, node: Scatter) -> None:
        target = self.function.pointer(node, 0)
        if not node.elsewhere:
            fill_zero(self.body, node, target)
        for arg in node.elsewhere:
            copy_all(self.body, node, target, self.function.pointer(arg.node, arg.offset))

    def _scatter(self, node: Scatter) -> None:
        """Change an element. Those of the innermost loop are others where it goes on in constant steps."""
        index, values = node.elements
        pointer = self._further(node, self.function.pointer(node, 0), node.steps)
        steps = index.strides if isinstance(index.node, Places) else (0,) * len(node.steps)
        inner = self.row[-1][1][-1] if self.row else None
        apart = inner is not None and bool(node.steps[inner] or steps[inner])
        scalars, mark, value = self.function.scalars, ACCESS if apart else "", self._operand(values)
        if node.how != "set":
            value = met(self.body, node.how, node.dtype, scalars.load(node.dtype, pointer, mark), value)
        scalars.store(node.dtype, value, pointer, mark)

    def _further(self, node: Pick | Scatter, base: str, strides: Shape) -> str:
        """The pointer to what an index names, 0 where it is out of range, along the loops further on."""
        index = self._operand(node.args[0])
        inside = self.body.add(f"icmp ult i64 {index}, {node.places}")
        index = self.body.add(f"select i1 {inside}, i64 {index}, i64 0")
        first = self._place(strides)
        place = self.body.add(f"add i64 {first}, {self.body.add(f'mul i64 {index}, {node.step}')}")
        return self.function.at(STORED[node.dtype][0], base, place)

    def _check(self, condition: str) -> None:
        """Note it in the function's status where a condition does not hold."""
        before, holds = self.function.get("i32", STATUS), self.body.add(f"zext i1 {condition} to i32")
        wrong = self.body.add(f"xor i32 {holds}, 1")
        self.function.set("i32", self.body.add(f"or i32 {before}, {wrong}"), STATUS)

    # -- reductions --------------------------------------------------------------------------

    def _fold(self, node: Reduce) -> Fold:
        return Fold(self.body, node.fold, node.args[0].node.dtype)

    def _is_spread(self, node: Reduce) -> bool:
        """Whether the innermost loop goes through elements of the result."""
        return node in self.group.late and bool(self.row) and kept_strides(node)[self.row[-1][1][-1]] != 0

    def _begin_blocks(self, reductions: Sequence[Reduce]) -> None:
        for r in reductions:
            self.function.set(self.totals[r].block, self.totals[r].first(), self.blocks[r])

    def _bring_in(self, node: Reduce, value: str) -> None:
        fold = self.totals[node]
        value = fold.element(value)
        if self._is_spread(node):
            pointer = self._late_pointer(node)
            before = self.body.add(f"load {fold.total}, ptr {pointer}{ACCESS}")
            found = fold.brought_together(before, value)
            self.body.put(f"store {fold.total} {found}, ptr {pointer}{ACCESS}")
        else:
            before = self.function.get(fold.block, self.blocks[node])
            self.function.set(fold.block, fold.brought_in(before, value), self.blocks[node])

    def _end_blocks(self, reductions: Sequence[Reduce]) -> None:
        for r in reductions:
            fold, block = self.totals[r], self.function.get(self.totals[r].block, self.blocks[r])
            if r in self.group.late:
                pointer = self._late_pointer(r)
                before = self.body.add(f"load {fold.total}, ptr {pointer}")
                self.body.put(f"store {fold.total} {fold.brought_together(before, block)}, ptr {pointer}")
            else:
                before = self.function.get(fold.total, self.sums[r])
                self.function.set(fold.total, fold.brought_together(before, block), self.sums[r])

    def _late_pointer(self, node: Reduce) -> str:
        """The pointer to the total at the place at hand."""
        place = self._place(kept_strides(node))
        return self.function.at(self.totals[node].total, self._late_memory(node), place)

    def _late_memory(self, node: Reduce) -> str:
        at = self.function.plan.totals.get(node)
        return self.function.pointer(node, 0) if at is None else self.function.arena(at)

    def _begin_late(self, node: Node) -> None:
        assert isinstance(node, Reduce)
        fold = self.totals[node]
        with self._over_result(node) as place:
            pointer = self.function.at(fold.total, self._late_memory(node), place)
            self.body.put(f"store {fold.total} {fold.first(True)}, ptr {pointer}{ACCESS}")

    def _finish_late(self, node: Node) -> None:
        assert isinstance(node, Reduce)
        fold = self.totals[node]
        with self._over_result(node) as place:
            pointer = self.function.at(fold.total, self._late_memory(node), place)
            total = self.body.add(f"load {fold.total}, ptr {pointer}{ACCESS}")
            at = self.function.at(STORED[node.dtype][0], self.function.pointer(node, 0), place)
            self.function.scalars.store(node.dtype, fold.result(total), at, ACCESS)

    def _over_result(self, node: Node) -> AbstractContextManager[str]:
        return self.memory.over("0", str(prod(node.shape)), parallel=True)

    def _of_rows(self, level: int) -> None:
        """What there is one value of for the row at hand, once a pass is over."""
        group = self.group
        for node in group.nodes:
            if node not in group.of_rows or group.level[node] != level:
                continue
            if isinstance(node, Reduce):
                total = self.function.get(self.totals[node].total, self.sums[node])
                self.values[node] = self.totals[node].result(total)
            else:
                self.loaded = {}
                for arg in node.args:
                    if arg.node not in group.of_rows:
                        self._load(arg)
                self.values[node] = self._computed(node)
            if node in self.function.plan.slots:
                self._store(node, contiguous(group.rows), self.values[node])


def kept_strides(node: Reduce) -> Shape:
    """By its loops, the strides of a reduction's result: 0 along what it reduces."""
    kept = iter(contiguous(node.shape))
    return tuple([0 if axis in node.axes else next(kept) for axis in range(len(node.loops))])
