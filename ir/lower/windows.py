"""Lower: kernels over the windows of images, with a result for each place of a window.

An image is ``x[h, w]``, and what stands in it at an index is ``x[row, column]``: 0 outside of it. Results are
along places, ``y[p, q]``, or also along the taps of a window, ``y[i, j, p, q]``; the names of these dims are
the indices, int64 numbers. ``sum``, ``max`` and ``argmax`` of a generator go over the taps of a window, and
leave out what is outside; sums are formed in float64, and ``argmax`` is the number of the tap: the first of
equal ones, the last NaN.

What a row of places picks is read in one piece, where the image's elements and the places follow each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from ..expressions import Call, Comprehension, Elements, Expr, Name, Subscript, walk
from ..kernels import NativeKernel
from ..routines import Routines
from .instructions import Instructions, Kind, Unlowerable, Value
from .loops import Arrays, Memory
from .scalars import Operand as ScalarOperand, ScalarLowering

#: The functions of generators.
OVER_TAPS = ("sum", "max", "argmax")
#: What bounds the numbers of a clause.
RANGE = "range"
Known = dict[Expr, ScalarOperand]


def windows(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel over windows."""
    return _Windows(kernel, routines, scalar).module()


def _over_taps(expr: Expr) -> tuple[str, Comprehension] | None:
    """The function of a generator, and that; None of what is something else."""
    match expr:
        case Call(Name(name), (Comprehension("generator") as taps,), ()) if name in OVER_TAPS:
            return name, taps
    return None


def _outside_of_picks(expr: Expr, picks: Sequence[Expr]) -> Iterator[Expr]:
    """The parts of an expression, save those of what is picked."""
    if expr not in picks:
        yield expr
        for part in expr.parts:
            yield from _outside_of_picks(part, picks)


class _Windows:
    """Loops over the dims of the results; what is picked in the image, and what around it, by themselves."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        self.kernel = kernel
        self.dims = kernel.outputs[0].dims
        if any([o.dims != self.dims for o in kernel.outputs]):
            raise Unlowerable("the results of a kernel over windows have the same dims")
        self.body = Instructions()
        self.scalars = ScalarLowering(self.body, scalar, routines)
        self.memory = Memory(self.body, self.scalars.width)
        self.body.label("entry")
        self.arrays = Arrays(self.memory, kernel)
        parts = [part for _, expr in kernel.statements for part in walk(expr)]
        found = dict.fromkeys([f[1] for part in parts if (f := _over_taps(part)) is not None])
        self.memories = {taps: self._memory() for taps in found}
        self.picks = [part for part in parts if self._is_image(part)]
        self.pointers: dict[str, str] = {}
        self.inside = self.unit = False

    def _memory(self) -> tuple[str, str, str]:
        """Where the sum, the maximum and the number of the tap that has it are kept of a generator."""
        types = ("double", self.scalars.width.llvm, "i64")
        total, best, number = [self.body.add(f"alloca {t}") for t in types]
        return total, best, number

    def _is_image(self, expr: Expr) -> bool:
        match expr:
            case Subscript(Name(name), Elements("tuple", (_, _))):
                return name in self.arrays.numbers and len(self.arrays.operand(name).dims) == 2
        return False

    def module(self) -> str:
        body = self.body
        with ExitStack() as stack:
            outer = stack.enter_context(self.memory.over("0", self.arrays.outer))
            self.pointers = self.arrays.pointers(outer)
            known: Known = {Name(d): Value(size, Kind.LONG) for d, size in self.arrays.sizes.items()}
            for operand in self.kernel.inputs:
                if not operand.dims:
                    known[Name(operand.name)] = self.memory.load(operand, self.pointers[operand.name])
            for dim in self.dims[:-2]:
                index = stack.enter_context(self.memory.over("0", self.arrays.sizes[dim]))
                known[Name(dim)] = Value(index, Kind.LONG)
            if self.memories or not self.picks:
                with self._rows(known) as here:
                    self._places(here, "0", self.arrays.sizes[self.dims[-1]])
            else:
                self._plane(known)
        body.put("ret i32 0")
        return self.memory.module()

    # -- the places of a plane ---------------------------------------------------------------

    @contextmanager
    def _rows(self, known: Known) -> Iterator[Known]:
        """A loop over the rows of places: what is known in it."""
        row = self.dims[-2]
        with self.memory.over("0", self.arrays.sizes[row]) as index:
            yield {**known, Name(row): Value(index, Kind.LONG)}

    def _plane(self, known: Known) -> None:
        """All places of a plane: what is picked for them is in the image, and then what is not.

        Where images and planes of places are as wide, and follow each other, the places are one row, of which
        those that see what stands at the other side are done again.
        """
        body, name = self.body, self.body.name("plane")
        height, width = (self.arrays.sizes[d] for d in self.dims[-2:])
        (top, bottom, _), (left, right, unit) = self._inside(known, 0), self._inside(known, 1)
        follows = [self._follows(n) for n in self._arrays()]
        unit = self.memory.all_of([unit, *follows])
        body.put(f"br i1 {self._is_line(known, unit, width)}, label %line.{name}, label %rows.{name}")
        body.label(f"line.{name}")
        begin = body.add(f"add i64 {body.add(f'mul i64 {top}, {width}')}, {left}")
        last = body.add(f"mul i64 {body.add(f'sub i64 {bottom}, 1')}, {width}")
        some = body.add(
            f"and i1 {body.add(f'icmp slt i64 {top}, {bottom}')}, {body.add(f'icmp slt i64 {left}, {right}')}"
        )
        end = body.add(f"select i1 {some}, i64 {body.add(f'add i64 {last}, {right}')}, i64 {begin}")
        self.inside = self.unit = True
        self._places({**known, Name(self.dims[-2]): Value("0", Kind.LONG)}, begin, end, parallel=True)
        self.inside = self.unit = False
        body.put(f"br label %around.{name}")
        body.label(f"rows.{name}")
        with self.memory.over(top, bottom) as row:
            self._inner_row({**known, Name(self.dims[-2]): Value(row, Kind.LONG)}, left, right, unit)
        body.put(f"br label %around.{name}")
        body.label(f"around.{name}")
        for first, behind in (("0", top), (bottom, height)):
            with self.memory.over(first, behind) as row:
                self._places({**known, Name(self.dims[-2]): Value(row, Kind.LONG)}, "0", width)
        with self.memory.over(top, bottom) as row:
            here = {**known, Name(self.dims[-2]): Value(row, Kind.LONG)}
            self._places(here, "0", left)
            self._places(here, right, width)

    def _inner_row(self, known: Known, left: str, right: str, unit: str) -> None:
        """The places of a row that see what is in the image."""
        body, name = self.body, self.body.name("row")
        body.put(f"br i1 {unit}, label %unit.{name}, label %other.{name}")
        self.inside = True
        for version in ("unit", "other"):
            body.label(f"{version}.{name}")
            self.unit = version == "unit"
            self._places(known, left, right, parallel=True)
            body.put(f"br label %done.{name}")
        self.inside = self.unit = False
        body.label(f"done.{name}")

    def _places(self, known: Known, begin: str, end: str, parallel: bool = False) -> None:
        last = self.dims[-1]
        with self.memory.over(begin, end, parallel=parallel) as index:
            here = {**known, Name(last): Value(index, Kind.LONG)}
            places = {d: self._long(Name(d), here) for d in self.dims}
            for name, expr in self.kernel.statements:
                here[Name(name)] = self._value(expr, here)
            for operand in self.kernel.outputs:
                text = self.scalars.stored(here[Name(operand.name)], operand)
                at = self.arrays.at(operand.name, self.pointers[operand.name], places, self.unit)
                self.memory.store(operand, text, at, parallel=parallel)

    def _arrays(self) -> list[str]:
        """The images that are picked from, and the results."""
        picked = [name for name, _ in self._indices()]
        return list(dict.fromkeys([*picked, *[o.name for o in self.kernel.outputs]]))

    def _inside(self, known: Known, axis: int) -> tuple[str, str, str]:
        """Between which places along an axis what is picked is in the images, and whether in steps of 1."""
        body, dim = self.body, Name(self.dims[axis - 2])
        size = self.arrays.sizes[dim.id]
        begin, end, alike = "0", size, []
        for name, index in self._indices():
            if Name(self.dims[-1 - axis]) in set(walk(index[axis])):
                raise Unlowerable(
                    "the row that is picked follows from that of the place, and the column likewise"
                )
            start, following = (
                self._long(index[axis], {**known, dim: Value(number, Kind.LONG)}) for number in ("0", "1")
            )
            step = body.add(f"sub i64 {following}, {start}")
            forward = body.add(f"icmp sgt i64 {step}, 0")
            divisor = self._extreme("smax", step, "1")
            bound = self.arrays.sizes[self.arrays.operand(name).dims[axis]]
            first = self._first(body.add(f"sub i64 0, {start}"), divisor)
            begin = self._extreme("smax", begin, body.add(f"select i1 {forward}, i64 {first}, i64 {size}"))
            end = self._extreme("smin", end, self._first(body.add(f"sub i64 {bound}, {start}"), divisor))
            alike.append(body.add(f"icmp eq i64 {step}, 1"))
        begin = self._extreme("smin", begin, size)
        return begin, self._extreme("smax", begin, end), self.memory.all_of(alike)

    def _indices(self) -> Iterator[tuple[str, tuple[Expr, ...]]]:
        """What is picked from, and the row and the column."""
        for pick in self.picks:
            assert isinstance(pick, Subscript) and isinstance(pick.value, Name)
            assert isinstance(pick.index, Elements)
            yield pick.value.id, pick.index.elements

    def _is_line(self, known: Known, unit: str, width: str) -> str:
        """Whether the places of a plane can be done as one row."""
        if any([o.dims and o.dims[-1] == self.dims[-1] for o in self.kernel.inputs]):
            return "false"
        used = [e for _, expr in self.kernel.statements for e in _outside_of_picks(expr, self.picks)]
        if any([Name(d) in used for d in self.dims[-2:]]):
            return "false"
        body, alike = self.body, [unit, self._inside(known, 0)[2]]
        for name in self._arrays():
            operand = self.arrays.operand(name)
            row, size = operand.dims[-2], self.memory.type_of(operand)[1]
            alike.append(body.add(f"icmp eq i64 {self.arrays.sizes[operand.dims[-1]]}, {width}"))
            pitch = body.add(f"mul i64 {width}, {size}")
            alike.append(body.add(f"icmp eq i64 {self.arrays.steps[name, row]}, {pitch}"))
        return self.memory.all_of(alike)

    def _first(self, distance: str, step: str) -> str:
        """The first number of steps that go at least so far: 0 for what is behind."""
        body = self.body
        some = self._extreme("smax", distance, "0")
        up = body.add(f"add i64 {some}, {body.add(f'sub i64 {step}, 1')}")
        return body.add(f"udiv i64 {up}, {step}")

    def _extreme(self, which: str, a: str, b: str) -> str:
        return self.body.intrinsic("i64", f"llvm.{which}.i64", (a, b))

    def _follows(self, name: str) -> str:
        return self.arrays.follow([self.arrays.operand(name)])

    # -- values ------------------------------------------------------------------------------

    def _long(self, expr: Expr, known: Mapping[Expr, ScalarOperand]) -> str:
        value = self._value(expr, dict(known))
        if isinstance(value, Value) and value.kind is not Kind.LONG:
            raise Unlowerable("an element is picked by an int64")
        return self.scalars.text(value, Kind.LONG)

    def _value(self, expr: Expr, known: Known) -> ScalarOperand:
        if expr not in known:
            known[expr] = self._new(expr, known)
        return known[expr]

    def _new(self, expr: Expr, known: Known) -> ScalarOperand:
        found = _over_taps(expr)
        if found is not None:
            self._taps(found[1], known)
            return known[expr]
        match expr:
            case Subscript(Name(name), Elements("tuple", (row, column))) if self._is_image(expr):
                return self._picked(name, row, column, known)[0]
            case Subscript(Name(name), index) if len(self.arrays.operand(name).dims) == 1:
                place = self.arrays.place(name, self.scalars.value(self._value(index, known), Kind.LONG))
                return self._load(name, [place])
            case Name(name) if name in self.arrays.numbers:
                return self._load(name, [self._long(Name(d), known) for d in self.arrays.operand(name).dims])
        return self.scalars.computed(expr, lambda part: self._value(part, known))

    def _load(self, name: str, places: Sequence[str], follow: bool = False, parallel: bool = False) -> Value:
        operand = self.arrays.operand(name)
        by_dim = dict(zip(operand.dims, places, strict=True))
        at = self.arrays.at(name, self.pointers[name], by_dim, follow)
        return self.memory.load(operand, at, parallel=parallel)

    def _picked(self, name: str, row: Expr, column: Expr, known: Known) -> tuple[ScalarOperand, str]:
        """What an image has at an index, and whether that is in it."""
        body, places = self.body, [self._long(e, known) for e in (row, column)]
        if self.inside:
            if self.unit:  # as the compiler is to see it: of a step of 1
                last = Name(self.dims[-1])
                start = self._long(column, {**known, last: Value("0", Kind.LONG)})
                places[1] = body.add(f"add i64 {start}, {self._long(last, known)}")
            return self._load(name, places, self.unit, parallel=True), "true"
        sizes = [self.arrays.sizes[d] for d in self.arrays.operand(name).dims]
        within = [body.add(f"icmp ult i64 {p}, {s}") for p, s in zip(places, sizes, strict=True)]
        there = self.memory.all_of(within)
        safe = [body.add(f"select i1 {there}, i64 {p}, i64 0") for p in places]
        type_ = self.scalars.width.llvm
        value = self.scalars.text(self._load(name, safe), Kind.FLOAT)
        zero = self.scalars.text(0, Kind.FLOAT)
        found = body.add(f"select i1 {there}, {type_} {value}, {type_} {zero}")
        return Value(found, Kind.FLOAT), there

    # -- over the taps of a window -----------------------------------------------------------

    def _taps(self, taps: Comprehension, known: Known) -> None:
        """All functions of a generator: they share the loops."""
        body, type_ = self.body, self.scalars.width.llvm
        total, best, number = self.memories[taps]
        least = self.scalars.text(float("-inf"), Kind.FLOAT)
        for kind, start, at in (("double", "0.0", total), (type_, least, best), ("i64", "-1", number)):
            body.put(f"store {kind} {start}, ptr {at}")
        with ExitStack() as stack:
            here, count = dict(known), "0"
            for clause in taps.clauses:
                match clause.target, clause.iterable, clause.conditions:
                    case Name(_) as name, Call(Name(function), (bound,), ()), () if function == RANGE:
                        size = self._long(bound, known)
                    case _:
                        raise Unlowerable(f"a clause of a generator is: for name in {RANGE}(size)")
                index = stack.enter_context(self.memory.over("0", size))
                here[name] = Value(index, Kind.LONG)
                count = body.add(f"add i64 {body.add(f'mul i64 {count}, {size}')}, {index}")
            self._tap(taps.element, here, count, self.memories[taps])
        loads = {"sum": ("double", total), "max": (type_, best), "argmax": ("i64", number)}
        for function, (kind, at) in loads.items():
            value = body.add(f"load {kind}, ptr {at}")
            if function == "sum" and type_ != "double":
                value = body.add(f"fptrunc double {value} to {type_}")
            known[Call(Name(function), (taps,), ())] = Value(
                value, Kind.LONG if function == "argmax" else Kind.FLOAT
            )

    def _tap(self, element: Expr, known: Known, count: str, memories: tuple[str, str, str]) -> None:
        """Bring in what one tap sees."""
        body, type_ = self.body, self.scalars.width.llvm
        match element:
            case Subscript(Name(name), Elements("tuple", (row, column))) if self._is_image(element):
                value, there = self._picked(name, row, column, known)
            case _:
                raise Unlowerable("a generator gives what an image has at an index")
        total, best, number = memories
        text = self.scalars.text(value, Kind.FLOAT)
        wide = text if type_ == "double" else body.add(f"fpext float {text} to double")
        added = body.add(f"fadd double {body.add(f'load double, ptr {total}')}, {wide}")
        body.put(f"store double {added}, ptr {total}")
        before, at = body.add(f"load {type_}, ptr {best}"), body.add(f"load i64, ptr {number}")
        # The first element that is in the image; a greater one; NaN.
        takes = body.add(f"fcmp ogt {type_} {text}, {before}")
        for other in (f"icmp slt i64 {at}, 0", f"fcmp uno {type_} {text}, {text}"):
            takes = body.add(f"or i1 {takes}, {body.add(other)}")
        takes = body.add(f"and i1 {takes}, {there}")
        for kind, new, old, memory in ((type_, text, before, best), ("i64", count, at, number)):
            chosen = body.add(f"select i1 {takes}, {kind} {new}, {kind} {old}")
            body.put(f"store {kind} {chosen}, ptr {memory}")
