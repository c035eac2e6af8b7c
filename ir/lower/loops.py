"""Lower: what loops over operands in memory have in common.

A kernel is the loop of a NumPy ufunc: it gets a pointer for each operand, the numbers of elements, and the
bytes between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..kernels import REDUCED, NativeKernel, Operand
from . import reduced
from .instructions import Instructions, Kind, Unlowerable, Value, Width

#: The function that NumPy calls, and what it gives.
_HEAD = "define i32 @kernel(ptr %context, ptr %args, ptr %dims, ptr %steps, ptr %auxdata) #0 {"
#: Elements that are stored otherwise than in the own width: the type, and its bytes.
_STORED = {
    "int64": ("i64", 8),
    "bool": ("i8", 1),
    "float32": ("float", 4),
    "float64": ("double", 8),
    "float16": ("i16", 2),
    "bfloat16": ("i16", 2),
}
#: The mark of accesses to operands. Those in a loop that is marked do not depend on each other: NumPy copies
#: operands that overlap otherwise.
ACCESS = ", !llvm.access.group !0"
_METADATA = """\
attributes #0 = { nounwind "prefer-vector-width"="512" }
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
"""


class Memory:
    """Reads and writes the elements of operands."""

    def __init__(self, body: Instructions, width: Width) -> None:
        self.body, self.width = body, width
        self.loops = 0

    def type_of(self, operand: Operand) -> tuple[str, int]:
        """The type of an element in memory, and its bytes."""
        return _STORED.get(operand.dtype, (self.width.llvm, self.width.bytes))

    def arguments(self, pointer: str, type_: str, count: int, first: int = 0) -> list[str]:
        """The values of an array that the function is given."""
        found = []
        for i in range(first, first + count):
            at = self.body.add(f"getelementptr {type_}, ptr {pointer}, i64 {i}")
            found.append(self.body.add(f"load {type_}, ptr {at}"))
        return found

    def at(self, operand: Operand, pointer: str, index: str, step: str | None) -> str:
        """The pointer to an element; without a step the elements are contiguous."""
        if step is None:
            return self.body.add(f"getelementptr {self.type_of(operand)[0]}, ptr {pointer}, i64 {index}")
        offset = self.body.add(f"mul i64 {index}, {step}")
        return self.body.add(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(self, operand: Operand, pointer: str) -> Value:
        """The element that a pointer points to."""
        type_, size = self.type_of(operand)
        text = self.body.add(f"load {type_}, ptr {pointer}, align {size}{ACCESS}")
        if operand.dtype == "bool":
            return Value(self.body.add(f"icmp ne i8 {text}, 0"), Kind.BOOL)
        if operand.dtype in REDUCED:
            wide = reduced.widened(self.body, operand.dtype, text)
            return Value(self._converted(wide, "fpext float", "to double"), Kind.FLOAT)
        if operand.dtype == "float64" and self.width.scalar == "float32":
            text = self.body.add(f"fptrunc double {text} to float")
        if operand.dtype == "float32":
            return Value(self._converted(text, "fpext float", "to double"), Kind.FLOAT)
        return Value(text, Kind.LONG if operand.dtype == "int64" else Kind.FLOAT)

    def store(self, operand: Operand, value: str, pointer: str) -> None:
        """Write an element."""
        type_, size = self.type_of(operand)
        if operand.dtype == "bool":
            value = self.body.add(f"zext i1 {value} to i8")
        elif operand.dtype == "float64" and self.width.scalar == "float32":
            value = self.body.add(f"fpext float {value} to double")
        elif operand.dtype == "float32":
            value = self._converted(value, "fptrunc double", "to float")
        elif operand.dtype in REDUCED:
            value = self._converted(value, "fptrunc double", "to float")
            value = reduced.narrowed(self.body, operand.dtype, value)
        self.body.put(f"store {type_} {value}, ptr {pointer}, align {size}{ACCESS}")

    def _converted(self, value: str, how: str, to: str) -> str:
        """A value of the own width from float32, or the other way."""
        return value if self.width.scalar == "float32" else self.body.add(f"{how} {value} {to}")

    def all_of(self, conditions: Sequence[str]) -> str:
        """Whether all conditions hold."""
        found = "true"
        for condition in conditions:
            found = self.body.add(f"and i1 {found}, {condition}")
        return found

    def any_of(self, conditions: Sequence[str]) -> str:
        """Whether one of the conditions holds."""
        found = "false"
        for condition in conditions:
            found = self.body.add(f"or i1 {found}, {condition}")
        return found

    @contextmanager
    def version(self, condition: str) -> Iterator[None]:
        """What the function does where a condition holds; what is put out behind it is for all else."""
        name = self.body.name("version")
        self.body.put(f"br i1 {condition}, label %{name}, label %else.{name}")
        self.body.label(name)
        yield
        self.body.put("ret i32 0")
        self.body.label(f"else.{name}")

    @contextmanager
    def over(
        self,
        begin: str,
        end: str,
        step: str = "1",
        parallel: bool = False,
        unless: Callable[[], str] | None = None,
    ) -> Iterator[str]:
        """A loop around what is put out inside: its index goes from ``begin`` to before ``end``.

        ``parallel``: what is done for one index does not depend on what is done for another; such a loop goes
        in steps of 1, and asks at its end, so that LLVM counts its turns. ``unless`` puts out a condition,
        which is asked for at each index of another loop, and ends it.
        """
        body, name = self.body, self.body.name("loop")
        index, following = f"%i.{name}", f"%n.{name}"
        body.put(f"br label %pre.{name}")
        body.label(f"pre.{name}")
        if parallel:
            some = body.add(f"icmp slt i64 {begin}, {end}")
            body.put(f"br i1 {some}, label %{name}, label %after.{name}")
        else:
            body.put(f"br label %{name}")
        body.label(name)
        body.put(f"{index} = phi i64 [{begin}, %pre.{name}], [{following}, %end.{name}]")
        if not parallel:
            some = body.add(f"icmp slt i64 {index}, {end}")
            if unless is not None:
                some = body.add(f"and i1 {some}, {body.add(f'xor i1 {unless()}, true')}")
            body.put(f"br i1 {some}, label %in.{name}, label %after.{name}")
            body.label(f"in.{name}")
        yield index
        body.put(f"br label %end.{name}")
        body.label(f"end.{name}")
        body.put(f"{following} = add nuw nsw i64 {index}, {step}")
        if parallel:
            self.loops += 1
            more = body.add(f"icmp ne i64 {following}, {end}")
            body.put(f"br i1 {more}, label %{name}, label %after.{name}, !llvm.loop !{self.loops + 1}")
        else:
            body.put(f"br label %{name}")
        body.label(f"after.{name}")

    def module(self) -> str:
        """The text of the module: the function, which ends here, what it calls, and the marks of loops."""
        self.body.put("ret i32 0")
        marks = "".join([f"!{n} = distinct !{{!{n}, !1}}\n" for n in range(2, self.loops + 2)])
        return "\n".join([*sorted(self.body.intrinsics), _HEAD, *self.body.lines, "}", _METADATA + marks])


class Arrays:
    """The operands of a generalised ufunc, as NumPy gives them: sizes, pointers, bytes between elements."""

    def __init__(self, memory: Memory, kernel: NativeKernel) -> None:
        self.memory, self.kernel = memory, kernel
        operands, dims = kernel.operands, kernel.dims
        self.outer, *sizes = memory.arguments("%dims", "i64", 1 + len(dims))
        self.sizes = dict(zip(dims, sizes, strict=True))
        self.base = memory.arguments("%args", "ptr", len(operands))
        self.outer_steps = memory.arguments("%steps", "i64", len(operands))
        along = [(o.name, dim) for o in operands for dim in o.dims]
        steps = memory.arguments("%steps", "i64", len(along), len(operands))
        self.steps = dict(zip(along, steps, strict=True))
        self.numbers = {o.name: i for i, o in enumerate(operands)}

    def operand(self, name: str) -> Operand:
        return self.kernel.operands[self.numbers[name]]

    def follow(self, operands: Iterable[Operand]) -> str:
        """Whether the elements of operands follow each other along the last dim."""
        alike = []
        for operand in operands:
            step, size = self.steps[operand.name, operand.dims[-1]], self.memory.type_of(operand)[1]
            alike.append(self.memory.body.add(f"icmp eq i64 {step}, {size}"))
        return self.memory.all_of(alike)

    def pointers(self, index: str) -> dict[str, str]:
        """Those of the operands at an index of the outer loop."""
        both = zip(self.kernel.operands, self.base, self.outer_steps, strict=True)
        return {o.name: self.memory.at(o, pointer, index, step) for o, pointer, step in both}

    def at(self, name: str, pointer: str, places: Mapping[str, str], follow: bool) -> str:
        """The pointer to an operand's element at ``places``; the last dim's may ``follow`` each other."""
        operand = self.operand(name)
        for dim in operand.dims:
            step = None if follow and dim == operand.dims[-1] else self.steps[name, dim]
            pointer = self.memory.at(operand, pointer, places[dim], step)
        return pointer

    def place(self, name: str, index: Value) -> str:
        """An index into a table as a place in it: 0 if it is out of range, which the caller tells."""
        body = self.memory.body
        if index.kind is not Kind.LONG:
            raise Unlowerable("an element is picked by an int64")
        inside = body.add(f"icmp ult i64 {index.text}, {self.sizes[self.operand(name).dims[0]]}")
        return body.add(f"select i1 {inside}, i64 {index.text}, i64 0")
