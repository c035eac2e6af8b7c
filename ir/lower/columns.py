"""Lower: kernels that reduce along the first of two dims: a result for each column, or one for each element.

Tiles of columns are done one after the other, each row by row, so that memory is read as it lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..expressions import Call, Expr, Name
from ..kernels import NativeKernel
from ..routines import Routines
from .blocks import Blocks
from .instructions import Kind, Unlowerable, Value
from .loops import ACCESS
from .passes import LENGTH, PLACES, Pass, Plan
from .scalars import Operand as ScalarOperand

#: The columns of a tile, the rows of which one sum is formed, and those that are added at a time.
TILE, BLOCK, GROUP = 256, 64, 4


def columns(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel over columns."""
    if any([o.dims not in ((LENGTH,), (PLACES, LENGTH)) for o in kernel.outputs]):
        raise Unlowerable("the results of a kernel over columns are rows or tables")
    return _Columns(kernel, routines, scalar, Plan(kernel, routines, PLACES)).module()


class _Columns(Blocks):
    """A loop over tables, tiles of columns, and passes over the rows: for contiguous rows, and for any."""

    along = PLACES
    width = TILE

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str, plan: Plan) -> None:
        super().__init__(kernel, routines, scalar, [plan])
        self.plan = plan
        count = self.body.add(f"uitofp i64 {self.arrays.sizes[PLACES]} to {self.scalars.width.llvm}")
        self.know(Name(PLACES), Value(count, Kind.FLOAT))
        #: What reductions give, for the passes behind theirs and the results.
        self.given = {r: self.own(self._type_of(r)) for r in self.formed}
        self.kept: dict[Expr, str] = {}  # what earlier passes kept, and in the memory of which result
        # Of the tile that is put out: its first column, how many it has, and the one at hand.
        self.first = self.count = self.column = ""

    def _type_of(self, r: Call) -> str:
        """The type of what is kept of a reduction when its pass has ended."""
        total = self.reductions.total_type_of(r)
        return total if total.startswith("i") else self.reductions.type_of(r)

    def module(self) -> str:
        with self.contiguous([o for o in self.kernel.operands if LENGTH in o.dims]):
            self._version()
        self._version()
        return self.memory.module()

    def _version(self) -> None:
        size, self.kept = self.arrays.sizes[LENGTH], {}
        with self.outer(), self.memory.over("0", size, str(TILE)) as self.first, self.scope({}):
            rest = self.body.add(f"sub i64 {size}, {self.first}")
            self.count = self.body.intrinsic("i64", "llvm.smin.i64", (rest, str(TILE)))
            for done in self.plan.passes:
                self.reduce(done, BLOCK)
                self.kept.update({expr: memory for memory, expr in done.kept})
            with self.each():
                for name, expr in self.plan.numbers.items():
                    self.store(name, expr)

    @contextmanager
    def each(self) -> Iterator[None]:
        with self.memory.over("0", self.count, parallel=True) as self.column:
            place = self.body.add(f"add nuw nsw i64 {self.first}, {self.column}")
            with self.scope({LENGTH: place}):
                yield

    def get(self, type_: str, memory: str) -> str:
        at = self.body.add(f"getelementptr {type_}, ptr {memory}, i64 {self.column}")
        return self.body.add(f"load {type_}, ptr {at}{ACCESS}")

    def set(self, type_: str, value: str, memory: str) -> None:
        at = self.body.add(f"getelementptr {type_}, ptr {memory}, i64 {self.column}")
        self.body.put(f"store {type_} {value}, ptr {at}{ACCESS}")

    def elements(self, done: Pass, begin: str, end: str) -> None:
        size = self.body.add(f"sub i64 {end}, {begin}")
        whole = self.body.add(f"sub i64 {end}, {self.body.add(f'urem i64 {size}, {GROUP}')}")
        for first, behind, count in ((begin, whole, GROUP), (whole, end, 1)):
            with self.memory.over(first, behind, str(count)) as row, self.scope({}):
                self._rows(done, row, begin, count)

    def _rows(self, done: Pass, row: str, begin: str, count: int) -> None:
        """Some rows of the block that begins with one, for each column of the tile."""
        rows = [row, *[self.body.add(f"add nuw nsw i64 {row}, {i}") for i in range(1, count)]]
        known = []
        for place in rows:
            with self.scope({PLACES: place}) as found:
                self.prepare(done.roots)
            known.append(found)
        with self.each():
            for r in done.reductions:
                type_, memory = self.reductions.type_of(r), self.formed[r].block
                acc = self.get(type_, memory)
                for place, found in zip(rows, known, strict=True):
                    with self.scope({PLACES: place}, found):
                        acc = self.brought_in(r, acc, place, begin)
                self.set(type_, acc, memory)
            for place, found in zip(rows, known, strict=True):
                with self.scope({PLACES: place}, found):
                    for name, expr in (*done.kept, *done.results):
                        self.store(name, expr)

    def finish(self, r: Call) -> None:
        with self.each():
            total = self.get(self.reductions.total_type_of(r), self.formed[r].total)
            type_, text = self._type_of(r), self.reductions.result(r, total).text
            if type_ == "i32":
                text = self.body.add(f"zext i1 {text} to i32")
            self.set(type_, text, self.given[r])

    def new(self, expr: Expr) -> ScalarOperand:
        if expr in self.kept:
            return self.load(self.kept[expr])
        if not isinstance(expr, Call) or expr not in self.formed:
            return super().new(expr)
        type_ = self._type_of(expr)
        text = self.get(type_, self.given[expr])
        if type_ == "i32":
            return Value(self.body.add(f"icmp ne i32 {text}, 0"), Kind.BOOL)
        return Value(text, Kind.LONG if type_ == "i64" else Kind.FLOAT)
