"""Check: bodies of operators that move elements.

    over self[dims: n], shift in shifts
    out[k in n] = self[(k - shift) % n]

The first line says along which dims, the second how many places the result has, and where each is from.
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
    names_in,
)
from ...ir.moves import INTEGERS, Move
from ...ir.reader import read_assignments, read_expression
from ..model.diagnostics import Report, one_of, suggestion
from ..model.schema import Argument, Schema
from ..model.source import Located
from ..read.fields import report_scalar
from ..read.functions import FunctionIndex
from .accesses import is_access
from .contractions import is_contraction
from .reserved import is_called

#: What the dtypes are of what is moved, and not computed with.
EVERY_DTYPE = "all, unsigned, float8, reduced_complex"
#: What the result is called.
RESULT = "out"
_IS_MOVE = re.compile(rf"^\s*{RESULT}\s*\[", re.M)
#: A first line whose dims are counted from the last one.
_FROM_THE_LAST = re.compile(r"over \w+\[-\d+: \w+(?:, -\d+: \w+)*\]")
#: The argument that stands where no element is.
_FILL = re.compile(r"\belse (\w+)\s*$")
_OVER = "over "
_OPERATORS = frozenset({"+", "-", "*", "//", "%", "-x"})
_LIST = re.compile(r"(?:Sym)?Int\[\d*\]", re.I)
_INTEGER = ("int", "SymInt", "bool")
_NUMBER = (*_INTEGER, "Scalar", "float")
#: How many operands the functions take; None for two and more.
_OPERANDS = {"min": None, "max": None, "abs": 1, "where": 3}
_MORE = "arithmetic by + - * // %, comparisons, and, or, min, max, abs and where(condition, a, b)"


def is_move(body: Located | None, schema: Schema | None = None) -> bool:
    """Whether a body says where elements come from, and not what is computed of rows, or shown."""
    if body is None or (schema is not None and shows(schema)):
        return False
    return _IS_MOVE.search(str(body.value)) is not None and not is_contraction(body) and not is_access(body)


def shows(schema: Schema) -> bool:
    """Whether a body of such an operator says what is shown of the memory of its operand."""
    return schema.is_view or any(r.type.is_tensor_list for r in schema.returns)


def is_dims(argument: Argument) -> bool:
    """Whether it is an int, or a list of them."""
    kind = str(argument.type)
    return kind in ("int", "SymInt") or _LIST.fullmatch(kind) is not None


def follows_of_moves(schema: Schema, body: Located) -> dict[str, Located]:
    """The fields of an entry that follow from such a body, where the entry says nothing else."""
    head = str(body.value).partition("\n")[0]
    dims = re.match(r"over \w+\[(\w+): ", head)
    argument = next((a for a in schema.arguments if dims is not None and a.name == dims[1]), None)
    batching = {}
    if argument is not None and argument.default != "[]":
        batching["batching"] = Located({"dims": Located(argument.name, body.place)}, body.place)
    elif _FROM_THE_LAST.match(head):
        batching["batching"] = Located("leading", body.place)
    return {
        **batching,
        "dtypes": Located(EVERY_DTYPE, body.place),
        "opmath": Located(False, body.place),
        "result": Located("same", body.place),
        "layout": Located("contiguous", body.place),
    }


def read_move(schema: Schema, located: Located, functions: FunctionIndex, report: Report) -> Move | None:
    """The body that a text says; None where it is wrong, which is reported."""
    return MoveReader(schema, located, functions, report).move()


def linear(schema: Schema, body: Located, tensor: str) -> str:
    """The call of an operator with such a body, of another tensor, with 0 where no element is."""
    fill = _FILL.search(str(body.value))
    zeros = {fill[1]: "0"} if fill else {}
    given = [tensor]
    for a in schema.arguments[1:]:
        value = zeros.get(a.name, a.name)
        given.append(f"{a.name}={value}" if a.kwarg_only else value)
    return f"{schema.name.function}({', '.join(given)})"


class BodyReader:
    """Reads the first line of a body, and integers."""

    #: How the first line is written, and what bodies of this kind do.
    head = "over self[dims: n], or over self[-2: m, -1: n]"
    does = "moves elements"
    #: What the functions of kernels are for, that it calls.
    given = "a function of runtime/kernels/ that gives dims"

    def __init__(self, schema: Schema, located: Located, functions: FunctionIndex, report: Report) -> None:
        self.schema, self.located, self.functions, self.report = schema, located, functions, report
        self.arguments = {a.name: a for a in schema.arguments}
        self.tensors = [a.name for a in schema.arguments if a.is_tensor]
        self.lists = {a.name for a in schema.arguments if _LIST.fullmatch(str(a.type))}
        self.integers = {a.name for a in schema.arguments if str(a.type) in _INTEGER}
        self.used: set[str] = set()
        self.source, self.each = "", False
        self.dims: list[Expr] = []
        self.sizes: list[str] = []
        #: What the body calls sizes, numbers and places.
        self.names: set[str] = set()
        self.good = True

    def wrong(self, message: str, at: Expr | int = 0, expected: str = "", help: str = "") -> None:
        """Report a mistake, at an expression or at a place of the text."""
        self.good = False
        begin, end = (at, at + 1) if isinstance(at, int) else at.span
        place = self.located.at(begin)
        self.report.error(place, message, length=max(1, end - begin), expected=expected, help=help)

    def lines(self) -> tuple[list[Expr], Expr, Expr] | None:
        """The parts of the first line, and the two sides of the second; None where these are not there."""
        text = str(self.located.value)
        head, _, _ = text.partition("\n")
        try:  # places stay as they are
            over = read_expression(f"({' ' * (len(_OVER) - 1)}{head[len(_OVER) :]})")
            lines = read_assignments(" " * len(head) + text[len(head) :])
        except SyntaxError as error:
            report_scalar(self.located, f"it is no body: {error.msg}", self.head, self.report)
            return None
        operand, *lists = over.elements if isinstance(over, Elements) and over.kind == "tuple" else (over,)
        if not head.startswith(_OVER) or not self.operand(operand):
            if self.good:
                report_scalar(self.located, "a body begins with what it is over", self.head, self.report)
            return None
        if len(lines) != 1:
            at = lines[1][0] if lines else 0
            self.wrong("a body says in one line where all is from", at, f"{RESULT}[k in n] = self[n - 1 - k]")
            return None
        return lists, *lines[0]

    # -- the first line ----------------------------------------------------------------------------

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
        if not self.good:
            return False
        self.each = self.is_each()
        return self.named_dims(self.dims[0]) if self.each else self.numbered_dims()

    def of_source(self, source: str, at: Expr) -> bool:
        """Whether this is the only Tensor argument."""
        if [source] != self.tensors:
            expected = f"over {one_of(self.tensors)}[dims: n], the only Tensor of the operator"
            self.wrong(f'"{source}" is not the only Tensor argument', at, expected)
            return False
        self.source = source
        return True

    def is_each(self) -> bool:
        """Whether the body is the same for each of the dims."""
        return len(self.dims) == 1 and not is_number(self.dims[0])

    def named_dims(self, dims: Expr) -> bool:
        """Whether an argument, or a function, says the dims."""
        match dims:
            case Name(name):
                if name not in self.lists | self.integers:
                    help = suggestion(name, self.lists | self.integers)
                    self.wrong(f'"{name}" is no argument for dims', dims, "an int, or a list of them", help)
                self.used.add(name)
            case Call(Name(name), arguments, ()):
                self.function(name, arguments, dims)
            case _:
                self.wrong("this says no dims", dims, "an argument, a function of kernels, or numbers")
        return self.good

    def function(self, name: str, arguments: Sequence[Expr], at: Expr, known: Collection[str] = ()) -> None:
        """Report a call of no kernel function, or of one with what is no argument, and not known."""
        found = self.functions.find(name)
        if len(found) != 1:
            help = suggestion(name, self.functions.names())
            message = f'there are several functions "{name}"' if found else f'unknown function "{name}"'
            self.wrong(message, at, self.given, help)
            return
        arity = found[0].arity()
        problem = None if arity is None else arity.problem(len(arguments), ())
        if problem is not None:
            self.wrong(f"{name} {problem}", at, f"what {name} takes, with {self.source} for its shape")
        for argument in arguments:
            if isinstance(argument, Name) and argument.id in self.arguments:
                self.used |= {argument.id} - {self.source}
            elif not (isinstance(argument, Name) and argument.id in known) and not (
                is_number(argument) or (isinstance(argument, Constant) and isinstance(argument.value, bool))
            ):
                self.wrong("this is no argument", argument, one_of([*self.arguments, "a number"]))

    def numbered_dims(self) -> bool:
        """Whether numbers say the dims, each once."""
        seen: set[str] = set()
        for dim in self.dims:
            if not is_number(dim):
                self.wrong("of several dims each is a number", dim, "over self[-2: m, -1: n]")
            elif str(dim) in seen:
                self.wrong("this dim is there already", dim, "each dim once")
            seen.add(str(dim))
        return self.good

    def fresh(self, name: str, at: Expr) -> None:
        """Report a name that means something already, or that generated code uses."""
        if name in {*self.arguments, *INTEGERS, *self.names} or is_called(name):
            self.wrong(f'"{name}" is taken', at, "another name")
        self.names.add(name)

    # -- integers ----------------------------------------------------------------------------------

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
                self.wrong(f'a body that {self.does} has no "{symbol.removesuffix(" x")}"', expr, other)
                return
            case Chain(_, parts) | Logical(_, parts):
                pass
            case Conditional():
                self.wrong("places choose by a function", expr, "where(condition, a, b)")
                return
            case _:
                self.wrong(f"a body that {self.does} has no {type(expr).__name__.lower()}", expr, _MORE)
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


class MoveReader(BodyReader):
    """Reads a body that says where elements come from."""

    def move(self) -> Move | None:
        """The body, if all of it is right."""
        found = self.lines()
        if found is None:
            return None
        lists, target, value = found
        given = tuple([made for part in lists if (made := self.list_of(part)) is not None])
        places = self.places(target)
        return None if places is None or not self.good else self.made(given, places, value)

    def list_of(self, expr: Expr) -> tuple[tuple[str, ...], str] | None:
        """What is read of ``shift in shifts`` and ``(before, after) in padding``."""
        match expr:
            case Operation("in", (Name(name), Name(values))):
                names = [name]
            case Operation("in", (Elements("tuple", elements), Name(values))) if all(
                isinstance(e, Name) for e in elements
            ):
                names = [e.id for e in elements if isinstance(e, Name)]
            case _:
                self.wrong("numbers that go with each dim are in a list", expr, "shift in shifts")
                return None
        if not self.each:
            self.wrong("numbers go with dims that an argument says", expr, f"{values}[0], {values}[1] ...")
        elif values not in self.lists:
            self.wrong(f'"{values}" is no list of ints', expr, help=suggestion(values, self.lists))
        for name in names:
            self.fresh(name, expr)
        self.used.add(values)
        return tuple(names), values

    def places(self, target: Expr) -> list[tuple[str, Expr]] | None:
        """What is read of ``out[i in m, j in n]``."""
        match target:
            case Subscript(Name(name), index) if name == RESULT:
                parts = index.elements if isinstance(index, Elements) else (index,)
            case _:
                self.wrong("a body has one line behind the first", target, f"{RESULT}[k in n] = ...")
                return None
        found = []
        for part in parts:
            match part:
                case Operation("in", (Name(place), extent)):
                    self.fresh(place, part)
                    found.append((place, extent))
                case _:
                    self.wrong("each dim has a name for its places, and how many there are", part, "k in n")
        if len(found) != len(self.sizes) and self.good:
            count = f"{len(self.sizes)} dim{'s' if len(self.sizes) > 1 else ''}"
            self.wrong(f"it is over {count}", target, "a place for each dim of the first line")
        return found if self.good else None

    def made(
        self, lists: Sequence[tuple[tuple[str, ...], str]], places: list[tuple[str, Expr]], value: Expr
    ) -> Move | None:
        """The body of these places."""
        condition: Expr | None = None
        fill: Expr = Constant(0)
        chosen = value
        if isinstance(chosen, Conditional):
            condition, value, fill = chosen.condition, chosen.then, chosen.otherwise
        match value:
            case Subscript(Name(name), index) if name == self.source:
                indices = index.elements if isinstance(index, Elements) else (index,)
            case _:
                expected = f"{self.source}[...], or {self.source}[...] if ... else 0"
                self.wrong("this is no element of the operand", value, expected)
                return None
        if len(indices) != len(places):
            self.wrong(f"an element has {len(places)} indices", value, "one for each dim of the first line")
            return None
        known = {*self.sizes, *[n for names, _ in lists for n in names]}
        for _, extent in places:
            self.integer(extent, known, "how many places there are")
        order = self.order([p for p, _ in places], indices, known)
        conditions, mask = self.conditions(condition, [p for p, _ in places], known)
        self.filled(fill)
        used = tuple([a.name for a in self.schema.arguments if a.name in self.used])
        row = isinstance(self.dims[0], Name) and self.arguments[self.dims[0].id].default == "[]"
        in_one = row or (isinstance(self.dims[0], Call) and self.may_be_one_row(self.dims[0]))
        move = Move(
            self.source, self.each, tuple(self.dims), in_one, tuple(self.sizes), tuple(lists),
            tuple([p for p, _ in places]), order, tuple([e for _, e in places]), tuple(indices), conditions,
            mask, fill, used,
        )  # fmt: skip
        return move if self.good else None

    def order(
        self, places: Sequence[str], indices: Sequence[Expr], known: Collection[str]
    ) -> tuple[int, ...]:
        """For each place the number of the index that it is in; one that is in none has what is left."""
        found: dict[str, int] = {}
        left = []
        for number, index in enumerate(indices):
            own = [place for place in places if place in names_in(index)]
            self.integer(index, {*own, *known}, "where elements are from")
            if len(own) > 1 or found.keys() & {*own}:
                self.wrong("each place is in one index, and each index has one place", index, one_of(places))
            elif own:
                found[own[0]] = number
            else:
                left.append(number)
        rest = iter(left)
        return tuple([found[place] if place in found else next(rest, 0) for place in places])

    def may_be_one_row(self, dims: Call) -> bool:
        """Whether a function says the dims of an argument that may be left out."""
        names = [part.id for part in dims.arguments if isinstance(part, Name)]
        return any([self.arguments[name].default == "[]" for name in names if name in self.arguments])

    def conditions(
        self, condition: Expr | None, places: Sequence[str], known: Collection[str]
    ) -> tuple[tuple[Expr | None, ...], Expr | None]:
        """The condition of each dim, and that of several together."""
        if condition is None:
            return (None,) * len(places), None
        self.integer(condition, {*places, *known}, "where there is an element")
        each: dict[str, list[Expr]] = {}
        together: list[Expr] = []
        parts = (
            condition.operands
            if isinstance(condition, Logical) and condition.symbol == "and"
            else (condition,)
        )
        for part in parts:
            at = [i for i, place in enumerate(places) if place in names_in(part)]
            if len(at) == 1:
                each.setdefault(places[at[0]], []).append(part)
            else:
                together.append(part)
        if together and self.each:
            self.wrong("this condition says nothing of places", together[0], f"a condition of {places[0]}")
        found = [_joined(each[place]) if place in each else None for place in places]
        return tuple(found), _joined(together) if together else None

    def filled(self, fill: Expr) -> None:
        """Report what cannot stand where no element is: with it the operator is not linear."""
        numbers = [a.name for a in self.schema.arguments if str(a.type) in _NUMBER]
        if fill == Constant(0) or (isinstance(fill, Name) and fill.id in numbers):
            return
        self.wrong("where no element is there is 0, or an argument", fill, one_of(["0", *numbers]))


def is_number(expr: Expr) -> bool:
    match expr:
        case Constant(int() as value):
            return not isinstance(value, bool)
        case Operation("-x", (Constant(int()),)):
            return True
    return False


def _joined(parts: Sequence[Expr]) -> Expr:
    return parts[0] if len(parts) == 1 else Logical("and", tuple(parts))
