"""Lower: kernels that reduce along the first of two dims: a result for each column.

Tiles of columns are done one after the other, each row by row, so that memory is read as it lies. What is
reduced stands in memory of the function's own, an element for each column of a tile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..expressions import Call, Expr, Name, Subscript
from ..kernels import NativeKernel
from ..routines import Routines
from .instructions import Instructions, Kind, Unlowerable, Value
from .loops import Arrays, Memory
from .passes import LENGTH, PLACES, Pass, Plan, operands_of
from .reductions import Reductions
from .scalars import Operand as ScalarOperand, ScalarLowering

#: The columns of a tile, the rows of which one sum is formed, and those that are added at a time.
TILE, BLOCK, GROUP = 256, 64, 4


def columns(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel over columns."""
    return _Columns(kernel, routines, scalar).module()


@dataclass(frozen=True, slots=True)
class _Tile:
    """Memory for a reduction: of the rows of a block, of the blocks before, and for what both come to."""

    block: str
    total: str
    result: str


class _Columns:
    """A loop over tables, tiles of columns, and passes over the rows: for contiguous rows, and for any."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        self.kernel = kernel
        self.plan = Plan(kernel, routines, PLACES)
        if any([o.dims != (LENGTH,) for o in kernel.outputs]):
            raise Unlowerable("the results of a kernel over columns are rows")
        self.body = Instructions()
        self.scalars = ScalarLowering(self.body, scalar, routines)
        self.memory = Memory(self.body, self.scalars.width)
        self.reductions = Reductions(self.body, self.scalars, any_order=False)
        self.body.label("entry")
        self.arrays = Arrays(self.memory, kernel)
        self.rows = self.arrays.sizes[PLACES]
        self.count = self.body.add(f"uitofp i64 {self.rows} to {self.scalars.width.llvm}")
        self.tiles = {r: self._tile(r) for r in self.plan.reductions}
        # Of the version, and of the tile, that is put out.
        self.follow = False
        self.pointers: dict[str, str] = {}
        self.first = self.width = ""

    def _tile(self, reduction: Call) -> _Tile:
        types = self.reductions.type_of(reduction), self.reductions.total_type_of(reduction)
        made = [
            self.body.add(f"alloca [{TILE} x {t}], align 64") for t in (*types, self._result_type(reduction))
        ]
        return _Tile(*made)

    def _result_type(self, reduction: Call) -> str:
        """The type of what is kept of a reduction when its pass has ended."""
        total = self.reductions.total_type_of(reduction)
        return total if total.startswith("i") else self.reductions.type_of(reduction)

    def module(self) -> str:
        body = self.body
        along = [o for o in self.kernel.operands if LENGTH in o.dims]
        body.put(f"br i1 {self.arrays.follow(along)}, label %contiguous, label %strided")
        for version in ("contiguous", "strided"):
            body.label(version)
            self.follow = version == "contiguous"
            self._version()
            body.put("ret i32 0")
        return self.memory.module()

    def _version(self) -> None:
        with self.memory.over("0", self.arrays.outer) as table:
            self.pointers = self.arrays.pointers(table)
            shared: dict[Expr, ScalarOperand] = {Name(PLACES): Value(self.count, Kind.FLOAT)}
            for operand in self.kernel.inputs:
                if not operand.dims:
                    shared[Name(operand.name)] = self.memory.load(operand, self.pointers[operand.name])
            with self.memory.over("0", self.arrays.sizes[LENGTH], str(TILE)) as self.first:
                rest = self.body.add(f"sub i64 {self.arrays.sizes[LENGTH]}, {self.first}")
                self.width = self._least(rest, str(TILE))
                for done in self.plan.passes:
                    self._pass(done, shared)
                self._results(shared)

    def _least(self, a: str, b: str) -> str:
        return self.body.intrinsic("i64", "llvm.smin.i64", (a, b))

    def _pass(self, done: Pass, shared: Mapping[Expr, ScalarOperand]) -> None:
        """All rows, in blocks; a block's sums are added to those of the blocks before."""
        for r in done.reductions:
            first = self.reductions.first_total(r)
            self._fill(self.tiles[r].total, self.reductions.total_type_of(r), first)
        with self.memory.over("0", self.rows, str(BLOCK)) as begin:
            end = self._least(self.body.add(f"add nuw nsw i64 {begin}, {BLOCK}"), self.rows)
            for r in done.reductions:
                self._fill(self.tiles[r].block, self.reductions.type_of(r), self.reductions.first(r))
            size = self.body.add(f"sub i64 {end}, {begin}")
            whole = self.body.add(f"sub i64 {end}, {self.body.add(f'urem i64 {size}, {GROUP}')}")
            with self.memory.over(begin, whole, str(GROUP)) as row:
                self._rows(done, row, begin, GROUP, shared)
            with self.memory.over(whole, end) as row:
                self._rows(done, row, begin, 1, shared)
            for r in done.reductions:
                self._bring_together(r, begin)
        for r in done.reductions:
            self._finish(r)

    def _fill(self, tile: str, type_: str, value: str) -> None:
        with self.memory.over("0", str(TILE), parallel=True) as column:
            self._store(type_, value, tile, column)

    def _rows(
        self, done: Pass, row: str, begin: str, count: int, shared: Mapping[Expr, ScalarOperand]
    ) -> None:
        """Some rows of the block that begins with one, for each column of the tile."""
        rows = [row, *[self.body.add(f"add nuw nsw i64 {row}, {i}") for i in range(1, count)]]
        known = [_Values(self, r, dict(shared)) for r in rows]
        for values in known:
            for reduction in done.reductions:
                values.prepare(reduction.arguments[0])
        with self.memory.over("0", self.width, parallel=True) as column:
            for reduction in done.reductions:
                type_, tile = self.reductions.type_of(reduction), self.tiles[reduction].block
                acc = self._load(type_, tile, column)
                for values in known:
                    operand = values.at(column, reduction.arguments[0])
                    value = self.reductions.element(reduction, operand, values.row, begin)
                    target = f"%{self.body.name('acc')}"
                    self.reductions.bring_in(target, reduction, acc, value)
                    acc = target
                self._store(type_, acc, tile, column)

    def _bring_together(self, r: Call, begin: str) -> None:
        type_, total_type, tile = self.reductions.type_of(r), self.reductions.total_type_of(r), self.tiles[r]
        with self.memory.over("0", self.width, parallel=True) as column:
            total, block = self._load(total_type, tile.total, column), self._load(type_, tile.block, column)
            target = f"%{self.body.name('total')}"
            self.reductions.bring_together(target, r, total, block, begin)
            self._store(total_type, target, tile.total, column)

    def _finish(self, r: Call) -> None:
        """What the reduction gives, where later passes and the results find it."""
        total_type, tile = self.reductions.total_type_of(r), self.tiles[r]
        with self.memory.over("0", self.width, parallel=True) as column:
            value = self.reductions.result(r, self._load(total_type, tile.total, column)).text
            if total_type == "i32":
                value = self.body.add(f"zext i1 {value} to i32")
            self._store(self._result_type(r), value, tile.result, column)

    def _results(self, shared: Mapping[Expr, ScalarOperand]) -> None:
        values = _Values(self, "0", dict(shared))
        with self.memory.over("0", self.width, parallel=True) as column:
            for operand in self.kernel.outputs:
                value = values.at(column, self.plan.numbers[operand.name])
                text = self.scalars.stored(value, operand)
                self.memory.store(operand, text, self.at(operand.name, "0", column), parallel=True)

    def at(self, name: str, row: str, column: str) -> str:
        """The pointer to an operand's element in a row and a column of the tile."""
        operand = self.arrays.operand(name)
        if LENGTH in operand.dims:
            column = self.body.add(f"add nuw nsw i64 {self.first}, {column}")
        places = {PLACES: row, LENGTH: column}
        return self.arrays.at(name, self.pointers[name], places, self.follow and LENGTH in operand.dims)

    def reduced(self, r: Call, column: str) -> Value:
        """The value of a reduction of a pass that has ended."""
        type_ = self._result_type(r)
        text = self._load(type_, self.tiles[r].result, column)
        if type_ == "i64":
            return Value(text, Kind.LONG)
        if type_ == "i32":
            return Value(self.body.add(f"icmp ne i32 {text}, 0"), Kind.BOOL)
        return Value(text, Kind.FLOAT)

    def _load(self, type_: str, tile: str, column: str) -> str:
        at = self.body.add(f"getelementptr {type_}, ptr {tile}, i64 {column}")
        return self.body.add(f"load {type_}, ptr {at}, !llvm.access.group !0")

    def _store(self, type_: str, value: str, tile: str, column: str) -> None:
        at = self.body.add(f"getelementptr {type_}, ptr {tile}, i64 {column}")
        self.body.put(f"store {type_} {value}, ptr {at}, !llvm.access.group !0")


class _Values:
    """The values of expressions in one row: those of the row alone once, others for each column."""

    def __init__(self, columns: _Columns, row: str, known: dict[Expr, ScalarOperand]) -> None:
        self.columns, self.row = columns, row
        self.known = known
        self.of_columns: dict[tuple[Expr, str], ScalarOperand] = {}

    def prepare(self, expr: Expr) -> None:
        """Compute before the loop over columns what does not depend on these."""
        if self._is_of_row(expr):
            self._of_row(expr)
        elif not isinstance(expr, Name) and expr not in self.columns.tiles:
            for part in operands_of(expr):
                self.prepare(part)

    def _is_of_row(self, expr: Expr) -> bool:
        if expr in self.columns.tiles:
            return False
        match expr:
            case Name(name) if name in self.columns.arrays.numbers:
                return LENGTH not in self.columns.arrays.operand(name).dims
            case Name():
                return True
        return all(map(self._is_of_row, operands_of(expr)))

    def _of_row(self, expr: Expr) -> ScalarOperand:
        if expr not in self.known:
            match expr:
                case Name(name) if name in self.columns.arrays.numbers:
                    self.known[expr] = self._element(name, "0")
                case _:
                    self.known[expr] = self.columns.scalars.computed(expr, self._of_row)
        return self.known[expr]

    def at(self, column: str, expr: Expr) -> ScalarOperand:
        """The value for a column of the tile."""
        key = expr, column
        if key not in self.of_columns:
            self.of_columns[key] = self._new(column, expr)
        return self.of_columns[key]

    def _new(self, column: str, expr: Expr) -> ScalarOperand:
        if self._is_of_row(expr):
            return self._of_row(expr)
        match expr:
            case Call() if expr in self.columns.tiles:
                return self.columns.reduced(expr, column)
            case Name(name):
                return self._element(name, column)
            case Subscript(Name(name), index):
                place = self.columns.scalars.value(self.at(column, index), Kind.LONG)
                return self._element(name, column, self.columns.arrays.place(name, place))
        return self.columns.scalars.computed(expr, lambda part: self.at(column, part))

    def _element(self, name: str, column: str, row: str = "") -> Value:
        at = self.columns.at(name, row or self.row, column)
        return self.columns.memory.load(self.columns.arrays.operand(name), at, parallel=True)
