"""Lower: kernels over the windows of images, with a result for each place of a window.

An image is ``x[h, w]``, and what stands in it at an index is ``x[row, column]``: 0 outside of it. Results are
along places, ``y[p, q]``, or also along the taps of a window, ``y[i, j, p, q]``; the names of these dims are
the indices, int64 numbers. ``sum``, ``max`` and ``argmax`` of a generator go over the taps of a window, and
leave out what is outside; sums are formed in float64, and ``argmax`` is the number of the tap: the first of
equal ones, the last NaN.

What a row of places picks is read in one piece, where the image's elements and the places follow each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack

from ..expressions import Call, Comprehension, Elements, Expr, Name, Subscript, walk
from ..kernels import NativeKernel
from ..routines import Routines
from .instructions import Kind, Unlowerable, Value
from .nests import Nest
from .scalars import Operand as ScalarOperand

#: The functions of generators.
OVER_TAPS = ("sum", "max", "argmax")
#: What bounds the numbers of a clause.
RANGE = "range"


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


class _Windows(Nest):
    """Loops over the dims of the results; what is picked in the image, and what around it, by themselves."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        super().__init__(kernel, routines, scalar)
        self.dims = kernel.outputs[0].dims
        if any([o.dims != self.dims for o in kernel.outputs]):
            raise Unlowerable("the results of a kernel over windows have the same dims")
        parts = [part for _, expr in kernel.statements for part in walk(expr)]
        found = dict.fromkeys([f[1] for part in parts if (f := _over_taps(part)) is not None])
        self.memories = {taps: self._memory() for taps in found}
        self.picks = [part for part in parts if self._is_image(part)]
        self.inside = False

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
        *outer, row, column = self.dims
        with ExitStack() as stack:
            stack.enter_context(self.outer())
            self.prepare([Name(o.name) for o in self.kernel.inputs if not o.dims])
            for dim in outer:
                stack.enter_context(self.loop(dim, "0", self.arrays.sizes[dim]))
            if self.memories or not self.picks:
                with self.loop(row, "0", self.arrays.sizes[row]):
                    self._places("0", self.arrays.sizes[column])
            else:
                self._plane()
        return self.memory.module()

    # -- the places of a plane ---------------------------------------------------------------

    def _plane(self) -> None:
        """All places of a plane: what is picked for them is in the image, and then what is not.

        Where images and planes of places are as wide, and follow each other, the places are one row, of which
        those that see what stands at the other side are done again.
        """
        body, name, dim = self.body, self.body.name("plane"), self.dims[-2]
        height, width = (self.arrays.sizes[d] for d in self.dims[-2:])
        (top, bottom, _), (left, right, unit) = self._inside(0), self._inside(1)
        follows = self.arrays.follow([self.arrays.operand(n) for n in self._arrays()])
        unit = self.memory.all_of([unit, follows])
        body.put(f"br i1 {self._is_line(unit, width)}, label %line.{name}, label %rows.{name}")
        body.label(f"line.{name}")
        begin = body.add(f"add i64 {body.add(f'mul i64 {top}, {width}')}, {left}")
        last = body.add(f"mul i64 {body.add(f'sub i64 {bottom}, 1')}, {width}")
        some = body.add(
            f"and i1 {body.add(f'icmp slt i64 {top}, {bottom}')}, {body.add(f'icmp slt i64 {left}, {right}')}"
        )
        end = body.add(f"select i1 {some}, i64 {body.add(f'add i64 {last}, {right}')}, i64 {begin}")
        with self.scope({dim: "0"}):
            self._inner_places(begin, end, self._arrays())
        body.put(f"br label %around.{name}")
        body.label(f"rows.{name}")
        with self.loop(dim, top, bottom):
            self._inner_row(left, right, unit)
        body.put(f"br label %around.{name}")
        body.label(f"around.{name}")
        for first, behind in (("0", top), (bottom, height)):
            with self.loop(dim, first, behind):
                self._places("0", width)
        with self.loop(dim, top, bottom):
            self._places("0", left)
            self._places(right, width)

    def _inner_row(self, left: str, right: str, unit: str) -> None:
        """The places of a row that see what is in the image."""
        body, name = self.body, self.body.name("row")
        body.put(f"br i1 {unit}, label %unit.{name}, label %other.{name}")
        for version, following in (("unit", self._arrays()), ("other", ())):
            body.label(f"{version}.{name}")
            self._inner_places(left, right, following)
            body.put(f"br label %done.{name}")
        body.label(f"done.{name}")

    def _inner_places(self, begin: str, end: str, following: Iterable[str]) -> None:
        self.inside, self.following = True, frozenset(following)
        self._places(begin, end, parallel=True)
        self.inside, self.following = False, frozenset()

    def _places(self, begin: str, end: str, *, parallel: bool = False) -> None:
        with self.loop(self.dims[-1], begin, end, parallel=parallel):
            for name, expr in self.kernel.statements:
                self.know(Name(name), self.value(expr))
            for operand in self.kernel.outputs:
                self.store(operand.name, Name(operand.name))

    def _arrays(self) -> list[str]:
        """The images that are picked from, and the results."""
        picked = [name for name, _ in self._indices()]
        return list(dict.fromkeys([*picked, *[o.name for o in self.kernel.outputs]]))

    def _inside(self, axis: int) -> tuple[str, str, str]:
        """Between which places along an axis what is picked is in the images, and whether in steps of 1."""
        body, dim = self.body, self.dims[axis - 2]
        size = self.arrays.sizes[dim]
        begin, end, alike = "0", size, []
        for name, index in self._indices():
            if self.dims[-1 - axis] in self.varies(index[axis]):
                raise Unlowerable(
                    "the row that is picked follows from that of the place, and the column likewise"
                )
            start, following = (self._at(index[axis], dim, number) for number in ("0", "1"))
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

    def _is_line(self, unit: str, width: str) -> str:
        """Whether the places of a plane can be done as one row."""
        if any([o.dims and o.dims[-1] == self.dims[-1] for o in self.kernel.inputs]):
            return "false"
        used = [e for _, expr in self.kernel.statements for e in _outside_of_picks(expr, self.picks)]
        if any([Name(d) in used for d in self.dims[-2:]]):
            return "false"
        body, alike = self.body, [unit, self._inside(0)[2]]
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

    # -- values ------------------------------------------------------------------------------

    def _long(self, expr: Expr) -> str:
        value = self.value(expr)
        if isinstance(value, Value) and value.kind is not Kind.LONG:
            raise Unlowerable("an element is picked by an int64")
        return self.scalars.text(value, Kind.LONG)

    def _at(self, expr: Expr, dim: str, place: str) -> str:
        """The value of an index at another place along a dim."""
        with self.scope({dim: place}):
            return self._long(expr)

    def dims_of(self, expr: Expr) -> frozenset[str]:
        if isinstance(expr, Name) and expr.id not in self.arrays.numbers:
            return frozenset({expr.id})  # a dim is an index
        return super().dims_of(expr)

    def new(self, expr: Expr) -> ScalarOperand:
        found = _over_taps(expr)
        if found is not None:
            return self._taps(found[1])[found[0]]
        match expr:
            case Name(name) if name in self.places or name in self.arrays.sizes:
                return Value(self.places.get(name) or self.arrays.sizes[name], Kind.LONG)
            case Subscript(Name(name), Elements("tuple", (row, column))) if self._is_image(expr):
                return self._picked(name, row, column)[0]
        return super().new(expr)

    def _picked(self, name: str, row: Expr, column: Expr) -> tuple[ScalarOperand, str]:
        """What an image has at an index, and whether that is in it."""
        body, places = self.body, [self._long(e) for e in (row, column)]
        dims, last = self.arrays.operand(name).dims, self.dims[-1]
        if self.inside:
            if name in self.following:  # as the compiler is to see it: of a step of 1
                places[1] = body.add(f"add i64 {self._at(column, last, '0')}, {self.places[last]}")
            return self.load(name, dict(zip(dims, places, strict=True))), "true"
        within = [
            body.add(f"icmp ult i64 {p}, {self.arrays.sizes[d]}") for p, d in zip(places, dims, strict=True)
        ]
        there = self.memory.all_of(within)
        safe = [body.add(f"select i1 {there}, i64 {p}, i64 0") for p in places]
        type_ = self.scalars.width.llvm
        value = self.scalars.text(self.load(name, dict(zip(dims, safe, strict=True))), Kind.FLOAT)
        zero = self.scalars.text(0, Kind.FLOAT)
        found = body.add(f"select i1 {there}, {type_} {value}, {type_} {zero}")
        return Value(found, Kind.FLOAT), there

    # -- over the taps of a window -----------------------------------------------------------

    def _taps(self, taps: Comprehension) -> dict[str, Value]:
        """What the functions of a generator give, which share the loops."""
        body, type_ = self.body, self.scalars.width.llvm
        total, best, number = self.memories[taps]
        least = self.scalars.text(float("-inf"), Kind.FLOAT)
        for kind, start, at in (("double", "0.0", total), (type_, least, best), ("i64", "-1", number)):
            body.put(f"store {kind} {start}, ptr {at}")
        with ExitStack() as stack:
            count = "0"
            for clause in taps.clauses:
                match clause.target, clause.iterable, clause.conditions:
                    case Name(name), Call(Name(function), (bound,), ()), () if function == RANGE:
                        size = self._long(bound)
                    case _:
                        raise Unlowerable(f"a clause of a generator is: for name in {RANGE}(size)")
                index = stack.enter_context(self.loop(name, "0", size))
                count = body.add(f"add i64 {body.add(f'mul i64 {count}, {size}')}, {index}")
            self._tap(taps.element, count, self.memories[taps])
        added = body.add(f"load double, ptr {total}")
        if type_ != "double":
            added = body.add(f"fptrunc double {added} to {type_}")
        found = {
            "sum": Value(added, Kind.FLOAT),
            "max": Value(body.add(f"load {type_}, ptr {best}"), Kind.FLOAT),
            "argmax": Value(body.add(f"load i64, ptr {number}"), Kind.LONG),
        }
        for function, value in found.items():
            self.know(Call(Name(function), (taps,), ()), value)
        return found

    def _tap(self, element: Expr, count: str, memories: tuple[str, str, str]) -> None:
        """Bring in what one tap sees."""
        body, type_ = self.body, self.scalars.width.llvm
        match element:
            case Subscript(Name(name), Elements("tuple", (row, column))) if self._is_image(element):
                value, there = self._picked(name, row, column)
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
