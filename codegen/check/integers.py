"""Check: what bodies that say by integers where elements are from have in common.

The first line says along which dims, and what numbers go with each; integers are expressions of places,
sizes, such numbers and arguments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ...ir.expressions import (
    ELEMENTWISE_COMPARISONS,
    Call,
    Chain,
    Conditional,
    Constant,
    Elements,
    Expr,
    Logical,
    Name,
    Operation,
    Slice,
    Subscript,
)
from ...ir.moves import INTEGERS
from ..model.diagnostics import Report, one_of, suggestion
from ..model.schema import Argument, Schema
from ..model.source import Located
from ..read.fields import report_scalar
from ..read.functions import FunctionIndex
from .body_text import BodyReader
from .reserved import is_called

_OPERATORS = frozenset({"+", "-", "*", "//", "%", "-x"})
#: The types of lists of ints.
LIST = re.compile(r"(?:Sym)?Int\[\d*\]", re.I)
_INTEGER = ("int", "SymInt", "bool")
#: How many operands the functions take; None for two and more.
_OPERANDS = {"min": None, "max": None, "abs": 1, "where": 3}
_MORE = "arithmetic by + - * // %, comparisons, and, or, min, max, abs and where(condition, a, b)"


class IntegerReader(BodyReader):
    """Reads the parts of one body."""

    #: What bodies of the kind are called, and how they begin.
    what = "a body that moves elements"
    head = "over self[dims: n], or over self[-2: m, -1: n]"
    #: What the functions of kernels give that it calls.
    gives = "dims"

    functions: FunctionIndex

    def __init__(self, schema: Schema, located: Located, functions: FunctionIndex, report: Report) -> None:
        super().__init__(schema, located, functions, report)
        self.arguments = {a.name: a for a in schema.arguments}
        self.lists = {a.name for a in schema.arguments if LIST.fullmatch(str(a.type))}
        self.integers = {a.name for a in schema.arguments if str(a.type) in _INTEGER}
        self.used: set[str] = set()
        self.source, self.each = "", False
        self.dims: list[Expr] = []
        self.sizes: list[str] = []
        #: What the body calls sizes, numbers and places.
        self.names: set[str] = set()

    def read(self) -> tuple[Sequence[Expr], Sequence[tuple[Expr, Expr]]] | None:
        """What stands behind the operand in the first line, and the assignments; None for no body."""
        if (found := self.parsed()) is None:
            return None
        over, lines = found
        operand, *lists = over.elements if isinstance(over, Elements) and over.kind == "tuple" else (over,)
        if operand is None or not self.operand(operand):
            if self.good:
                report_scalar(self.located, "a body begins with what it is over", self.head, self.report)
            return None
        return lists, lines

    def operand(self, expr: Expr) -> bool:
        """Read ``self[dims: n]``; whether it is that."""
        match expr:
            case Subscript(Name(source), index):
                parts = index.elements if isinstance(index, Elements) else (index,)
            case _:
                return False
        if not self.of_source(source, expr):
            return False
        for part in parts:
            match part:
                case Slice(lower, Name(size), None) if lower is not None:
                    self.dims.append(lower)
                    self.sizes.append(size)
                    self.fresh(size, part)
                case _:
                    self.wrong("a dim has a name for its size", part, self.head)
        return self.good and self.dims_are_right()

    def of_source(self, source: str, at: Expr) -> bool:
        """Whether this is the only Tensor argument."""
        if [source] != self.tensors:
            expected = f"over {one_of(self.tensors)}[dims: n], the only Tensor of the operator"
            self.wrong(f'"{source}" is not the only Tensor argument', at, expected)
            return False
        self.source = source
        return True

    def is_one(self, lines: Sequence[tuple[Expr, Expr]]) -> bool:
        """Whether there is one line behind the first."""
        if len(lines) != 1:
            at = lines[1][0] if lines else 0
            self.wrong("a body says in one line where all is from", at, "out[k in n] = self[n - 1 - k]")
        return len(lines) == 1

    def is_each(self) -> bool:
        """Whether the body is the same for each of the dims."""
        return len(self.dims) == 1 and not is_number(self.dims[0])

    def named_dims(self, dims: Expr, known: Collection[str] = ()) -> bool:
        """Whether an argument, or a function, says the dims."""
        match dims:
            case Name(name):
                if name not in self.lists | self.integers:
                    help = suggestion(name, self.lists | self.integers)
                    self.wrong(f'"{name}" is no argument for dims', dims, "an int, or a list of them", help)
                self.used.add(name)
            case Call(Name(), _, ()):
                self.function(dims, self.gives, known)
            case _:
                self.wrong("this says no dims", dims, "an argument, a function of kernels, or numbers")
        return self.good

    def dims_are_right(self) -> bool:
        """Whether the first line says dims; else it is reported."""
        raise NotImplementedError

    def function(self, call: Call, gives: str, known: Collection[str] = ()) -> None:
        """Report a call of no kernel function, or of one with what is no argument, or known name."""
        assert isinstance(call.function, Name)
        name = call.function.id
        found = self.functions.find(name)
        if len(found) != 1:
            help = suggestion(name, self.functions.names())
            message = f'there are several functions "{name}"' if found else f'unknown function "{name}"'
            self.wrong(message, call, f"a function of runtime/kernels/ that gives {gives}", help)
            return
        arity = found[0].arity()
        problem = None if arity is None else arity.problem(len(call.arguments), ())
        if problem is not None:
            self.wrong(f"{name} {problem}", call, f"what {name} takes, with {self.source} for its shape")
        for argument in call.arguments:
            if isinstance(argument, Name) and argument.id in self.arguments:
                self.used |= {argument.id} - {self.source}
            elif not (
                is_number(argument)
                or (isinstance(argument, Constant) and isinstance(argument.value, bool))
                or (isinstance(argument, Name) and argument.id in known)
            ):
                self.wrong("this is no argument", argument, one_of([*self.arguments, *known, "a number"]))

    def fresh(self, name: str, at: Expr) -> None:
        """Report a name that means something already, or that generated code uses."""
        if name in {*self.arguments, *INTEGERS, *self.names} or is_called(name):
            self.wrong(f'"{name}" is taken', at, "another name")
        self.names.add(name)

    def integer(self, expr: Expr, known: Collection[str], what: str) -> None:
        """Report what is no expression of integers: of these names, arguments and elements of lists."""
        match expr:
            case Constant(int()):
                return
            case Name(name):
                self.name(expr, name, known, what)
                return
            case Subscript(Name(name), Constant(int())) if name in self.lists:
                self.used.add(name)
                return
            case Call(Name(name), arguments, ()) if name in INTEGERS:
                count = _OPERANDS[name]
                if len(arguments) != (count or max(2, len(arguments))):
                    self.wrong(f"{name} takes {count or 'two and more'} operands", expr)
                parts: tuple[Expr, ...] = arguments
            case Call(Name(name)):
                expected = one_of(INTEGERS)
                self.wrong(
                    f'unknown function "{name}" in the body', expr, expected, suggestion(name, INTEGERS)
                )
                return
            case Operation(symbol, parts) if symbol in _OPERATORS or symbol in ELEMENTWISE_COMPARISONS:
                pass
            case Operation("not x" | "/" as symbol):
                other = "// for whole numbers" if symbol == "/" else "the opposite comparison"
                self.wrong(f'{self.what} has no "{symbol.removesuffix(" x")}"', expr, other)
                return
            case Chain(_, parts) | Logical(_, parts):
                pass
            case Conditional():
                self.wrong("places choose by a function", expr, "where(condition, a, b)")
                return
            case _:
                self.wrong(f"{self.what} has no {type(expr).__name__.lower()}", expr, _MORE)
                return
        for part in parts:
            self.integer(part, known, what)

    def name(self, expr: Expr, name: str, known: Collection[str], what: str) -> None:
        """Report a name that is none of the integers that are known here."""
        if name in self.integers:
            self.used.add(name)
        elif name in self.lists:
            self.wrong(f'"{name}" is a list', expr, f"{name}[0], or a name that goes with each dim")
        elif name not in known:
            argument: Argument | None = self.arguments.get(name)
            if argument is not None:
                self.wrong(f'"{name}" is no integer', expr, f"an integer: {what}")
                return
            close = suggestion(name, {*known, *self.integers})
            self.wrong(
                f'unknown name "{name}" in the body', expr, f"what says {what}: {one_of(known)}", close
            )


def is_number(expr: Expr) -> bool:
    match expr:
        case Constant(int() as value):
            return not isinstance(value, bool)
        case Operation("-x", (Constant(int()),)):
            return True
    return False
