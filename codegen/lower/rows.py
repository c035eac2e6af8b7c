"""Lower: kernels over rows, which reduce along them: the loops of generalised ufuncs.

Sums are formed in blocks, in the kernel's width, and the sums of blocks are added in float64: they are as
accurate as pairwise ones, and a row's do not depend on other rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.expressions import Call, Expr, Name, Subscript
from ..model.kernels import NativeKernel, Operand
from .instructions import Instructions, Kind, Unlowerable, Value, float_constant
from .loops import Memory
from .passes import LENGTH, Pass, Plan, operands_of
from .scalars import Operand as ScalarOperand, Programs, ScalarLowering

#: The elements of which one sum is formed: in vectors where they are contiguous, else one after the other.
BLOCK = {"rows": 4096, "strided": 128}
_FIRST = {"sum": 0.0, "max": float("-inf"), "min": float("inf")}


def rows(kernel: NativeKernel, programs: Programs, scalar: str) -> str:
    """The module of a kernel over rows."""
    return _Rows(kernel, programs, scalar).module()


class _Rows:
    """A loop over rows, with the passes over one in it: a version for contiguous rows, one for any."""

    def __init__(self, kernel: NativeKernel, programs: Programs, scalar: str) -> None:
        self.kernel = kernel
        self.plan = Plan(kernel, programs)
        self.body = Instructions()
        self.scalars = ScalarLowering(self.body, scalar, programs)
        self.memory = Memory(self.body, self.scalars.width)
        self.operands = {o.name: i for i, o in enumerate(kernel.operands)}
        # Of the version that is put out.
        self.version, self.block = "", ""
        self.pointers: list[str] = []
        self.steps: dict[str, str | None] = {}
        self.length = self.count = ""
        self.numbers: dict[Expr, ScalarOperand] = {}
        self.kept: dict[Expr, str] = {}  # what earlier passes kept, and in the memory of which result

    def module(self) -> str:
        body, kernel = self.body, self.kernel
        body.label("entry")
        outer, self.length = self.memory.arguments("%dims", "i64", 2)
        base = self.memory.arguments("%args", "ptr", len(kernel.operands))
        outer_steps = self.memory.arguments("%steps", "i64", len(kernel.operands))
        of_rows = [o for o in kernel.operands if o.is_row]
        steps = self.memory.arguments("%steps", "i64", len(of_rows), len(kernel.operands))
        self.count = body.add(f"uitofp i64 {self.length} to {self.scalars.width.llvm}")
        sizes = [self.memory.type_of(o)[1] for o in of_rows]
        alike = [body.add(f"icmp eq i64 {s}, {n}") for s, n in zip(steps, sizes, strict=True)]
        contiguous = self.memory.all_of(alike)
        body.put(f"br i1 {body.add(f'icmp sgt i64 {outer}, 0')}, label %some, label %done")
        body.label("some")
        body.put(f"br i1 {contiguous}, label %pre.rows, label %pre.strided")
        self._version("rows", outer, base, outer_steps, {o.name: None for o in of_rows})
        named = {o.name: step for o, step in zip(of_rows, steps, strict=True)}
        self._version("strided", outer, base, outer_steps, named)
        body.label("done")
        body.put("ret i32 0")
        return self.memory.module()

    def _version(
        self,
        version: str,
        outer: str,
        base: Sequence[str],
        outer_steps: Sequence[str],
        steps: Mapping[str, str | None],
    ) -> None:
        body, self.version, self.steps = self.body, version, dict(steps)
        body.label(f"pre.{version}")
        body.put(f"br label %row.{version}")
        self._begin(f"row.{version}")
        row, following = f"%r.{version}", f"%rn.{version}"
        body.put(f"{row} = phi i64 [0, %pre.{version}], [{following}, %end.{version}]")
        offsets = [body.add(f"mul i64 {row}, {s}") for s in outer_steps]
        both = zip(base, offsets, strict=True)
        self.pointers = [body.add(f"getelementptr i8, ptr {b}, i64 {o}") for b, o in both]
        self.numbers, self.kept = {Name(LENGTH): Value(self.count, Kind.FLOAT)}, {}
        for operand in self.kernel.inputs:
            if not operand.is_row:
                self.numbers[Name(operand.name)] = self.memory.load(operand, self._pointer(operand.name))
        for done in self.plan.passes:
            self._pass(done)
        for operand in self.kernel.outputs:
            if not operand.is_row:
                value = self._number(self.plan.numbers[operand.name])
                self.memory.store(operand, self.scalars.text(value, Kind.FLOAT), self._pointer(operand.name))
        body.put(f"br label %end.{version}")
        body.label(f"end.{version}")
        body.put(f"{following} = add nuw nsw i64 {row}, 1")
        ended = body.add(f"icmp eq i64 {following}, {outer}")
        body.put(f"br i1 {ended}, label %done, label %row.{version}")

    def _begin(self, label: str) -> None:
        self.body.label(label)
        self.block = label

    def _pointer(self, name: str) -> str:
        return self.pointers[self.operands[name]]

    # -- numbers -----------------------------------------------------------------------------

    def _number(self, expr: Expr) -> ScalarOperand:
        """The value of what is no row, computed where it is first asked for."""
        if expr not in self.numbers:
            self.numbers[expr] = self._new_number(expr)
        return self.numbers[expr]

    def _new_number(self, expr: Expr) -> ScalarOperand:
        match expr:
            case Subscript(Name(name), index):
                return self._picked(name, index)
        return self.scalars.computed(expr, self._number)

    def _picked(self, name: str, index: Expr) -> Value:
        """The element of a row at an int64."""
        operand = self.kernel.operands[self.operands[name]]
        place = self._number(index)
        if not isinstance(place, Value) or place.kind is not Kind.LONG:
            raise Unlowerable("an element of a row is picked by an int64")
        at = self.memory.at(operand, self._pointer(name), place.text, self.steps[name])
        return self.memory.load(operand, at)

    def _known_before(self, expr: Expr) -> None:
        """Compute the numbers in an expression over rows before the loop."""
        if not self.plan.is_row(expr):
            self._number(expr)
        elif not isinstance(expr, Name):
            for part in operands_of(expr):
                self._known_before(part)

    # -- passes ------------------------------------------------------------------------------

    def _pass(self, done: Pass) -> None:
        """One loop over the row; of sums, a loop over blocks with it inside."""
        for root in done.roots:
            self._known_before(root)
        if done.reductions:
            self._blocks(done)
        elif done.roots:
            self._loop(done, "0", self.length)
        for memory, expr in done.kept:
            self.kept[expr] = memory

    def _blocks(self, done: Pass) -> None:
        body, width = self.body, self.scalars.width
        name = body.name("blocks")
        before = self.block
        body.put(f"br label %{name}")
        body.label(name)
        begin, end = f"%begin.{name}", f"%next.{name}"
        body.put(f"{begin} = phi i64 [0, %{before}], [{end}, %end.{name}]")
        totals = {r: f"%{body.name('total')}" for r in done.reductions}
        for r, total in totals.items():
            type_ = "double" if _name(r) == "sum" else width.llvm
            first = float_constant(_FIRST[_name(r)], width)
            body.put(f"{total} = phi {type_} [{first}, %{before}], [{total}.next, %end.{name}]")
        limit = body.add(f"add nuw nsw i64 {begin}, {BLOCK[self.version]}")
        body.intrinsics.add("declare i64 @llvm.smin.i64(i64, i64)")
        body.put(f"{end} = call i64 @llvm.smin.i64(i64 {limit}, i64 {self.length})")
        self.block = name
        found = self._loop(done, begin, end)
        body.put(f"br label %end.{name}")
        body.label(f"end.{name}")
        for r, value in found.items():
            if _name(r) == "sum":
                wide = value if width.llvm == "double" else body.add(f"fpext float {value} to double")
                body.put(f"{totals[r]}.next = fadd double {totals[r]}, {wide}")
            else:
                self._accumulate(r, totals[r], value)
        more = body.add(f"icmp slt i64 {end}, {self.length}")
        after = body.name("after")
        body.put(f"br i1 {more}, label %{name}, label %{after}")
        self._begin(after)
        for r, total in totals.items():
            text = f"{total}.next"
            if _name(r) == "sum" and width.llvm == "float":
                text = body.add(f"fptrunc double {text} to float")
            self.numbers[r] = Value(text, Kind.FLOAT)

    def _loop(self, done: Pass, begin: str, end: str) -> dict[Call, str]:
        """A loop over elements [begin, end) of the row: what the reductions are after it."""
        body, own = self.body, self.scalars.width.llvm
        name, before = body.name("loop"), self.block
        head, after = body.name("head"), body.name("after")
        some = body.add(f"icmp slt i64 {begin}, {end}")
        body.put(f"br i1 {some}, label %{head}, label %{after}")
        body.label(head)
        body.put(f"br label %{name}")
        body.label(name)
        index, following = f"%i.{name}", f"%n.{name}"
        body.put(f"{index} = phi i64 [{begin}, %{head}], [{following}, %{name}]")
        first = {r: float_constant(_FIRST[_name(r)], self.scalars.width) for r in done.reductions}
        so_far = {r: f"%{body.name('acc')}" for r in first}
        for r, value in first.items():
            body.put(f"{so_far[r]} = phi {own} [{value}, %{head}], [{so_far[r]}.next, %{name}]")
        element = _Element(self, index)
        for r, acc in so_far.items():
            self._accumulate(r, acc, self.scalars.text(element.value(r.arguments[0]), Kind.FLOAT))
        for memory, expr in (*done.kept, *done.results):
            element.store(memory, expr)
        self.memory.loop_end(following, index, end, after, name)
        self._begin(after)
        found = {}
        for r, value in first.items():
            found[r] = body.add(f"phi {own} [{value}, %{before}], [{so_far[r]}.next, %{name}]")
        return found

    def _accumulate(self, reduction: Call, acc: str, value: str) -> None:
        own, width = self.scalars.width.llvm, self.scalars.width
        if _name(reduction) == "sum":
            self.body.put(f"{acc}.next = fadd reassoc {own} {acc}, {value}")
            return
        intrinsic = f"llvm.{_name(reduction)}imum.{width.suffix}"
        self.body.intrinsics.add(f"declare {own} @{intrinsic}({own}, {own})")
        self.body.put(f"{acc}.next = call {own} @{intrinsic}({own} {acc}, {own} {value})")


def _name(reduction: Call) -> str:
    assert isinstance(reduction.function, Name)
    return reduction.function.id


class _Element:
    """The values of one element of the rows, each computed once."""

    def __init__(self, rows: _Rows, index: str) -> None:
        self.rows, self.index = rows, index
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
        return self._load(expr.id) if isinstance(expr, Name) else self.rows.scalars.computed(expr, self.value)

    def _load(self, name: str) -> Value:
        return self.rows.memory.load(self._operand(name), self._at(name), parallel=True)

    def store(self, name: str, expr: Expr) -> None:
        """Write the value of an expression into a row."""
        value = self.rows.scalars.text(self.value(expr), Kind.FLOAT)
        self.rows.memory.store(self._operand(name), value, self._at(name), parallel=True)

    def _at(self, name: str) -> str:
        return self.rows.memory.at(
            self._operand(name), self.rows._pointer(name), self.index, self.rows.steps[name]
        )

    def _operand(self, name: str) -> Operand:
        return self.rows.kernel.operands[self.rows.operands[name]]
