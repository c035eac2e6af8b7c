"""Lower: kernels over rows, which reduce along them, or pick from tables: the loops of generalised ufuncs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..expressions import Call, Expr, Name, Subscript, walk
from ..kernels import REDUCED, NativeKernel
from ..routines import Routines
from ..scans import AFTER, BEFORE, PLACE
from .blocks import Blocks
from .instructions import Kind, Unlowerable, Value
from .loops import ACCESS
from .passes import LENGTH, PLACES, Pass, Plan, go_back, is_scan, kind_of_scan
from .reductions import is_first
from .scalars import Operand as ScalarOperand, ScalarLowering

#: The elements of which one sum is formed: in vectors where they are contiguous, else one after the other.
BLOCK = {"scratch": 4096, "rows": 4096, "strided": 128}
#: Memory of the function's own, where rows are converted when they are read: for rows of so many elements.
SCRATCH, SCRATCH_LENGTH = ("scratch.0", "scratch.1", "scratch.2"), 4096


def rows(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel over rows."""
    plan = Plan(kernel, routines)
    plans = {"rows": plan, "strided": plan}
    if kernel.is_over_planes:
        return _Planes(kernel, routines, scalar, plans).module()
    if any([o.dims and o.dtype in REDUCED for o in kernel.inputs]):
        plans["scratch"] = Plan(kernel, routines, scratch=SCRATCH)
    return _Rows(kernel, routines, scalar, plans).module()


class _Rows(Blocks):
    """A loop over rows, with the passes over one in it: a version for contiguous rows, one for any.

    Of reduced dtypes there is a third, for rows of which float32 forms can be kept in the meantime.
    """

    along = LENGTH
    any_order = True

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str, plans: dict[str, Plan]) -> None:
        super().__init__(kernel, routines, scalar, list(plans.values()))
        self.plans = plans
        self.length = self.arrays.sizes.get(LENGTH, "0")  # without rows numbers are picked from tables
        count = self.body.add(f"uitofp i64 {self.length} to {self.scalars.width.llvm}")
        self.know(Name(LENGTH), Value(count, Kind.FLOAT))
        if PLACES in self.arrays.sizes:
            self.know(Name(PLACES), Value(self.arrays.sizes[PLACES], Kind.LONG))
        # Scans are computed in float64, and what they have come to is kept in memory of 64 bits.
        self.scanning = ScalarLowering(self.body, "float64", routines)
        scans = dict.fromkeys([s for plan in plans.values() for done in plan.passes for s in _scans(done)])
        self.carries = {scan: self.body.add("alloca double, align 8") for scan in scans}
        self.back = go_back(scans)
        if self.back and any([is_first(r) for r in self.formed]):
            raise Unlowerable("places are counted from the beginning, and scans go from the end")
        row = f"alloca [{SCRATCH_LENGTH} x {self.scalars.width.llvm}], align 64"
        self.scratch = {name: self.body.add(row) for name in SCRATCH if "scratch" in plans}
        self.kept: dict[Expr, str] = {}  # what earlier passes kept, and in the memory of which result

    def module(self) -> str:
        with self.contiguous([o for o in self.kernel.operands if o.dims]):
            if self.scratch:
                short = self.body.add(f"icmp sle i64 {self.length}, {SCRATCH_LENGTH}")
                with self.memory.version(short):
                    self._version("scratch")
            self._version("rows")
        self._version("strided")
        return self.memory.module()

    def _version(self, version: str) -> None:
        plan, self.kept = self.plans[version], {}
        with self.outer():
            for done in plan.passes:
                self._pass(done, BLOCK[version])
            for table, expr in plan.updates:
                if self._is_element(table):
                    self.update(table, expr)
                else:
                    raise Unlowerable("an update changes an element of a row of a kernel over rows")
            for name, expr in plan.numbers.items():
                self.store(name, expr)

    def _is_element(self, table: Expr) -> bool:
        """Whether it is one element of a row."""
        match table:
            case Subscript(Name(name), index) if self.arrays.operand(name).dims == (LENGTH,):
                return LENGTH not in self.varies(index)
        return False

    # -- passes ------------------------------------------------------------------------------

    def _pass(self, done: Pass, block: int) -> None:
        """One loop over the row; of sums, a loop over blocks with it inside."""
        self.prepare(done.roots)
        for scan in _scans(done):
            kind = kind_of_scan(scan)
            first = self.scanning.text(self.value(scan.arguments[2]), kind)
            self.body.put(f"store {self.scanning.type_of(kind)} {first}, ptr {self.carries[scan]}")
        if done.reductions:
            self.reduce(done, block)
        elif done.roots:
            with self.around():
                self.elements(done, "0", self.length)
        self.kept.update({expr: memory for memory, expr in done.kept})

    def elements(self, done: Pass, begin: str, end: str) -> None:
        with self.loop(LENGTH, begin, end, parallel=True) as index:
            if self.back:
                last = self.body.add(f"sub i64 {self.length}, 1")
                self.places[LENGTH] = self.body.add(f"sub i64 {last}, {index}")
            for r in done.reductions:
                type_, memory = self.reductions.type_of(r), self.formed[r].block
                self.set(type_, self.brought_in(r, self.get(type_, memory), index, begin), memory)
            for name, expr in (*done.kept, *done.results):
                if name in self.scratch:
                    type_, at = self._scratch(name)
                    text = self.scalars.text(self.value(expr), Kind.FLOAT)
                    self.body.put(f"store {type_} {text}, ptr {at}{ACCESS}")
                else:
                    self.store(name, expr)

    def finish(self, r: Call) -> None:
        total = self.get(self.reductions.total_type_of(r), self.formed[r].total)
        self.know(r, self.reductions.result(r, total))

    # -- values ------------------------------------------------------------------------------

    def new(self, expr: Expr) -> ScalarOperand:
        memory = self.kept.get(expr)
        if memory in self.scratch:
            type_, at = self._scratch(memory)
            return Value(self.body.add(f"load {type_}, ptr {at}{ACCESS}"), Kind.FLOAT)
        if memory is not None:
            return self.load(memory)
        match expr:
            case Name(name) if name == PLACE:
                return Value(self.places[LENGTH], Kind.LONG)
            case Call(_, (combination, row, *_)) if is_scan(expr):
                kind = kind_of_scan(expr)
                return self._scanned(self.carries[expr], combination, self.value(row), kind)
        return super().new(expr)

    def dims_of(self, expr: Expr) -> frozenset[str]:
        return frozenset({LENGTH}) if expr == Name(PLACE) else super().dims_of(expr)

    def _scratch(self, name: str) -> tuple[str, str]:
        """The type of the elements of scratch memory, and the pointer to the one of this element."""
        type_ = self.scalars.width.llvm
        at = self.body.add(f"getelementptr {type_}, ptr {self.scratch[name]}, i64 {self.places[LENGTH]}")
        return type_, at

    def _scanned(self, carry: str, combination: Expr, element: ScalarOperand, kind: Kind) -> Value:
        """What the elements up to this one come to, which is kept for the next."""
        body, scanning = self.body, self.scanning
        narrow = kind is Kind.FLOAT and self.scalars.width.scalar == "float32"
        after, type_ = self.scalars.text(element, kind), scanning.type_of(kind)
        if narrow:
            after = body.add(f"fpext float {after} to double")
        names = {
            BEFORE: Value(body.add(f"load {type_}, ptr {carry}"), kind),
            AFTER: Value(after, kind),
        }
        made = scanning.text(scanning.lower(combination, names), kind)
        body.put(f"store {type_} {made}, ptr {carry}")
        return Value(body.add(f"fptrunc double {made} to float") if narrow else made, kind)


class _Planes(_Rows):
    """The same where a row has places along two dims: its parts lie anywhere, one for each place along m."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str, plans: dict[str, Plan]) -> None:
        super().__init__(kernel, routines, scalar, plans)
        if self.carries or any([is_first(r) for r in self.formed]):
            raise Unlowerable("the elements of a row have no order along two dims")
        count = self.body.add(f"mul i64 {self.length}, {self.arrays.sizes[PLACES]}")
        count = self.body.add(f"uitofp i64 {count} to {self.scalars.width.llvm}")
        self.know(Name(LENGTH), Value(count, Kind.FLOAT))

    @contextmanager
    def around(self) -> Iterator[None]:
        with self.loop(PLACES, "0", self.arrays.sizes[PLACES]):
            yield

    def dims_of(self, expr: Expr) -> frozenset[str]:
        found = super().dims_of(expr)
        return found - {PLACES} if expr in self.formed else found


def _scans(done: Pass) -> list[Call]:
    """The scans of what a pass computes, each once."""
    found = [part for root in done.roots for part in walk(root) if is_scan(part)]
    return [scan for scan in dict.fromkeys(found) if isinstance(scan, Call)]
