"""Lower: kernels that change tables at indices: each element of the operands changes one of a result.

Elements are taken one after the other, along k and then along n, so that of several at one index all count,
and always in one order.
"""

from __future__ import annotations

from contextlib import ExitStack

from ..expressions import Expr, Name, Subscript
from ..kernels import NativeKernel
from ..routines import Routines
from .instructions import Instructions, Kind, Unlowerable, Value
from .loops import Arrays, Memory
from .scalars import Operand as ScalarOperand, ScalarLowering

_PLACES, _EACH, _ALONG = "m", "k", "n"


def updates(kernel: NativeKernel, routines: Routines, scalar: str) -> str:
    """The module of a kernel that has updates."""
    return _Updates(kernel, routines, scalar).module()


class _Updates:
    """Loops over the elements of operands: a version for contiguous ones, one for any."""

    def __init__(self, kernel: NativeKernel, routines: Routines, scalar: str) -> None:
        self.kernel = kernel
        self.tables = {o.name for o in kernel.outputs if _PLACES in o.dims}
        if len(self.tables) < len(kernel.outputs):
            raise Unlowerable("the results of a kernel with updates are tables")
        self.body = Instructions()
        self.scalars = ScalarLowering(self.body, scalar, routines)
        self.memory = Memory(self.body, self.scalars.width)
        self.body.label("entry")
        self.arrays = Arrays(self.memory, kernel)
        # No two elements of a row change the same element of a table of rows.
        self.parallel = all([_ALONG in o.dims for o in kernel.outputs])
        self.follow = False
        self.places: dict[str, str] = {}
        self.pointers: dict[str, str] = {}
        self.known: dict[Expr, ScalarOperand] = {}

    def module(self) -> str:
        body = self.body
        along = [o for o in self.kernel.operands if o.dims and o.dims[-1] == self._innermost()]
        body.put(f"br i1 {self.arrays.follow(along)}, label %contiguous, label %strided")
        for version in ("contiguous", "strided"):
            body.label(version)
            self.follow = version == "contiguous"
            with self.memory.over("0", self.arrays.outer) as outer:
                self.pointers = self.arrays.pointers(outer)
                self._loops()
            body.put("ret i32 0")
        return self.memory.module()

    def _innermost(self) -> str:
        return _ALONG if _ALONG in self.arrays.sizes else _EACH

    def _loops(self) -> None:
        dims = [dim for dim in (_EACH, _ALONG) if dim in self.arrays.sizes]
        self.known = {Name(_PLACES): Value(self.arrays.sizes[_PLACES], Kind.LONG)}
        with ExitStack() as stack:
            for depth, dim in enumerate((None, *dims)):
                if dim is not None:
                    parallel = dim == _ALONG and self.parallel
                    loop = self.memory.over("0", self.arrays.sizes[dim], parallel=parallel)
                    self.places[dim] = stack.enter_context(loop)
                self._load(set(dims[:depth]))
            for name, expr in self.kernel.statements:
                self.known[Name(name)] = self._value(expr)
            for table, expr in self.kernel.updates:
                self._update(table, expr)

    def _load(self, within: set[str]) -> None:
        """Read the operands that are known as soon as these loops are entered."""
        for operand in self.kernel.inputs:
            if Name(operand.name) not in self.known and set(operand.dims) <= within:
                self.known[Name(operand.name)] = self._element(operand.name, self.places)

    def _element(self, name: str, places: dict[str, str]) -> Value:
        return self.memory.load(self.arrays.operand(name), self._at(name, places), parallel=self.parallel)

    def _at(self, name: str, places: dict[str, str]) -> str:
        operand = self.arrays.operand(name)
        follow = self.follow and operand.dims[-1:] == (self._innermost(),)
        return self.arrays.at(name, self.pointers[name], places, follow)

    def _update(self, table: Subscript, expr: Expr) -> None:
        assert isinstance(table.value, Name)
        name = table.value.id
        value = self._value(expr)
        operand = self.arrays.operand(name)
        text = self.scalars.stored(value, operand)
        self.memory.store(operand, text, self._at(name, self._picked(table)), parallel=self.parallel)
        self.known.pop(table, None)

    def _picked(self, table: Subscript) -> dict[str, str]:
        assert isinstance(table.value, Name)
        name = table.value.id
        index = self.scalars.value(self._value(table.index), Kind.LONG)
        return {**self.places, self.arrays.operand(name).dims[0]: self.arrays.place(name, index)}

    def _value(self, expr: Expr) -> ScalarOperand:
        if expr not in self.known:
            match expr:
                case Subscript(Name(name)) if name in self.arrays.numbers:
                    self.known[expr] = self._element(name, self._picked(expr))
                case _:
                    self.known[expr] = self.scalars.computed(expr, self._value)
        return self.known[expr]
