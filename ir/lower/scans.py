"""Lower: kernels that scan rows: each element is brought together with all before it.

``scan(before + after, x, 0)`` has the sums of the elements up to each. The elements of a vector are brought
together in steps of one, two and four lanes, and then with the total of all vectors before, in float64. So
the combination must be associative, but for rounding, and the third argument what changes nothing.
``scan_back`` does so from the end. Rows that lie side by side are scanned together, a row in each lane.
Kernels that have other than rows, or reductions, scan one element after the other, in the loops of ``rows``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from ..expressions import Call, Expr, Name, free_names, walk
from ..kernels import NativeKernel, Operand
from ..routines import Routines
from ..scans import AFTER, BEFORE, PLACE
from .instructions import WIDTHS, Kind, Unlowerable, Value
from .nests import Nest
from .passes import LENGTH, go_back, is_scan, kind_of_scan
from .reductions import is_reduction
from .scalars import Operand as ScalarOperand, ScalarLowering

_LANES = 8
_COUNT = Name(LENGTH)


def is_of_scans(kernel: NativeKernel) -> bool:
    """Whether a kernel has rows of its own dtype only, and scans them."""
    parts = [part for _, expr in kernel.statements for part in walk(expr)]
    plain = all([o.dims == (LENGTH,) for o in kernel.operands]) and not any([o.dtype for o in kernel.inputs])
    return plain and any(map(is_scan, parts)) and not any([is_reduction(p) or p == _COUNT for p in parts])


def scans(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel with scans."""
    return _Scans(kernel, routines, scalar).module()


class _Scans(Nest):
    """A loop over rows, and over vectors of each. What does not fill one, or follow, goes through memory."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        super().__init__(kernel, routines, scalar)
        self.scalars = ScalarLowering(self.body, replace(WIDTHS["float64"], lanes=_LANES), routines)
        self.back = go_back([p for _, expr in kernel.statements for p in walk(expr)])
        self.buffers = {o.name: self._alloca(self._buffered(o), _LANES) for o in kernel.operands}
        found = dict.fromkeys([p for _, expr in kernel.statements for p in walk(expr) if is_scan(p)])
        self.carries = {scan: self._alloca("i64", _LANES) for scan in found}  # of 64 bits, whatever they are
        self.across = False  # whether the lanes of vectors are of rows side by side

    def _alloca(self, type_: str, count: int) -> str:
        return self.body.add(f"alloca [{count} x {type_}], align 64")

    def module(self) -> str:
        length = self.arrays.sizes[LENGTH]
        whole = self.body.add(f"and i64 {length}, -{_LANES}")
        with self.contiguous(self.kernel.operands), self._rows("0", self.arrays.outer):
            with self.loop(LENGTH, "0", whole, str(_LANES)) as index:
                self._vector(index)
            with self.loop(LENGTH, whole, length, str(_LANES)) as index:
                self._few(index)
        groups = self._groups()
        self.across = True
        with self._rows("0", groups, _LANES), self.loop(LENGTH, "0", length) as index:
            self._vector(index)
        self.across = False
        with self._rows(groups, self.arrays.outer), self.loop(LENGTH, "0", length, str(_LANES)) as index:
            self._few(index)
        return self.memory.module()

    @contextmanager
    def _rows(self, begin: str, end: str, step: int = 1) -> Iterator[None]:
        """A loop over rows, before which nothing has been scanned."""
        with self.outer(begin, end, step):
            for scan, carry in self.carries.items():
                self._begin(scan, carry)
            yield

    def _groups(self) -> str:
        """How many rows go together: as many as fill vectors, where they lie side by side."""
        beside = [
            self.body.add(f"icmp eq i64 {step}, {self.memory.type_of(operand)[1]}")
            for operand, step in zip(self.kernel.operands, self.arrays.outer_steps, strict=True)
        ]
        many = self.body.add(f"and i64 {self.arrays.outer}, -{_LANES}")
        return self.body.add(f"select i1 {self.memory.all_of(beside)}, i64 {many}, i64 0")

    def _begin(self, scan: Expr, carry: str) -> None:
        assert isinstance(scan, Call)
        first, kind = self.value(scan.arguments[2]), kind_of_scan(scan)
        self.body.put(f"store {self.scalars.type_of(kind)} {self.scalars.text(first, kind)}, ptr {carry}")

    # -- vectors -----------------------------------------------------------------------------

    def _vector(self, index: str) -> None:
        """The elements from ``index`` on, which follow each other; or those at it of rows that do."""
        given = {}
        first = {LENGTH: self._place(index, 1 if self.across else _LANES)}
        for operand in self.kernel.inputs:
            type_, size = self.memory.type_of(operand)
            type_ = f"<{_LANES} x {type_}>"
            text = self.body.add(f"load {type_}, ptr {self.at(operand.name, first)}, align {size}")
            given[operand.name] = self._widened(operand, self._turned(type_, text))
        for operand, value in self._computed(given, index):
            type_, text = self._narrowed(operand, value)
            text, size = self._turned(type_, text), self.memory.type_of(operand)[1]
            self.body.put(f"store {type_} {text}, ptr {self.at(operand.name, first)}, align {size}")

    def _few(self, index: str) -> None:
        """At most a vector's elements from ``index`` on, one by one into memory and out of it."""
        rest = self.body.add(f"sub i64 {self.arrays.sizes[LENGTH]}, {index}")
        count = self.body.intrinsic("i64", "llvm.smin.i64", (rest, str(_LANES)))
        given = {}
        for operand in self.kernel.inputs:
            type_, buffer = self._buffered(operand), self.buffers[operand.name]
            self.body.put(f"store <{_LANES} x {type_}> zeroinitializer, ptr {buffer}")
            with self.memory.over("0", count) as i:
                value = self.load(operand.name, self._element(index, i))
                to = self.body.add(f"getelementptr {type_}, ptr {buffer}, i64 {i}")
                self.body.put(f"store {type_} {value.text}, ptr {to}")
            text = self.body.add(f"load <{_LANES} x {type_}>, ptr {buffer}")
            given[operand.name] = self._widened(operand, text)
        for operand, result in self._computed(given, index):
            vector, text = self._narrowed(operand, result)
            type_, buffer = self._buffered(operand), self.buffers[operand.name]
            self.body.put(f"store {vector} {text}, ptr {buffer}")
            with self.memory.over("0", count) as i:
                of = self.body.add(f"getelementptr {type_}, ptr {buffer}, i64 {i}")
                one = self.body.add(f"load {type_}, ptr {of}")
                self.memory.store(operand, one, self.at(operand.name, self._element(index, i)))

    def _element(self, index: str, i: str) -> dict[str, str]:
        return {LENGTH: self._place(self.body.add(f"add nuw nsw i64 {index}, {i}"), 1)}

    def _place(self, index: str, count: int) -> str:
        """Where the first of ``count`` elements stands, which the scan comes to after ``index`` others."""
        if not self.back:
            return index
        end = self.body.add(f"sub i64 {self.arrays.sizes[LENGTH]}, {count}")
        return self.body.add(f"sub i64 {end}, {index}")

    def _turned(self, type_: str, text: str) -> str:
        """The lanes as they are scanned, of those in memory; or the other way."""
        return (
            self._shuffled(type_, text, "poison", [*range(_LANES)][::-1])
            if self.back and not self.across
            else text
        )

    def _buffered(self, operand: Operand) -> str:
        """The type of an element as it is read."""
        return "i64" if operand.dtype == "int64" else self.memory.width.llvm

    def _widened(self, operand: Operand, text: str) -> Value:
        if operand.dtype:
            raise Unlowerable("a scan is of numbers of the kernel's own dtype")
        if self.memory.width.scalar == "float32":
            text = self.body.add(f"fpext <{_LANES} x float> {text} to <{_LANES} x double>")
        return Value(text, Kind.FLOAT)

    def _narrowed(self, operand: Operand, value: ScalarOperand) -> tuple[str, str]:
        """The type and the text of the elements of a result."""
        text = self.scalars.stored(value, operand)
        type_ = f"<{_LANES} x {self._buffered(operand)}>"
        if type_ == f"<{_LANES} x float>":
            text = self.body.add(f"fptrunc <{_LANES} x double> {text} to {type_}")
        return type_, text

    # -- what is computed --------------------------------------------------------------------

    def _computed(self, given: Mapping[str, Value], index: str) -> list[tuple[Operand, ScalarOperand]]:
        """The results for a vector of elements, those from ``index`` on."""
        lanes = ", ".join([f"i64 {i}" for i in range(_LANES)])
        first = self._splat("i64", self._place(index, 1))
        way = "sub" if self.back else "add"
        places = first if self.across else self.body.add(f"{way} <{_LANES} x i64> {first}, <{lanes}>")
        self.know(Name(PLACE), Value(places, Kind.LONG))
        for name, value in given.items():
            self.know(Name(name), value)
        for name, expr in self.kernel.statements:
            self.know(Name(name), self.value(expr))
        return [(o, self.value(Name(o.name))) for o in self.kernel.outputs]

    def new(self, expr: Expr) -> ScalarOperand:
        return self._scan(expr) if is_scan(expr) else super().new(expr)

    def _scan(self, scan: Expr) -> Value:
        assert isinstance(scan, Call)
        combination, elements, first, *exact = scan.arguments
        kind = kind_of_scan(scan)
        type_ = self.scalars.type_of(kind)
        neutral = self.scalars.text(self.value(first), kind)
        costly = any([n.id in self.scalars.routines for n in free_names(combination)])
        found = self.scalars.value(self.value(elements), kind)
        if found.kind is not kind:
            raise Unlowerable("a scan is of numbers, or of places")

        def combined(before: str, after: str) -> str:
            names = {BEFORE: Value(before, kind), AFTER: Value(after, kind)}
            return self.scalars.text(self.scalars.lower(combination, names), kind)

        carry = self.body.add(f"load {type_}, ptr {self.carries[scan]}")
        if self.across:
            result = last = combined(carry, found.text)
            self.body.put(f"store {type_} {last}, ptr {self.carries[scan]}")
            return Value(result, kind)
        labels = [self.body.name(label) for label in ("tree", "turn", "done")] if exact else []
        if exact:
            apart = self.scalars.text(self.scalars.lower(exact[0], {AFTER: found}), Kind.BOOL)
            self._where_all(apart, *labels[:2])
            self.body.label(labels[0])
        lanes, step = found.text, 1
        while step < _LANES:
            moved = self._moved(type_, lanes, neutral, step)
            lanes, step = combined(moved, lanes), 2 * step
        result = combined(carry, lanes)
        # The next vector waits for one combination only, or does with fewer if they cost much.
        last = self._last(type_, result) if costly else combined(carry, self._last(type_, lanes))
        self.body.put(f"store {type_} {last}, ptr {self.carries[scan]}")
        if exact:
            self.body.put(f"br label %{labels[2]}")
            self.body.label(labels[1])
            turned = self._in_turn(type_, carry, found.text, combined)
            self.body.put(f"store {type_} {self._last(type_, turned)}, ptr {self.carries[scan]}")
            self.body.put(f"br label %{labels[2]}")
            self.body.label(labels[2])
            result = self.body.add(f"phi {type_} [{result}, %{labels[0]}], [{turned}, %{labels[1]}]")
        return Value(result, kind)

    def _where_all(self, condition: str, then: str, otherwise: str) -> None:
        """Go where all lanes of a condition hold, or elsewhere."""
        type_, name = f"<{_LANES} x i1>", f"llvm.vector.reduce.and.v{_LANES}i1"
        self.body.intrinsics.add(f"declare i1 @{name}({type_})")
        all_ = self.body.add(f"call i1 @{name}({type_} {condition})")
        self.body.put(f"br i1 {all_}, label %{then}, label %{otherwise}")

    def _in_turn(self, type_: str, carry: str, lanes: str, combined: Callable[[str, str], str]) -> str:
        """What the lanes come to one after the other."""
        result = lanes
        for lane in range(_LANES):
            step = combined(carry, lanes)
            chosen = [*range(_LANES)]
            chosen[lane] += _LANES
            result = self._shuffled(type_, result, step, chosen)
            carry = self._shuffled(type_, step, "poison", [lane] * _LANES)
        return result

    def _last(self, type_: str, lanes: str) -> str:
        """The last of the lanes, in each."""
        return self._shuffled(type_, lanes, "poison", [_LANES - 1] * _LANES)

    def _moved(self, type_: str, lanes: str, neutral: str, step: int) -> str:
        """The lanes, each ``step`` further; in the first are those of ``neutral``."""
        return self._shuffled(type_, lanes, neutral, [_LANES] * step + list(range(_LANES - step)))

    def _shuffled(self, type_: str, a: str, b: str, lanes: list[int]) -> str:
        chosen = ", ".join([f"i32 {i}" for i in lanes])
        return self.body.add(f"shufflevector {type_} {a}, {type_} {b}, <{_LANES} x i32> <{chosen}>")

    def _splat(self, type_: str, text: str) -> str:
        one = self.body.add(f"insertelement <{_LANES} x {type_}> poison, {type_} {text}, i64 0")
        return self._shuffled(f"<{_LANES} x {type_}>", one, "poison", [0] * _LANES)
