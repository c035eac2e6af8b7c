"""Check: bodies, what operators compute over rows.

    over self[dim: n]
    e = exp(self - max(self))
    out = e / sum(e)

The first line says along which dim rows are, or has a name for each dim (``named_dims``). Assignments follow,
the results among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ...ir.bodies import (
    ASKED,
    AXIS,
    COLUMN_SUM,
    CONSTANT,
    CONSTANTS,
    DOWN,
    FOLD,
    KEEPDIM,
    LENGTH,
    MASK,
    PLACES,
    REDUCTIONS,
    SCAN,
    Along,
    Body,
    Kind,
    is_number,
)
from ...ir.expressions import (
    ELEMENTWISE_COMPARISONS,
    Call,
    Conditional,
    Constant,
    Expr,
    Name,
    Operation,
    Subscript,
    names_in,
)
from ...ir.lower.reductions import NAMES as NATIVE_REDUCTIONS
from ...ir.named_dims import Dims, NamedDims, names_of
from ...ir.reader import read_assignments
from ...ir.scans import AFTER, BEFORE, NAMES as SCANS, PLACE, REVERSE, Scan
from ..model.diagnostics import Report, one_of, suggestion
from ..model.operators import Primitive
from ..model.schema import Schema
from ..model.source import Located
from ..read.fields import report_scalar
from ..read.functions import FunctionIndex
from .body_text import RESULT
from .named_dims import HEAD, is_named, read_dims, read_head
from .reserved import is_called

_HEAD = re.compile(
    r"over (\w+\[\w+: \w+\](?:, \w+\[(?:\w+: )?\w+\])*|\w+\[\w+\](?:, \w+\[\w+\])*)( in float64)?\s*(?:\n|$)"
)
_OPERAND = re.compile(r"(\w+)\[(?:(\w+): )?(\w+)\]")
_OPERATORS = frozenset({"+", "-", "*", "/", "**", "-x", *ELEMENTWISE_COMPARISONS})
_NUMBERS = ("float", "int", "Scalar")
#: The argument that says in which dtype rows are taken.
_DTYPE = "dtype"
#: The types of arguments that say over which dims rows are.
_DIMS = {
    "int": Along.ONE,
    "int?": Along.SEVERAL,
    "int[]": Along.SEVERAL,
    "int[1]": Along.SEVERAL,
    "int[1]?": Along.SEVERAL,
    "int[]?": Along.LISTED,
}


def follows_of_rows(schema: Schema, body: Located) -> dict[str, Located]:
    """The fields of an entry that follow from such a body, where the entry says nothing else."""
    head = _HEAD.match(str(body.value))
    operands = [] if head is None else _OPERAND.findall(head[1])
    dim = operands[0][1] if operands else ""
    dims = _dims(schema)
    if dim and dim not in dims:
        return {}
    one = {"dims": Located(dim, body.place)}
    rules = {Along.ONE: one, Along.SEVERAL: "reduction", Along.SIZES: "leading"}
    layout = tuple([Located("contiguous", body.place) for _ in schema.returns])
    follows = {
        "dtypes": Located("floating, reduced", body.place),
        "layout": layout[0] if len(layout) == 1 else Located(layout, body.place),
    }
    # What rows share may be batched or not, and sums over rows are not over batches.
    of_rows = all([dims.get(dim) in rules or (not dim and length == DOWN) for _, dim, length in operands])
    if operands and of_rows and COLUMN_SUM not in str(body.value):
        follows["batching"] = Located(rules[dims[dim]], body.place)
    return follows


def result_of(body: Body, of_floats: bool) -> str:
    """How the dtypes of results follow, as `result` says it. ``of_floats``: it computes in nothing else."""
    kinds = {*body.kinds}
    if kinds == {Kind.REAL} and not of_floats:
        return "real"
    if kinds in ({Kind.CONDITION}, {Kind.INT64}):
        return next(iter(kinds)).value
    totals = (
        {Kind.TOTAL, Kind.REAL_TOTAL, Kind.MEAN, Kind.RUNNING, Kind.COLUMNS}
        if of_floats and not body.takes_dtype
        else set()
    )
    own = {Kind.OWN, Kind.REAL} if of_floats else {Kind.OWN}
    return "same" if kinds <= own | totals else "dynamic"


def _dims(schema: Schema) -> dict[str, Along]:
    """The arguments that may say over which dims rows are, and how."""
    kinds = {a.name: str(a.type) for a in schema.arguments}
    known = {"SymInt[]": Along.SIZES, **_DIMS}
    found = {
        name: known.get(kind) or known.get(kind.replace("SymInt", "int")) for name, kind in kinds.items()
    }
    return {name: along for name, along in found.items() if along is not None}


def body_of(
    schema: Schema,
    located: Located,
    primitives: Mapping[str, Primitive],
    report: Report,
    functions: FunctionIndex | None = None,
) -> Body | None:
    """The body that a text says; None where it is wrong, which is reported."""
    return _BodyReader(schema, located, primitives, report, functions).body()


class _BodyReader:
    """Reads one body."""

    def __init__(
        self,
        schema: Schema,
        located: Located,
        primitives: Mapping[str, Primitive],
        report: Report,
        functions: FunctionIndex | None,
    ) -> None:
        self.schema, self.located, self.primitives, self.report = schema, located, primitives, report
        self.functions = functions
        #: Numbers that functions of kernels give.
        self.computed: dict[str, Expr] = {}
        self.numbers = {LENGTH} | {a.name for a in schema.arguments if str(a.type) in _NUMBERS}
        self.tensors = [a.name for a in schema.arguments if a.is_tensor]
        self.optional = {a.name for a in schema.arguments if a.is_tensor and a.type.is_optional}
        #: Those that are there, where the expression stands that is read.
        self.there: set[str] = set()
        self.several = False
        self.rows: tuple[str, ...] = ()
        self.singles: tuple[str, ...] = ()
        self.shared: tuple[str, ...] = ()
        #: Names that are made of rows, and where those are assigned that are not.
        self.of_rows: set[str] = set()
        self.constant: dict[str, int] = {}
        self.known = {*self.tensors, *self.numbers}
        self.named = {r.name for r in schema.returns}
        several = len(schema.returns) > 1
        names = [r.name or (f"{RESULT}{i}" if several else RESULT) for i, r in enumerate(schema.returns)]
        self.results = [f"{name}_" if self.is_function(name) else name for name in names]
        kind = f"bool[{len(names)}]"
        self.masked = any([a.name == MASK and str(a.type) == kind for a in schema.arguments])
        #: The results that are sums over rows.
        self.sums: set[str] = set()
        #: The dims of operands, where they have names, and of such sums.
        self.of_names: NamedDims | None = None
        self.dims_of_sums: dict[str, Dims] = {}
        #: Names that are a place in each row.
        self.places: set[str] = set()
        self.good = True

    def wrong(self, message: str, at: int = 0, length: int = 1, expected: str = "", help: str = "") -> None:
        """Report a mistake."""
        self.good = False
        place = self.located.at(at)
        self.report.error(place, message, length=length, expected=expected, help=help)

    def body(self) -> Body | None:
        """The body, if all of it is right."""
        dim = self.named_head() if is_named(self.located) else self.head()
        if dim is None:
            return None
        text = str(self.located.value)
        head = text.partition("\n")[0]
        try:  # places stay as they are
            read = read_assignments(" " * len(head) + text[len(head) :])
        except SyntaxError as error:
            message = f"it is no list of assignments: {error.msg}"
            report_scalar(self.located, message, "name = expression", self.report)
            return None
        self.numbers.discard(dim)
        along = _dims(self.schema)[dim] if dim else Along.SEVERAL
        self.several = along is not Along.ONE
        statements = tuple([s for target, value in read if (s := self.statement(target, value)) is not None])
        self.check_results(statements)
        mentioned = {name for _, value in statements for name in names_in(value)}
        shared = tuple([name for name in self.shared if name in mentioned])
        singles = tuple([name for name in self.singles if name in mentioned or name not in self.optional])
        numbers = (self.numbers & mentioned) - {LENGTH, *self.singles}
        used = tuple([a.name for a in self.schema.arguments if a.name in numbers])
        keeps, takes_dtype = [any([a.name == n for a in self.schema.arguments]) for n in (KEEPDIM, _DTYPE)]
        made = Body(
            dim,
            along,
            self.rows,
            singles,
            shared,
            tuple([name for name in (*singles, *shared) if name in self.optional]),
            used,
            keeps,
            takes_dtype,
            self.masked,
            statements,
            tuple(self.results),
            self.wide,
            tuple(self.computed.items()),
            self.of_names and replace(self.of_names, sums=tuple(self.dims_of_sums.items())),
        )
        return made if self.good else None

    def named_head(self) -> str | None:
        """The first line where dims have names: "", for no argument says over which dims rows are."""
        self.of_names = read_head(self.schema, self.located, self.wrong)
        if self.of_names is None:
            return None
        text, dims = str(self.located.value), dict(self.of_names.operands)
        if [*dims] != self.tensors:
            expected = f"over {', '.join(f'{name}[...]' for name in self.tensors)}"
            self.wrong(
                "a body is over all tensors of the operator", 0, len(text.partition("\n")[0]), expected
            )
            return None
        self.rows = tuple([name for name in dims if dims[name] == self.of_names.rows])
        self.singles = tuple([name for name in dims if names_of(dims[name]) == self.of_names.by])
        self.shared = tuple([name for name in dims if name not in (*self.rows, *self.singles)])
        self.numbers |= {*self.singles}
        head = HEAD.match(text)
        self.wide = head is not None and head[3] is not None
        for name in [name for name in self.rows if name in self.optional]:
            self.wrong(f'the rows of "{name}" may be None', text.index(f"{name}["), len(name), "a Tensor")
        for name in [a.name for a in self.schema.arguments if a.name in (KEEPDIM, _DTYPE)]:
            self.wrong(f'"{name}" means nothing where dims have names', 0, len(name), "over self[dim: n]")
        return "" if self.good else None

    def head(self) -> str | None:
        """The dim of the first line, which names all tensors."""
        text = str(self.located.value)
        found = _HEAD.match(text)
        if found is None:
            expected = "over self[dim: n], and assignments in the lines below"
            report_scalar(self.located, "a body begins with what it is over", expected, self.report)
            return None
        operands = [_OPERAND.fullmatch(part) for part in found[1].split(", ")]
        names, along, lengths = zip(*[o.groups() for o in operands if o is not None], strict=True)
        dims = [dim for dim in along if dim is not None]
        self.rows = tuple([name for name, dim in zip(names, along, strict=True) if dim or not dims])
        kinds = {name: length for name, length in zip(names, lengths, strict=True) if name not in self.rows}
        self.singles = tuple([name for name, length in kinds.items() if length == DOWN])
        self.shared = tuple([name for name in kinds if name not in self.singles])
        self.numbers |= {*self.singles}
        self.wide = found[2] is not None
        integers = [*_dims(self.schema)]
        end = len(found[0].rstrip())
        if [*names] != self.tensors:
            dim = f"{dims[0]}: " if dims else ""
            expected = f"over {', '.join(f'{name}[{dim}n]' for name in self.tensors)}"
            self.wrong("a body is over all tensors of the operator", 0, end, expected)
        elif {*lengths} - ({DOWN} if self.singles else set()) != {LENGTH} or len({*dims}) > 1:
            self.wrong("all operands of a body have rows along one dim, n long", 0, end, "self[dim: n]")
        elif dims and dims[0] not in integers:
            at, help = text.index(f"[{dims[0]}") + 1, suggestion(dims[0], integers)
            self.wrong(f'"{dims[0]}" is no int argument', at, len(dims[0]), "the argument for a dim", help)
        elif maybe := [name for name in (*self.rows, *self.singles) if name in self.optional]:
            at, expected = text.index(f"{maybe[0]}["), f"{maybe[0]}[n], a row that all rows share"
            what = "rows" if maybe[0] in self.rows else "numbers"
            self.wrong(f'the {what} of "{maybe[0]}" may be None', at, len(maybe[0]), expected)
        return (dims[0] if dims else "") if self.good else None

    def statement(self, target: Expr, value: Expr) -> tuple[str, Expr] | None:
        """An assignment; what it assigns is known from there on."""
        match target:
            case Subscript(Name(name) as result, index) if self.of_names is not None:
                self.dims_of_sums[name], target = self.dims_of_sum(index), result
        if not isinstance(target, Name):
            self.wrong("a body has assignments to names", target.span[0], expected="name = expression")
            return None
        at, length = target.span[0], len(target.id)
        if target.id in self.known or target.id in (LENGTH, *CONSTANTS):
            what = "an argument" if target.id in {*self.tensors, *self.numbers} else "known"
            self.wrong(f'"{target.id}" is {what} already', at, length, "another name: none is assigned twice")
            return None
        if self.is_function(target.id):
            expected = f"{target.id}_, which is the result" if target.id in self.named else "another name"
            self.wrong(f'"{target.id}" is a function', at, length, expected)
            return None
        own = ASKED, AXIS, FOLD, SCAN, BEFORE, AFTER, PLACE, *NATIVE_REDUCTIONS
        if target.id in own or is_called(target.id):
            self.wrong(f'generated code uses the name "{target.id}" itself', at, length, "another name")
            return None
        if self.is_computed(value):
            self.computed[target.id] = value
            self.known.add(target.id)
            self.numbers.add(target.id)
            return None
        self.assigned(target.id, value)
        self.known.add(target.id)
        if self.is_place(value):
            self.places.add(target.id)
        if is_number(value, self.numbers):
            self.numbers.add(target.id)
        if names_in(value) & {*self.rows, *self.singles, *self.of_rows}:
            self.of_rows.add(target.id)
        else:
            self.constant[target.id] = at
        return target.id, value

    def dims_of_sum(self, index: Expr) -> Dims:
        """The dims of a sum over rows, which are among those of the operands."""
        assert self.of_names is not None
        dims, names = read_dims(index, self.wrong), names_of(self.of_names.rows)
        if names_of(dims) != tuple([name for name in names if name in names_of(dims)]):
            expected = f"dims of {self.rows[0]}, in their order: {', '.join(names)}"
            self.wrong(
                "a sum over rows has other dims", index.span[0], index.span[1] - index.span[0], expected
            )
        return dims

    def is_computed(self, value: Expr) -> bool:
        """Whether a function of kernels gives it, of n, arguments and text."""
        match value:
            case Call(Name(name), arguments, ()) if self.functions is not None and not self.is_function(name):
                given = {LENGTH, *[a.name for a in self.schema.arguments if not a.is_tensor]}
                plain = [
                    isinstance(a, Constant) or (isinstance(a, Name) and a.id in given) for a in arguments
                ]
                return all(plain) and bool(self.functions.find(name))
        return False

    def assigned(self, name: str, value: Expr) -> None:
        """Report what is no part of the language in what is assigned; a result may be a sum over rows."""
        match value:
            case Conditional(Name(operand), Call(Name(function)) as total, Constant(value=None)) if (
                function == COLUMN_SUM and operand in self.optional
            ):
                if not self.masked:
                    at, expected = value.otherwise.span[0], f"an argument bool[{len(self.results)}] {MASK}"
                    self.wrong("only a result that a mask asks for may be None", at, 4, expected)
                self.there |= {operand}
                self.assigned(name, total)
                self.there -= {operand}
            case Call(Name(function), (row,), ()) if function == COLUMN_SUM and name in self.results:
                self.sums.add(name)
                self.check(row)
                self.takes_row(function, row, value.span[0])
                if self.of_names is not None and name not in self.dims_of_sums:
                    expected = f"{name}[{', '.join(self.of_names.by)}] = {function}(x)"
                    self.wrong("which dims the sum has is not said", value.span[0], len(function), expected)
            case _:
                self.check(value)
                if name in self.dims_of_sums:
                    expected = f"{name}[...] = {COLUMN_SUM}(x)"
                    self.wrong("only a sum over rows says its dims", value.span[0], expected=expected)

    def takes_row(self, name: str, operand: Expr, at: int) -> None:
        """Report an operand of a function of rows that is one number for each."""
        if is_number(operand, self.numbers):
            self.wrong(f"{name} takes a row, and this is one number for each", at, len(name), "a row")

    def check_results(self, statements: tuple[tuple[str, Expr], ...]) -> None:
        """Report results that are not assigned, and such as do not differ between rows."""
        names = self.results
        missing = [name for name in names if name not in dict(statements)]
        if missing and self.good:
            self.wrong(f"nothing is assigned to {one_of(missing)}", expected="each result is assigned")
        for name in names:
            if name in self.constant:
                at, expected = self.constant[name], f"what is made of {one_of(self.rows)}"
                self.wrong(f'the result "{name}" is the same for all rows', at, len(name), expected)

    def is_function(self, name: str) -> bool:
        """Whether it is a function of the language: a result of that name has an underscore behind it."""
        return name in (*REDUCTIONS, *SCANS, CONSTANT, COLUMN_SUM, *self.primitives)

    # -- expressions ---------------------------------------------------------------------------

    def check(self, expr: Expr) -> None:
        """Report what is no part of the language."""
        at, length = expr.span[0], max(1, expr.span[1] - expr.span[0])
        match expr:
            case Constant(int() | float()):
                return
            case Name(name):
                if name not in self.known and name not in CONSTANTS:
                    close = suggestion(name, self.known)
                    expected = "an argument, n, or a name of a line above"
                    self.wrong(f'unknown name "{name}" in the body', at, len(name), expected, close)
                elif name in self.sums:
                    message = f'"{name}" is a sum over rows, of which nothing else is made'
                    self.wrong(message, at, len(name), "what is made of rows")
                elif name in self.optional - self.there:
                    expected = f"x * {name} if {name} else x"
                    self.wrong(f'"{name}" may be None here', at, len(name), expected)
                return
            case Conditional(Name(condition), then, otherwise) if condition in (LENGTH, *self.optional):
                before = set(self.there)
                self.there |= {condition}
                self.check(then)
                self.there = before
                self.check(otherwise)
                return
            case Conditional(condition):
                at, length = condition.span[0], max(1, condition.span[1] - condition.span[0])
                expected = one_of([LENGTH, *sorted(self.optional)])
                self.wrong("a body chooses by what may be None, and by n", at, length, expected)
                return
            case Subscript(row, place):
                self.check(row)
                self.check(place)
                self.pick(row, place)
                return
            case Operation(symbol, operands) if symbol in _OPERATORS:
                for operand in operands:
                    self.check(operand)
                return
            case Call(Name(name), arguments, keywords) if not keywords or name in SCANS:
                for argument in arguments:
                    self.check(argument)
                self.call(name, arguments, at)
                if keywords:
                    self.direction(expr, name, keywords[0].span[0])
                return
        expected = "arithmetic, comparisons, functions, reductions, scans and elements at places"
        self.wrong(f"a body has no {type(expr).__name__.lower()}", at, length, expected)

    def call(self, name: str, arguments: tuple[Expr, ...], at: int) -> None:
        """Report a call that fits nothing."""
        primitive = self.primitives.get(name)
        if name == COLUMN_SUM:
            expected = f"a result: {self.results[-1]} = {name}(x)"
            self.wrong("a sum over rows is the whole of a result", at, len(name), expected)
            return
        if name not in (*REDUCTIONS, *SCANS, CONSTANT) and primitive is None:
            close = suggestion(name, {*REDUCTIONS, *SCANS, CONSTANT, COLUMN_SUM, *self.primitives})
            expected = f"{one_of((*REDUCTIONS, *SCANS))}, {CONSTANT}, or a function of primitives.yaml"
            self.wrong(f'unknown function "{name}" in the body', at, len(name), expected, close)
            return
        count = 1 if primitive is None or name in REDUCTIONS else primitive.arguments
        if len(arguments) != count:
            given = f"{name} takes {count} operand{'s' if count > 1 else ''}, not {len(arguments)}"
            self.wrong(given, at, len(name))
        elif name in (*REDUCTIONS, *SCANS):
            self.takes_row(name, arguments[0], at)
            if name in SCANS:
                self.order(name, at)

    def is_place(self, expr: Expr) -> bool:
        """Whether it is a place in each row."""
        match expr:
            case Name(name):
                return name in self.places
            case Call(Name(name)):
                return name in PLACES
        return False

    def pick(self, row: Expr, place: Expr) -> None:
        """Report what has no elements at places, and what is no place."""
        if not (isinstance(row, Name) and row.id in self.rows):
            self.wrong("an element is taken of rows of an operand", row.span[0], expected=one_of(self.rows))
        elif not self.is_place(place):
            expected = f"what {one_of([*PLACES])} give"
            self.wrong("an element stands at a place", place.span[0], expected=expected)
        elif self.several:
            expected = "over an argument that is an int"
            self.wrong("an element is taken of rows along one dim", row.span[0], len(row.id), expected)

    def order(self, name: str, at: int) -> None:
        """Report a scan of rows whose elements have no order, or in which a name means two things."""
        hidden = {a.name for a in self.schema.arguments} & {SCAN, BEFORE, AFTER, PLACE}
        if hidden:
            self.wrong(
                f'scans use the name "{one_of(sorted(hidden))}" themselves', at, len(name), "another name"
            )
        if self.several:
            expected = "over an argument that is an int"
            self.wrong(f"{name} takes rows along one dim", at, len(name), expected)

    def direction(self, expr: Expr, name: str, at: int) -> None:
        """Report what is not the keyword of a scan."""
        if Scan.read(expr) is None:
            expected = f"{name}(x) or {name}(x, {REVERSE}=True)"
            self.wrong("a scan is told its direction and nothing else", at, expected=expected)
