"""Lower: kernels over rows, which reduce along them, or pick from tables: the loops of generalised ufuncs."""

from __future__ import annotations

from collections.abc import Mapping

from ..expressions import Call, Expr, Name, Subscript, walk
from ..kernels import REDUCED, NativeKernel
from ..routines import Routines
from ..scans import AFTER, BEFORE, PLACE
from .instructions import Instructions, Kind, Unlowerable, Value
from .loops import Arrays, Memory
from .passes import LENGTH, PLACES, Pass, Plan, go_back, is_scan, kind_of_scan, operands_of
from .reductions import Reductions, is_first
from .scalars import Operand as ScalarOperand, ScalarLowering

#: The elements of which one sum is formed: in vectors where they are contiguous, else one after the other.
BLOCK = {"scratch": 4096, "rows": 4096, "strided": 128}
#: And where a pass looks for places alone: it ends with the block in which they are.
LOOKING = 256
#: Memory of the function's own, where rows are converted when they are read: for rows of so many elements.
SCRATCH, SCRATCH_LENGTH = ("scratch.0", "scratch.1", "scratch.2"), 4096


def rows(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel over rows."""
    return _Rows(kernel, routines, scalar).module()


class _Rows:
    """A loop over rows, with the passes over one in it: a version for contiguous rows, one for any.

    Of reduced dtypes there is a third, for rows of which float32 forms can be kept in the meantime.
    """

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        self.kernel = kernel
        plan = Plan(kernel, routines)
        self.plans = {"rows": plan, "strided": plan}
        if any([o.dims and o.dtype in REDUCED for o in kernel.inputs]):
            self.plans["scratch"] = Plan(kernel, routines, scratch=SCRATCH)
        self.plan = plan
        self.body = Instructions()
        self.scalars = ScalarLowering(self.body, scalar, routines)
        self.memory = Memory(self.body, self.scalars.width)
        self.reductions = Reductions(self.body, self.scalars, any_order=True)
        # Scans are computed in float64, and what they have come to is kept in memory of 64 bits.
        self.scanning = ScalarLowering(self.body, "float64", routines)
        self.carries: dict[Expr, str] = {}
        self.body.label("entry")
        self.arrays = Arrays(self.memory, kernel)
        self.length = self.arrays.sizes.get(LENGTH, "0")  # without rows numbers are picked from tables
        self.count = self.body.add(f"uitofp i64 {self.length} to {self.scalars.width.llvm}")
        # Of the version that is put out.
        self.version, self.block = "", ""
        self.pointers: dict[str, str] = {}
        self.numbers: dict[Expr, ScalarOperand] = {}
        self.kept: dict[Expr, str] = {}  # what earlier passes kept, and in the memory of which result

    def module(self) -> str:
        body = self.body
        scans = dict.fromkeys(
            [s for plan in self.plans.values() for done in plan.passes for s in _scans(done)]
        )
        self.back = go_back(scans)
        if self.back and any([is_first(r) for plan in self.plans.values() for r in plan.reductions]):
            raise Unlowerable("places are counted from the beginning, and scans go from the end")
        self.carries = {scan: body.add("alloca double, align 8") for scan in scans}
        if "scratch" in self.plans:
            for name in SCRATCH:
                body.put(f"%{name} = alloca [{SCRATCH_LENGTH} x {self.scalars.width.llvm}], align 64")
        some = body.add(f"icmp sgt i64 {self.arrays.outer}, 0")
        contiguous = self.arrays.follow([o for o in self.kernel.operands if o.dims])
        body.put(f"br i1 {some}, label %some, label %done")
        body.label("some")
        body.put(f"br i1 {contiguous}, label %contiguous, label %pre.strided")
        body.label("contiguous")
        if "scratch" in self.plans:
            short = body.add(f"icmp sle i64 {self.length}, {SCRATCH_LENGTH}")
            body.put(f"br i1 {short}, label %pre.scratch, label %pre.rows")
        else:
            body.put("br label %pre.rows")
        for version in self.plans:
            self._version(version)
        body.label("done")
        body.put("ret i32 0")
        return self.memory.module()

    def _version(self, version: str) -> None:
        body, self.version, self.plan = self.body, version, self.plans[version]
        body.label(f"pre.{version}")
        body.put(f"br label %row.{version}")
        self._begin(f"row.{version}")
        row, following = f"%r.{version}", f"%rn.{version}"
        body.put(f"{row} = phi i64 [0, %pre.{version}], [{following}, %end.{version}]")
        self.pointers = self.arrays.pointers(row)
        self.numbers, self.kept = {Name(LENGTH): Value(self.count, Kind.FLOAT)}, {}
        if PLACES in self.arrays.sizes:
            self.numbers[Name(PLACES)] = Value(self.arrays.sizes[PLACES], Kind.LONG)
        for operand in self.kernel.inputs:
            if not operand.dims:
                self.numbers[Name(operand.name)] = self.memory.load(operand, self.pointers[operand.name])
        for done in self.plan.passes:
            self._pass(done)
        for table, expr in self.plan.updates:
            self._update(table, expr)
        for operand in self.kernel.outputs:
            if not operand.dims:
                value = self._number(self.plan.numbers[operand.name])
                self.memory.store(operand, self.scalars.stored(value, operand), self.pointers[operand.name])
        body.put(f"br label %end.{version}")
        body.label(f"end.{version}")
        body.put(f"{following} = add nuw nsw i64 {row}, 1")
        ended = body.add(f"icmp eq i64 {following}, {self.arrays.outer}")
        body.put(f"br i1 {ended}, label %done, label %row.{version}")

    def _begin(self, label: str) -> None:
        self.body.label(label)
        self.block = label

    def at(self, name: str, places: Mapping[str, str]) -> str:
        """The pointer to an element of an operand."""
        return self.arrays.at(name, self.pointers[name], places, self.version != "strided")

    # -- numbers -----------------------------------------------------------------------------

    def _number(self, expr: Expr) -> ScalarOperand:
        """The value of what is no row, computed where it is first asked for."""
        if expr not in self.numbers:
            self.numbers[expr] = self._new_number(expr)
        return self.numbers[expr]

    def _new_number(self, expr: Expr) -> ScalarOperand:
        match expr:
            case Subscript(Name(name), index):
                return self.picked(name, self._number(index), "0")
        return self.scalars.computed(expr, self._number)

    def picked(self, name: str, index: ScalarOperand, element: str) -> Value:
        """What a table has at an index; if it has rows, the element of its row."""
        place = self.arrays.place(name, self.scalars.value(index, Kind.LONG))
        places = dict.fromkeys(self.arrays.operand(name).dims, place)
        if len(places) > 1:
            places[LENGTH] = element
        return self.memory.load(self.arrays.operand(name), self.at(name, places), parallel=True)

    def _update(self, table: Expr, expr: Expr) -> None:
        """Change an element of a row that is computed."""
        match table:
            case Subscript(Name(name), index) if self._is_element(name, index):
                place = self.arrays.place(name, self.scalars.value(self._number(index), Kind.LONG))
            case _:
                raise Unlowerable("an update changes an element of a row of a kernel over rows")
        operand, at = self.arrays.operand(name), self.at(name, {LENGTH: place})
        self.numbers[table] = self.memory.load(operand, at)
        self.memory.store(operand, self.scalars.stored(self._number(expr), operand), at)
        del self.numbers[table]

    def _is_element(self, name: str, index: Expr) -> bool:
        """Whether it is one element of a row."""
        return self.arrays.operand(name).dims == (LENGTH,) and not self.plan.is_row(index)

    def _known_before(self, expr: Expr) -> None:
        """Compute the numbers in an expression over rows before the loop."""
        if not self.plan.is_row(expr):
            self._number(expr)
        elif isinstance(expr, Subscript):
            self._known_before(expr.index)
        elif not isinstance(expr, Name):
            for part in operands_of(expr):
                self._known_before(part)

    # -- passes ------------------------------------------------------------------------------

    def _pass(self, done: Pass) -> None:
        """One loop over the row; of sums, a loop over blocks with it inside."""
        for root in done.roots:
            self._known_before(root)
        for scan in _scans(done):
            kind = kind_of_scan(scan)
            first = self.scanning.text(self._number(scan.arguments[2]), kind)
            self.body.put(f"store {self.scanning.type_of(kind)} {first}, ptr {self.carries[scan]}")
        if done.reductions:
            self._blocks(done)
        elif done.roots:
            self._loop(done, "0", self.length)
        for memory, expr in done.kept:
            self.kept[expr] = memory

    def _blocks(self, done: Pass) -> None:
        body, reductions = self.body, self.reductions
        name = body.name("blocks")
        before = self.block
        body.put(f"br label %{name}")
        body.label(name)
        begin, end = f"%begin.{name}", f"%next.{name}"
        body.put(f"{begin} = phi i64 [0, %{before}], [{end}, %end.{name}]")
        totals = {r: f"%{body.name('total')}" for r in done.reductions}
        for r, total in totals.items():
            type_, first = reductions.total_type_of(r), reductions.first_total(r)
            body.put(f"{total} = phi {type_} [{first}, %{before}], [{total}.next, %end.{name}]")
        looking = all(map(is_first, done.reductions)) and not (done.results or done.kept)
        limit = body.add(f"add nuw nsw i64 {begin}, {LOOKING if looking else BLOCK[self.version]}")
        body.intrinsics.add("declare i64 @llvm.smin.i64(i64, i64)")
        body.put(f"{end} = call i64 @llvm.smin.i64(i64 {limit}, i64 {self.length})")
        self.block = name
        found = self._loop(done, begin, end)
        body.put(f"br label %end.{name}")
        body.label(f"end.{name}")
        for r, value in found.items():
            reductions.bring_together(f"{totals[r]}.next", r, totals[r], value, begin)
        more = body.add(f"icmp slt i64 {end}, {self.length}")
        if looking:
            missing = [reductions.is_missing(r, f"{total}.next") for r, total in totals.items()]
            more = self.memory.all_of([more, self.memory.any_of(missing)])
        after = body.name("after")
        body.put(f"br i1 {more}, label %{name}, label %{after}")
        self._begin(after)
        for r, total in totals.items():
            self.numbers[r] = reductions.result(r, f"{total}.next")

    def _loop(self, done: Pass, begin: str, end: str) -> dict[Call, str]:
        """A loop over elements [begin, end) of the row: what the reductions are after it."""
        body, reductions = self.body, self.reductions
        name, before = body.name("loop"), self.block
        head, after = body.name("head"), body.name("after")
        some = body.add(f"icmp slt i64 {begin}, {end}")
        body.put(f"br i1 {some}, label %{head}, label %{after}")
        body.label(head)
        body.put(f"br label %{name}")
        body.label(name)
        index, following = f"%i.{name}", f"%n.{name}"
        body.put(f"{index} = phi i64 [{begin}, %{head}], [{following}, %{name}]")
        first = {r: reductions.first(r) for r in done.reductions}
        so_far = {r: f"%{body.name('acc')}" for r in first}
        for r, value in first.items():
            type_ = reductions.type_of(r)
            body.put(f"{so_far[r]} = phi {type_} [{value}, %{head}], [{so_far[r]}.next, %{name}]")
        element = _Element(self, index)
        for r, acc in so_far.items():
            value = reductions.element(r, element.value(r.arguments[0]), index, begin)
            reductions.bring_in(f"{acc}.next", r, acc, value)
        for memory, expr in (*done.kept, *done.results):
            element.store(memory, expr)
        self.memory.loop_end(following, index, end, after, name)
        self._begin(after)
        found = {}
        for r, value in first.items():
            type_ = reductions.type_of(r)
            found[r] = body.add(f"phi {type_} [{value}, %{before}], [{so_far[r]}.next, %{name}]")
        return found


def _scans(done: Pass) -> list[Call]:
    """The scans of what a pass computes, each once."""
    found = [part for root in done.roots for part in walk(root) if is_scan(part)]
    return [scan for scan in dict.fromkeys(found) if isinstance(scan, Call)]


class _Element:
    """The values of one element of the rows, each computed once: from the end, if scans go back."""

    def __init__(self, rows: _Rows, index: str) -> None:
        self.rows, self.index = rows, index
        if rows.back:
            last = rows.body.add(f"sub i64 {rows.length}, 1")
            self.index = rows.body.add(f"sub i64 {last}, {index}")
        self.known: dict[Expr, ScalarOperand] = {}

    def value(self, expr: Expr) -> ScalarOperand:
        """The value of an expression for this element."""
        if not self.rows.plan.is_row(expr):
            return self.rows._number(expr)
        if expr not in self.known:
            self.known[expr] = self._new(expr)
        return self.known[expr]

    def _new(self, expr: Expr) -> ScalarOperand:
        memory = self.rows.kept.get(expr)
        if memory is not None:
            return self._load(memory)
        match expr:
            case Name(name) if name == PLACE:
                return Value(self.index, Kind.LONG)
            case Name(name):
                return self._load(name)
            case Subscript(Name(name), index):
                return self.rows.picked(name, self.value(index), self.index)
            case Call(_, (combination, row, *_)) if is_scan(expr):
                kind = kind_of_scan(expr)
                return self._scanned(self.rows.carries[expr], combination, self.value(row), kind)
        return self.rows.scalars.computed(expr, self.value)

    def _scanned(self, carry: str, combination: Expr, element: ScalarOperand, kind: Kind) -> Value:
        """What the elements up to this one come to, which is kept for the next."""
        body, scalars, scanning = self.rows.body, self.rows.scalars, self.rows.scanning
        narrow = kind is Kind.FLOAT and scalars.width.scalar == "float32"
        after, type_ = scalars.text(element, kind), scanning.type_of(kind)
        if narrow:
            after = body.add(f"fpext float {after} to double")
        names = {
            BEFORE: Value(body.add(f"load {type_}, ptr {carry}"), kind),
            AFTER: Value(after, kind),
        }
        made = scanning.text(scanning.lower(combination, names), kind)
        body.put(f"store {type_} {made}, ptr {carry}")
        return Value(body.add(f"fptrunc double {made} to float") if narrow else made, kind)

    def _load(self, name: str) -> Value:
        rows = self.rows
        if name in SCRATCH:
            type_, at = self._scratch(name)
            return Value(rows.body.add(f"load {type_}, ptr {at}, !llvm.access.group !0"), Kind.FLOAT)
        return rows.memory.load(rows.arrays.operand(name), rows.at(name, {LENGTH: self.index}), parallel=True)

    def _scratch(self, name: str) -> tuple[str, str]:
        """The type of the elements of scratch memory, and the pointer to the one of this element."""
        type_ = self.rows.scalars.width.llvm
        return type_, self.rows.body.add(f"getelementptr {type_}, ptr %{name}, i64 {self.index}")

    def store(self, name: str, expr: Expr) -> None:
        """Write the value of an expression into a row."""
        rows = self.rows
        if name in SCRATCH:
            type_, at = self._scratch(name)
            text = rows.scalars.text(self.value(expr), Kind.FLOAT)
            rows.body.put(f"store {type_} {text}, ptr {at}, !llvm.access.group !0")
            return
        operand = rows.arrays.operand(name)
        value = rows.scalars.stored(self.value(expr), operand)
        rows.memory.store(operand, value, rows.at(name, {LENGTH: self.index}), parallel=True)
