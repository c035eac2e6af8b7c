"""Lower: passes that reduce along a dim, block by block.

What the elements of a block come to stands in memory of the function's own, and beside it what the blocks
before came to: one of each, of which LLVM makes registers, or one for each column of a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..expressions import Call, Expr
from ..kernels import NativeKernel
from ..routines import Routines
from .nests import Nest
from .passes import Pass, Plan
from .reductions import Reductions

#: The elements of a block in a pass that looks for places alone: it ends with the block in which they are.
LOOKING = 256


@dataclass(frozen=True, slots=True)
class Formed:
    """A reduction's memory: of the elements of a block, and of the blocks before."""

    block: str
    total: str


class Blocks(Nest):
    """A kernel that reduces along one dim, in passes; ``width`` rows at a time, which lie side by side."""

    along: str
    width = 1
    any_order = False

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str, plans: Sequence[Plan]) -> None:
        super().__init__(kernel, routines, scalar)
        self.reductions = Reductions(self.body, self.scalars, self.any_order)
        found = dict.fromkeys([r for plan in plans for r in plan.reductions])
        self.formed = {
            r: Formed(self.own(self.reductions.type_of(r)), self.own(self.reductions.total_type_of(r)))
            for r in found
        }

    def dims_of(self, expr: Expr) -> frozenset[str]:
        if isinstance(expr, Call) and expr in self.formed:
            return self.varies(expr.arguments[0]) - {self.along}
        return super().dims_of(expr)

    # -- memory of the function's own ----------------------------------------------------------

    def own(self, type_: str) -> str:
        """An element for each row that is done at a time."""
        return self.body.add(f"alloca [{self.width} x {type_}], align 64")

    @contextmanager
    def each(self) -> Iterator[None]:
        """What is put out inside is done for each of these rows."""
        yield

    def get(self, type_: str, memory: str) -> str:
        """The element of the row at hand."""
        return self.body.add(f"load {type_}, ptr {memory}")

    def set(self, type_: str, value: str, memory: str) -> None:
        """Change the element of the row at hand."""
        self.body.put(f"store {type_} {value}, ptr {memory}")

    @contextmanager
    def around(self) -> Iterator[None]:
        """What is put out inside goes along the dim, as often as rows have such parts."""
        yield

    # -- passes --------------------------------------------------------------------------------

    def reduce(self, done: Pass, block: int) -> None:
        """A pass that reduces: a loop over blocks, with that over their elements in it."""
        reductions, size = self.reductions, self.arrays.sizes[self.along]
        with self.each():
            for r in done.reductions:
                self.set(reductions.total_type_of(r), reductions.first_total(r), self.formed[r].total)
        step, found = self._looking(done) if done.looks and self.width == 1 else (block, None)
        with self.around(), self.memory.over("0", size, str(step), unless=found) as begin, self.scope({}):
            behind = self.body.add(f"add nuw nsw i64 {begin}, {step}")
            end = self.body.intrinsic("i64", "llvm.smin.i64", (behind, size))
            with self.each():
                for r in done.reductions:
                    self.set(reductions.type_of(r), reductions.first(r), self.formed[r].block)
            self.elements(done, begin, end)
            with self.each():
                for r in done.reductions:
                    self._bring_together(r, begin)
        for r in done.reductions:
            self.finish(r)

    def elements(self, done: Pass, begin: str, end: str) -> None:
        """What a pass does from one element on until before another."""
        raise NotImplementedError

    def finish(self, r: Call) -> None:
        """What is done with a reduction of which all blocks are known."""
        raise NotImplementedError

    def brought_in(self, r: Call, acc: str, place: str, begin: str) -> str:
        """What a block came to, and the element at a place."""
        element = self.reductions.element(r, self.value(r.arguments[0]), place, begin)
        return self.reductions.brought_in(r, acc, element)

    def _bring_together(self, r: Call, begin: str) -> None:
        formed, type_ = self.formed[r], self.reductions.total_type_of(r)
        total, block = self.get(type_, formed.total), self.get(self.reductions.type_of(r), formed.block)
        self.set(type_, self.reductions.brought_together(r, total, block, begin), formed.total)

    def _looking(self, done: Pass) -> tuple[int, Callable[[], str]]:
        """The elements of a block, and whether all places are found."""

        def found() -> str:
            missing = [
                self.reductions.is_missing(r, self.get("i64", self.formed[r].total)) for r in done.reductions
            ]
            return self.body.add(f"xor i1 {self.memory.any_of(missing)}, true")

        return LOOKING, found
