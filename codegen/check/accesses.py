"""Check: bodies of operators that read or write at indices.

    over self[dim: m], index[dim: n], src[dim: n]
    out[index] = out[index] + src

The first line says what is read or changed, where the indices are, and what is written; the second how.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...ir.accesses import ALONG, FLAT, SET, SLICES, SUM, Access, is_number
from ...ir.expressions import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Elements,
    Expr,
    Name,
    Operation,
    Slice,
    Starred,
    Subscript,
    walk,
)
from ...ir.reader import read_expression
from ...ir.writer import write
from ..model.diagnostics import Report, one_of, suggestion
from ..model.schema import Schema
from ..model.source import Located
from ..read.functions import FunctionIndex
from .body_text import RESULT, BodyReader

_HEAD = "over self[dim: m], index[dim: n], over self[dim: m], index[n], or over self[m], index[n]"
_READS, _WRITES = f"{RESULT} = self[index]", f"{RESULT}[index] = src"
#: What a first line names, each with its dims.
_OPERANDS = re.compile(r"\w+(?:\([^()]*\))?\s*\[")
#: A line that writes at an index, or is what stands there.
_AT_INDEX = re.compile(rf"^\s*(?:\w+\s*\[[^\]]*\]\s*=|{RESULT}\s*=\s*\w+\s*\[\s*[^\W\d]\w*\s*\])")
_ZEROS, _REDUCED, _COUNT = "zeros", "reduced", "count"
_SIZES = ("int[]", "SymInt[]")
_NUMBERS = ("Scalar", "float", "int", "bool")
#: How writes meet, as functions of what stands there and what is written.
_FOLDS = {"max": "amax", "min": "amin"}
_ARITHMETIC = {"+": SUM, "*": "prod"}


def is_access(body: Located) -> bool:
    """Whether a body reads or writes at indices: it has several operands, and a line with an index."""
    head, _, lines = str(body.value).partition("\n")
    return len(_OPERANDS.findall(head)) > 1 and _AT_INDEX.match(lines) is not None


def read_access(
    schema: Schema, located: Located, functions: FunctionIndex | None, report: Report
) -> Access | None:
    """The body that a text says; None where it is wrong, which is reported."""
    return _AccessReader(schema, located, functions, report).access()


class _AccessReader(BodyReader):
    """Reads one body."""

    head = _HEAD

    def __init__(
        self, schema: Schema, located: Located, functions: FunctionIndex | None, report: Report
    ) -> None:
        super().__init__(schema, located, functions, report)
        self.types = {a.name: str(a.type) for a in schema.arguments}
        #: What has indices' dims in the place of the dim, and what lines say of the writes.
        self.spread: set[str] = set()
        self.extents: tuple[Expr, ...] = ()
        self.skipped = ""
        self.by_count: Expr = Constant(False)

    def access(self) -> Access | None:
        """The body, if all of it is right."""
        if (found := self.parsed()) is None:
            return None
        over, lines = found
        operands = over.elements if isinstance(over, Elements) else ()
        if not 2 <= len(operands) <= 3:
            self.wrong("a body begins with what is read or changed, and the indices", 0, _HEAD)
            return None
        if len(lines) != 1:
            at = lines[1][0] if lines else 0
            self.wrong("a body says in one line what is read or written", at, f"{_READS}, or {_WRITES}")
            return None
        self.operands(operands)
        return self.line(*lines[0]) if self.good else None

    # -- the first line ----------------------------------------------------------------------------

    def operands(self, operands: Sequence[Expr]) -> None:
        """Read what is read or changed, the indices, and what is written."""
        names, dims, keeps = zip(*[self.operand(o) for o in operands], strict=True)
        if not self.good:
            return
        self.keeps: Expr = keeps[1]
        self.whole = names[1] in self.spread
        self.base, self.index, self.source = names[0], names[1], names[2] if len(names) > 2 else ""
        self.zeros = isinstance(operands[0], Subscript) and isinstance(operands[0].value, Call)
        self.dim, self.check = self.dim_of(dims[0])
        if not self.good:
            return
        of_index, along = dims[1], self.dim and read_expression(self.dim)
        self.kind = SLICES if self.dim and of_index is None else ALONG if self.dim else FLAT
        if of_index is not None and of_index != along:
            self.wrong(
                "indices are along the same dim, or one vector", of_index, f"{self.index}[{self.dim}: n]"
            )
        if (self.whole and not self.dim) or self.spread - {self.index, self.source}:
            expected = "over self[dim: m], index[*n], src[*n]"
            self.wrong("indices of any shape stand in the place of a dim", operands[1], expected)
        if self.whole and self.source and self.source not in self.spread:
            self.wrong("what is written has the dims of the indices", operands[2], f"{self.source}[*n]")
        elif self.source and not self.whole and (dims[2] or "") != along:
            expected = f"{self.source}[{self.dim}: n]" if self.dim else f"{self.source}[n]"
            self.wrong("what is written is along the same dim", operands[2], expected)
        if keeps[0] != Constant(True) or len({*keeps[1:]}) > 1:
            expected = "indices and what is written have the dim, or have lost it, together"
            self.wrong("this has another size along the dim", operands[-1], expected)
        if self.check and self.good:
            self.checked(dims[0])
        self.all_named()

    def operand(self, expr: Expr) -> tuple[str, Expr | None, Expr]:
        """The name of an operand, the dim that it is along, or None, and whether it has that."""
        match expr:
            case Subscript(Name(name), index):
                if name not in self.tensors:
                    help = suggestion(name, self.tensors)
                    self.wrong(f'"{name}" is no Tensor argument', expr, one_of(self.tensors), help)
            case Subscript(Call(Name(function), sizes, ()), index) if function == _ZEROS:
                name = self.zeros_of(sizes, expr)
            case _:
                self.wrong("this is no operand", expr, _HEAD)
                return "", None, Constant(True)
        match index:
            case Name():
                return name, None, Constant(True)
            case Elements("tuple", (Starred(Name()),)):
                self.spread.add(name)
                return name, None, Constant(True)
            case Slice(lower, size, None) if lower is not None and size is not None:
                return name, lower, self.keeps_dim(name, size)
        self.wrong("a dim has a name for its size", expr, f"{name}[dim: m], or {name}[m]")
        return name, None, Constant(True)

    def zeros_of(self, sizes: tuple[Expr, ...], at: Expr) -> str:
        """The argument that lists these sizes of zeros, or "" where they are one by one."""
        match sizes:
            case (Name(name),) if self.types.get(name) in _SIZES:
                return name
        if not sizes or not all(map(self.is_size, sizes)):
            lists = [n for n, t in self.types.items() if t in _SIZES]
            expected = f"{one_of(lists) if lists else 'an argument SymInt[]'}, or sizes one by one"
            self.wrong("these are no sizes of zeros", at, expected)
        self.extents = sizes
        return ""

    def is_size(self, expr: Expr) -> bool:
        """Whether it is one size of zeros: an argument, or that of a Tensor along a dim."""
        match expr:
            case Name(name):
                return self.types.get(name) in ("int", "SymInt")
            case Subscript(Attribute(Name(name), "shape"), dim):
                return name in self.tensors and is_number(write(dim))
        return False

    def keeps_dim(self, name: str, size: Expr) -> Expr:
        """Whether a dim of such a size is there: not where it is 1."""
        match size:
            case Name():
                return Constant(True)
            case Constant(1):
                return Constant(False)
            case Conditional(Name(keeps) as argument, Name(), Constant(1)):
                if self.types.get(keeps) != "bool":
                    known = [n for n, t in self.types.items() if t == "bool"]
                    expected = one_of(known) if known else "an argument bool keepdim"
                    self.wrong(f'"{keeps}" is no bool argument', size, expected, suggestion(keeps, known))
                return argument
        expected = f"{name}[dim: n], {name}[dim: 1], or {name}[dim: n if keepdim else 1]"
        self.wrong("this is no size", size, expected)
        return Constant(True)

    def dim_of(self, dim: Expr | None) -> tuple[str, str]:
        """The argument that says the dim, and the function that checks it, in whose call the argument is."""
        given = dim.arguments if isinstance(dim, Call) else () if dim is None else (dim,)
        numbers = [a.id for a in given if isinstance(a, Name) and self.types.get(a.id) in ("int", "SymInt")]
        numbers += [text for a in given if not isinstance(a, Name) and is_number(text := write(a))]
        if dim is not None and len(numbers) != 1:
            known = [n for n, t in self.types.items() if t in ("int", "SymInt")]
            help = suggestion(dim.id, known) if isinstance(dim, Name) else ""
            self.wrong(
                "no argument says the dim", dim, one_of(known) if known else "an argument int dim", help
            )
            return "", ""
        function = dim.function.id if isinstance(dim, Call) and isinstance(dim.function, Name) else ""
        return (numbers[0] if numbers else ""), function

    def checked(self, call: Expr | None) -> None:
        """Report a check of no kernel function, or of other arguments than checks are given."""
        assert isinstance(call, Call)
        if self.functions is not None and not self.functions.find(self.check):
            help = suggestion(self.check, self.functions.names())
            expected = "a function of runtime/kernels/ that checks arguments and gives the dim"
            self.wrong(f'unknown function "{self.check}"', call, expected, help)
        values = (
            [self.source] if self.source else [n for n in self.tensors if n not in (self.base, self.index)]
        )
        values = values or [n for n, t in self.types.items() if t == "Scalar"]
        given = [self.base, self.dim, self.index, *values]
        if [write(a) for a in call.arguments[: len(given)]] != given:
            self.wrong("a check is given all operands", call, f"{self.check}({', '.join(given)})")

    def all_named(self) -> None:
        """Report Tensors that the first line leaves out, but for one without dims that is written."""
        left = [n for n in self.tensors if n not in (self.base, self.index, self.source)]
        if left and (self.source or len(left) > 1):
            self.wrong(f'"{left[0]}" is not in the first line', 0, "each Tensor argument, with its dims")

    # -- the second line ---------------------------------------------------------------------------

    def line(self, target: Expr, value: Expr) -> Access | None:
        """The body of this line."""
        corner = ""
        match target:
            case Name(name) if name == RESULT:
                corner = self.read(value)
                source = factor = ""
                fold: Expr = Constant(SET)
                include: Expr = Constant(True)
                single = False
            case Subscript(Name(name), Name(index)) if (name, index) == (RESULT, self.index):
                self.include: Expr = Constant(True)
                self.written: set[str] = set()
                self.factors: set[str] = set()
                fold = self.fold(value)
                if self.kind != SLICES and (self.skipped or self.by_count != Constant(False)):
                    self.wrong("whole slices are left out, or divided", value, f"{self.index}[n]")
                if not self.good:
                    return None
                (source,) = self.written
                factor, include = next(iter(self.factors), ""), self.include
                single = source != self.source
                self.check_single(value, single, fold)
            case _:
                self.wrong("this is neither read nor written", target, f"{_READS}, or {_WRITES}")
        if not self.good:
            return None
        return Access(
            self.kind, self.base, self.zeros, self.dim, self.check, self.index, source, single, fold, include,
            factor, corner, self.keeps, self.whole, self.extents, self.skipped, self.by_count,
        )  # fmt: skip

    def check_single(self, value: Expr, single: bool, fold: Expr) -> None:
        """Report one number, or a Tensor without dims, where that cannot be written."""
        if single and self.kind == SLICES and fold != Constant(SET):
            self.wrong("slices are filled with a number, and not changed by it", value, "a Tensor of slices")
        if single and self.zeros:
            self.wrong("zeros are of the dtype of a Tensor that is written", value, "a Tensor")

    def read(self, value: Expr) -> str:
        """The sizes of the zeros in whose corner it stands what is read."""
        corner = ""
        match value:
            case Operation("in", (read, Call(Name(function), (Name(sizes),), ()))) if function == _ZEROS:
                value, corner = read, sizes
                if self.types.get(sizes) not in _SIZES or self.kind != ALONG or self.keeps != Constant(True):
                    self.wrong(
                        "zeros have sizes that an argument lists, along a dim", value, "SymInt[] sizes"
                    )
        if value != Subscript(Name(self.base), Name(self.index)) or self.source or self.zeros:
            self.wrong("this reads no operand at the indices", value, f"{RESULT} = {self.base}[{self.index}]")
        return corner

    def fold(self, value: Expr) -> Expr:
        """How writes meet what stands there, of what is on the right side."""
        there = Subscript(Name(RESULT), Name(self.index))
        match value:
            case Conditional(Operation("!=", (Name(index), Name(skipped))), then, otherwise) if (
                index == self.index and otherwise == there and self.types.get(skipped) in ("int", "SymInt")
            ):
                self.skipped = skipped
                return self.fold(then)
            case Conditional(condition, then, otherwise):
                self.condition(condition)
                return Conditional(condition, self.fold(then), self.fold(otherwise))
            case Operation(symbol, (left, written)) if symbol in _ARITHMETIC and left == there:
                self.value(written, symbol == "+")
                return Constant(_ARITHMETIC[symbol])
            case Call(Name(name), (left, written), ()) if name in _FOLDS and left == there:
                self.value(written)
                return Constant(_FOLDS[name])
            case Call(Name(name), (left, written, Name(how), include), ()) if (
                name == _REDUCED and left == there
            ):
                self.value(written)
                self.include = include
                self.condition(include)
                if self.types.get(how) != "str":
                    words = [n for n, t in self.types.items() if t == "str"]
                    self.wrong(
                        "a str argument says how it is reduced",
                        value,
                        one_of(words) if words else "str reduce",
                    )
                return Name(how)
        self.value(value)
        return Constant(SET)

    def value(self, expr: Expr, scaled: bool = False) -> None:
        """Report what is no operand that may be written."""
        single = [n for n in self.types if self.types[n] in _NUMBERS and n != self.dim]
        if self.kind == SLICES:
            single += [n for n in self.tensors if n not in (self.base, self.index, self.source)]
        known = [self.source] if self.source else single
        match expr:
            case Conditional(condition, then, otherwise) if scaled and self.is_counted(then):
                self.condition(condition)
                self.by_count = condition
                self.value(otherwise)
                return
            case Operation() if scaled and self.is_counted(expr):
                self.by_count = Constant(True)
                self.written.add(self.source)
                return
        match expr:
            case Name(name) if name in known:
                self.written.add(name)
            case Operation("*", (Name(name), Name(factor))) if (
                scaled and self.kind == SLICES and name == self.source and self.types.get(factor) == "Scalar"
            ):
                self.written.add(name)
                self.factors.add(factor)
            case _:
                there = f"{RESULT}[{self.index}]"
                help = suggestion(expr.id, known) if isinstance(expr, Name) else ""
                expected = f"{one_of(known)}, or {there} with it: by +, *, max, min or {_REDUCED}"
                self.wrong("this cannot be written at indices", expr, expected, help)
        if len(self.written) > 1:
            self.wrong("all ways write the same", expr, one_of(sorted(self.written)))

    def is_counted(self, expr: Expr) -> bool:
        """Whether it is what is written, divided by how often its index is there."""
        return expr == Operation("/", (Name(self.source), Call(Name(_COUNT), (Name(self.index),), ())))

    def condition(self, expr: Expr) -> None:
        """Report a condition that asks for more than arguments that are no Tensors."""
        known = [n for n in self.types if n not in self.tensors]
        for part in walk(expr):
            if isinstance(part, Name) and part.id not in known:
                help = suggestion(part.id, known)
                self.wrong(f'"{part.id}" is no argument that says how to write', part, one_of(known), help)
