"""Native kernels: what stands between operators and machine code, over scalars, rows or tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from .expressions import Expr, Name, Subscript, replaced

#: The scalar types that native kernels are made for.
SCALARS = ("float32", "float64")
#: Those that are computed in float32.
REDUCED = ("float16", "bfloat16")
_DTYPES = ("number", "bool", "int64", "float32", "float64", *REDUCED)
_OPERAND = re.compile(r"(\w+)(?:\[([klmn]|[klm], n|h, w|(?:i, j, )?p, q)\])?(?::(\w+))?")


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand or a result of a kernel, as it is written: ``x``, ``x[n]``, ``x[m, n]``, ``index:int64``."""

    name: str
    dims: tuple[str, ...] = ()  # those that the kernel works along: n, m, k, l; of images h, w, i, j, p, q
    dtype: str = ""  # of _DTYPES, "number" being one for all elements; else the kernel's own

    @classmethod
    def read(cls, text: str) -> Operand:
        """Of the text. Raises ValueError."""
        found = _OPERAND.fullmatch(text)
        if found is None or found[3] not in (None, *_DTYPES):
            raise ValueError(f"{text!r} is no operand of a kernel")
        return cls(found[1], tuple(found[2].split(", ")) if found[2] else (), found[3] or "")

    def of_dtype(self, dtype: str) -> Operand:
        """The same with this dtype, if it has none of its own."""
        return self if self.dtype else replace(self, dtype=dtype)

    @property
    def is_row(self) -> bool:
        """Whether it has an element for each place along n, and is nothing else."""
        return self.dims == ("n",)

    def __str__(self) -> str:
        dims = f"[{', '.join(self.dims)}]" if self.dims else ""
        return f"{self.name}{dims}{f':{self.dtype}' if self.dtype else ''}"


@dataclass(frozen=True, slots=True)
class NativeKernel:
    """A kernel: its operands, its results, and the statements that compute these.

    Without dims it is elementwise. With rows, along n, statements may use reductions of them: ``sum(x)``.
    Where elements along m are used as such, these are reduced, and there is a result for each place along n,
    or for each element; but where nothing is along n alone, rows are along both, and reduced along both.
    What is only read or written at an index, ``x[index]``, is a table, along m or along m and n. Updates
    change tables among the results, for each k and n in turn, and may read tables of another size, along l;
    or they change elements of rows, when these are computed.
    Over the windows of images, along h and w, results are along p and q, or also along the taps i and j.
    """

    name: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    statements: tuple[tuple[str, Expr], ...]
    updates: tuple[tuple[Subscript, Expr], ...] = ()
    wide: bool = False  # whether all is computed in float64

    def of_float32(self) -> NativeKernel:
        """A wide kernel over float32."""
        inputs, outputs = [tuple([o.of_dtype("float32") for o in side]) for side in self.sides]
        return replace(self, inputs=inputs, outputs=outputs)

    def reduced(self, dtype: str) -> NativeKernel:
        """The kernel over a reduced dtype: it computes in float32, and rounds what it gives.

        The numbers that it takes are float32.
        """
        inputs = [o.of_dtype(dtype if o.dims else "float32") for o in self.inputs]
        outputs = [o.of_dtype(dtype) for o in self.outputs]
        return replace(self, name=f"{self.name}_{dtype}", inputs=tuple(inputs), outputs=tuple(outputs))

    @property
    def defined(self) -> dict[str, Expr]:
        """What each statement gives its name to, as an expression of operands alone."""
        known: dict[str, Expr] = {}
        for name, expr in self.statements:
            known[name] = replaced(expr, known)
        return known

    @property
    def is_elementwise(self) -> bool:
        return not any([o.dims for o in self.operands])

    @property
    def is_over_windows(self) -> bool:
        """Whether it has results for the places of windows."""
        return any(["q" in o.dims for o in self.outputs])

    @property
    def updates_rows(self) -> bool:
        """Whether updates change elements of rows that statements compute."""
        computed = dict(self.statements)
        return any([isinstance(t.value, Name) and t.value.id in computed for t, _ in self.updates])

    @property
    def is_over_columns(self) -> bool:
        """Whether it reduces along m."""
        used = {n.id for _, expr in self.statements for n in _used_whole(expr)}
        return any(["m" in o.dims and o.name in used for o in self.inputs])

    @property
    def is_over_planes(self) -> bool:
        """Whether rows have places along m and n: these are used as such, and nothing is along n alone."""
        return self.is_over_columns and all([o.dims in ((), ("m", "n")) for o in self.operands])

    def side_by_side(self, numbers: Collection[str], ending: str) -> NativeKernel:
        """A kernel over rows as one over columns; ``numbers`` are operands that are the same for all rows."""

        def turned(o: Operand) -> Operand:
            return o if o.name in numbers else replace(o, dims=("m", *o.dims) if o.dims else ("n",))

        inputs, outputs = [tuple(map(turned, side)) for side in self.sides]
        statements = tuple([(target, replaced(expr, {"n": Name("m")})) for target, expr in self.statements])
        return replace(self, name=self.name + ending, inputs=inputs, outputs=outputs, statements=statements)

    def in_parts(self, ending: str) -> NativeKernel:
        """A kernel over rows as one over rows along two dims."""
        sides = [[replace(o, dims=("m", *o.dims)) if o.dims else o for o in side] for side in self.sides]
        return replace(self, name=self.name + ending, inputs=tuple(sides[0]), outputs=tuple(sides[1]))

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Those and the results, in the order of a ufunc's arguments."""
        return (*self.inputs, *self.outputs)

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims in the order of the signature, in which NumPy gives their sizes."""
        return tuple(dict.fromkeys([d for o in self.operands for d in o.dims]))

    @property
    def signature(self) -> str:
        """The signature of a generalised ufunc; empty of an elementwise one."""
        if self.is_elementwise:
            return ""
        inputs, outputs = [",".join([f"({','.join(o.dims)})" for o in of]) for of in self.sides]
        return f"{inputs}->{outputs}"

    @property
    def sides(self) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
        return self.inputs, self.outputs


def _used_whole(expr: Expr) -> Iterator[Name]:
    """The names in an expression, save of what is picked from by an index."""
    match expr:
        case Name():
            yield expr
        case Subscript(Name(), index):
            yield from _used_whole(index)
        case _:
            for part in expr.parts:
                yield from _used_whole(part)
