"""Check: bodies of operators over windows.

    over self[last: n], (size, step) in pooled(self, kernel_size, stride), count in counts
    begin = p * step
    out[p in count] = max(self[begin: begin + size])

The first line says along which dims, the last one how many places the result has, and what each is made of.
Lines between name integers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...ir.expressions import (
    Call,
    Clause,
    Comprehension,
    Constant,
    Elements,
    Expr,
    Logical,
    Name,
    Operation,
    Slice,
    Subscript,
    replaced,
)
from ...ir.windows import LAST, REDUCTIONS, Window
from ..model.diagnostics import Report, one_of, suggestion
from ..model.schema import ListType, Schema
from ..model.source import Located
from ..read.functions import FunctionIndex
from .body_text import RESULT
from .integers import IntegerReader

#: What is divided by, of all dims.
PRODUCT = "product"
_LINE = re.compile(rf"^\s*{RESULT}\s*\[[^\n=]*\]\s*=\s*(\w+)\(", re.M)
_HEAD = re.compile(r"over \w+\[(\w+): ")
_WINDOW = f"{one_of([f'{name}(self[begin: end])' for name in REDUCTIONS])}"


def is_window(body: Located) -> bool:
    """Whether a body says what windows are made into."""
    return _LINE.search(str(body.value)) is not None


def is_maximum(body: Located) -> bool:
    """Whether it takes the maxima of windows."""
    found = _LINE.search(str(body.value))
    return found is not None and found[1] == "max"


def is_over_last(body: Located) -> bool:
    """Whether it is over the last dims."""
    head = _HEAD.match(str(body.value))
    return head is not None and head[1] == LAST


def follows_of_windows(schema: Schema, body: Located) -> dict[str, Located]:
    """The fields of an entry that follow from such a body, where the entry says nothing else."""
    head = _HEAD.match(str(body.value))
    named = [a.name for a in schema.arguments if head is not None and a.name == head[1]]
    rule: object = {"dims": Located(named[0], body.place)} if named else "leading"
    follows: dict[str, object] = {"layout": "contiguous", "batching": rule, "dtypes": "floating, reduced"}
    if is_maximum(body):
        follows["dtypes"] = "all, -bool, -complex"
        if len(schema.returns) > 1:
            each = tuple([Located("contiguous", body.place) for _ in schema.returns])
            follows["layout"] = each
    return {key: Located(value, body.place) for key, value in follows.items()}


def read_at(tensor: str, places: str, dims: str) -> str:
    """The elements of a Tensor at places that count through its last dims."""
    if dims == "1":
        return f"{tensor}.gather(-1, {places})"
    return f"{tensor}.flatten(-{dims}).gather(-1, {places}.flatten(-{dims})).reshape({places}.shape)"


def added_at(tensor: str, places: str, shape: str, dims: str) -> str:
    """Zeros of a shape, to which elements are added at such places."""
    zeros = f"{tensor}.new_zeros({shape})"
    if dims == "1":
        return f"{zeros}.scatter_add(-1, {places}, {tensor})"
    given = f"{places}.flatten(-{dims}), {tensor}.flatten(-{dims})"
    return f"{zeros}.flatten(-{dims}).scatter_add(-1, {given}).reshape({shape})"


def count_of_dims(schema: Schema, body: Located) -> str:
    """How many dims such a body is over: what the first list of it says, or its type; else 1."""
    lists = [a for a in schema.arguments if isinstance(a.type, ListType)]
    used = [a for a in lists if re.search(rf"\b{a.name}\b", str(body.value))]
    if not used:
        return "1"
    assert isinstance(used[0].type, ListType)
    return f"len({used[0].name})" if used[0].type.size is None else str(used[0].type.size)


def read_window(schema: Schema, located: Located, functions: FunctionIndex, report: Report) -> Window | None:
    """The body that a text says; None where it is wrong, which is reported."""
    return _WindowReader(schema, located, functions, report).window()


class _WindowReader(IntegerReader):
    """Reads one body."""

    what = "a body over windows"
    head = "over self[last: n], size in kernel_size"

    def window(self) -> Window | None:
        """The body, if all of it is right."""
        if (found := self.read()) is None:
            return None
        parts, lines = found
        lists = [made for part in parts if (made := self.list_of(part)) is not None]
        self.known = [self.sizes[0], *[name for names, _ in lists for name in names]]
        if not lines or not self.good:
            if self.good:
                self.wrong(
                    "a body over windows says what each place is made of", 0, f"{RESULT}[p in count] = ..."
                )
            return None
        *named, (target, value) = lines
        if (place := self.place(target)) is None:
            return None
        self.lines(named)
        return self.made(tuple(lists), *place, value) if self.good else None

    # -- the first line ----------------------------------------------------------------------------

    def dims_are_right(self) -> bool:
        """Whether the first line says dims; else it is reported."""
        first, *others = self.dims
        if others:
            self.wrong("windows are the same along all dims", others[0], self.head)
        elif not isinstance(first, Name) or first.id not in self.lists | self.integers | {LAST}:
            given = first.id if isinstance(first, Name) else ""
            known = self.lists | self.integers | {LAST}
            self.wrong(
                "this says no dims", first, f"{LAST}, or an argument for dims", suggestion(given, known)
            )
        elif first.id != LAST:
            self.used.add(first.id)
        return self.good

    def list_of(self, expr: Expr) -> tuple[tuple[str, ...], Expr] | None:
        """What is read of ``size in kernel_size`` and ``(size, step) in pooled(self, kernel_size)``."""
        names: list[str] = []
        match expr:
            case Operation("in", (Name(name), values)):
                names = [name]
            case Operation("in", (Elements("tuple", elements), Call() as values)) if all(
                [isinstance(e, Name) for e in elements]
            ):
                names = [e.id for e in elements if isinstance(e, Name)]
        if not names:
            self.wrong("numbers that go with each dim are in a list", expr, "size in kernel_size")
            return None
        match values:
            case Call(Name(), _, ()):
                self.function(values, "a list, of numbers or tuples")
            case Name(name) if name in self.lists:
                self.used.add(name)
            case Name(name):
                self.wrong(f'"{name}" is no list of ints', expr, help=suggestion(name, self.lists))
            case _:
                self.wrong("this is no list", values, "an argument, or a function of kernels")
        for name in names:
            self.fresh(name, expr)
        return tuple(names), values

    # -- the other lines ---------------------------------------------------------------------------

    def place(self, target: Expr) -> tuple[str, Expr] | None:
        """What is read of ``out[p in count]``."""
        match target:
            case Subscript(Name(name), Operation("in", (Name(place), extent))) if name == RESULT:
                self.fresh(place, target)
                self.integer(extent, self.known, "how many places there are")
                self.known.append(place)
                return place, extent
        self.wrong("the last line says what each place is made of", target, f"{RESULT}[p in count] = ...")
        return None

    def lines(self, lines: Sequence[tuple[Expr, Expr]]) -> None:
        """Read the integers that lines name, each by those before."""
        self.named: dict[str, Expr] = {}
        for target, value in lines:
            if not isinstance(target, Name):
                self.wrong("a line names an integer", target, "begin = p * step")
                continue
            self.fresh(target.id, target)
            self.integer(value, [*self.known, *self.named], "an integer")
            self.named[target.id] = replaced(value, self.named)

    def integers_of(self, expr: Expr, what: str) -> Expr:
        """An integer, with what lines have named."""
        self.integer(expr, [*self.known, *self.named], what)
        return replaced(expr, self.named)

    def made(
        self, lists: tuple[tuple[tuple[str, ...], Expr], ...], place: str, extent: Expr, value: Expr
    ) -> Window | None:
        """The body of these places."""
        whole = divisor = None
        if isinstance(value, Operation) and value.symbol == "/":
            value, by = value.operands
            whole, divisor = self.divisor(by)
        taps: Call | None = None
        begin: Expr = Constant(0)
        end: Expr = Constant(0)
        gap: Expr = Constant(1)
        match value:
            case Call(Name("sum"), (Comprehension() as terms,), ()):
                reduction, taps = "sum", self.taps(terms)
            case Call(Name(name), (Subscript(Name(source), Slice(start, stop, step)),), ()) if (
                name in REDUCTIONS and source == self.source and start is not None and stop is not None
            ):
                reduction = name
                begin = self.integers_of(start, "where windows begin")
                end = self.integers_of(stop, "where windows end")
                gap = gap if step is None else self.integers_of(step, "the step in windows")
            case _:
                self.wrong("this is no window of the operand", value, _WINDOW.replace("self", self.source))
                return None
        if divisor is not None and reduction != "sum":
            self.wrong("sums are divided", value, f"sum({self.source}[begin: end]) / {PRODUCT}(end - begin)")
        results = 2 if reduction == "max" else 1
        if len(self.schema.returns) != results:
            expected = "two results, the maximum and where it is" if results == 2 else "one result"
            self.wrong(f"a {reduction} of windows gives something else", value, expected)
        dims = None if self.dims[0] == Name(LAST) else self.dims[0]
        if dims is None and not lists:
            self.wrong("no list says how many dims there are", 0, self.head)
        if dims is not None and reduction == "max":
            self.wrong("maxima are over the last dims", self.dims[0], f"{LAST}")
        used = tuple([a.name for a in self.schema.arguments if a.name in self.used])
        window = Window(
            self.source, reduction, dims, self.sizes[0], lists, place, extent, begin, end, gap, taps, divisor,
            whole, used,
        )  # fmt: skip
        return window if self.good else None

    def divisor(self, expr: Expr) -> tuple[Expr | None, Expr | None]:
        """What is read of ``product(end - begin)`` and ``divisor_override or product(end - begin)``."""
        whole: Expr | None = None
        match expr:
            case Logical("or", (Name(name) as whole, expr)) if name in self.arguments:
                self.used.add(name)
        match expr:
            case Call(Name(name), (own,), ()) if name == PRODUCT:
                return whole, self.integers_of(own, "what is divided by, of each dim")
        expected = f"{PRODUCT}(...), what is divided by of each dim, or an argument in its place"
        self.wrong("this is no divisor", expr, expected)
        return None, None

    def taps(self, terms: Comprehension) -> Call | None:
        """What is read of ``self[k] * weight for k, weight in taps_of(n, count)``."""
        match terms:
            case Comprehension(
                _,
                Operation("*", (Subscript(Name(source), Name(k)), Name(weight))),
                (Clause(Elements("tuple", (Name(a), Name(b))), Call(Name(), _, ()) as call, ()),),
            ) if source == self.source and (a, b) == (k, weight):
                self.function(call, "elements and weights", self.known)
                return call
        expected = f"{self.source}[k] * weight for k, weight in FUNCTION({self.sizes[0]}, ...)"
        self.wrong("this is no weighted sum", terms, expected)
        return None
