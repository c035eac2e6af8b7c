"""Check: bodies of view operators.

    over self[dimension: n]
    out[k in (n - size) // step + 1, -1: j in size] = self[k * step + j]

The first line says along which dims something is shown, the second which dims the result has there, and which
elements these show: indices that go on in constant steps, so that strides and offset follow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ...ir.expressions import (
    Call,
    Conditional,
    Constant,
    Elements,
    Expr,
    Name,
    Operation,
    Slice,
    Subscript,
    names_in,
)
from ...ir.moves import INTEGERS
from ...ir.views import NDIM, NotAffine, Place, View, affine
from ..model.diagnostics import Report, one_of
from ..model.schema import ListType, Schema
from ..model.source import Located
from ..read.functions import FunctionIndex
from .body_text import RESULT
from .integers import IntegerReader, is_number
from .moves import EVERY_DTYPE, is_dims

#: The names before a colon in an index: of arguments those that say dims.
_DIMS = re.compile(r"[\[,]\s*(-?\w+):")
#: The places of a result.
_PLACES = re.compile(r"\b\w+ in\b")
#: A first line whose dims a function says, or that is over all dims.
_UNKNOWN_DIMS = re.compile(r"over \w+\[(?:\w+\(|\s*:)|\[\d+:")


def follows_of_views(schema: Schema, body: Located) -> dict[str, Located]:
    """The fields of an entry that follow from such a body, where the entry says nothing else."""
    text = str(body.value)
    head, _, line = text.partition("\n")
    found = {"opmath": Located(False, body.place)}
    if not schema.is_view:
        found["dtypes"] = Located(EVERY_DTYPE, body.place)
    before, behind = _arguments(schema, head), _arguments(schema, line)
    if _UNKNOWN_DIMS.search(text) or (before and behind and len(before) != len(behind)):
        return found
    if not before and not behind:
        return {**found, "batching": Located("leading", body.place)}
    dims = tuple([Located(name, body.place) for name in dict.fromkeys([*before, *behind])])
    rule: dict[str, Located] = {"dims": Located(dims, body.place)}
    if not before:
        rule["added"] = Located(len(behind), body.place)
    return {**found, "batching": Located(rule, body.place)}


def dims_lost(schema: Schema, body: Located) -> int | None:
    """How many dims more the operand has than the result; None where that depends on arguments."""
    head, _, line = str(body.value).partition("\n")
    target, _, value = line.partition(" = ")
    lists = [a.name for a in schema.arguments if isinstance(a.type, ListType)]
    if _UNKNOWN_DIMS.search(head) or {*_DIMS.findall(head)} & {*lists} or " if " in value:
        return None
    return len(_DIMS.findall(head)) - len(_PLACES.findall(target))


def _arguments(schema: Schema, text: str) -> list[str]:
    names = _DIMS.findall(text)
    return [a.name for a in schema.arguments if a.name in names and is_dims(a)]


def read_view(schema: Schema, located: Located, functions: FunctionIndex, report: Report) -> View | None:
    """The body that a text says; None where it is wrong, which is reported."""
    return _ViewReader(schema, located, functions, report).view()


class _ViewReader(IntegerReader):
    """Reads one body of a view."""

    head = "over self[dim: n], or over self"
    what = "a body that shows elements"
    gives = "dims, places or an index"

    def view(self) -> View | None:
        """The body, if all of it is right."""
        self.names.add(NDIM)
        found = self.read()
        if found is None or not self.is_one(found[1]):
            return None
        lists, ((target, value),) = found
        numbers, several = self.results(lists)
        known = {*self.sizes, *numbers}
        staying, placed = self.places(target, known)
        condition, indices = self.indices(value)
        if not self.good:
            return None
        if condition is not None:
            self.integer(condition, known, "where this is shown")
        places = [*staying, *[(name, extent) for _, name, extent in placed]]
        for _, extent in places:
            self.integer(extent, known, "how many places there are")
        starts, steps = [], []
        for index in indices:
            start, grown = self.index(index, [name for name, _ in places], known)
            starts.append(start)
            steps.append(grown)
        stepped = {name: tuple([grown.get(name, Constant(0)) for grown in steps]) for name, _ in places}
        used = tuple([a.name for a in self.schema.arguments if a.name in self.used])
        view = View(
            self.schema.name.base, self.source, self.each, tuple(self.dims), tuple(self.sizes), numbers,
            several,
            tuple([Place(None, extent, stepped[name]) for name, extent in staying]),
            tuple([Place(at, extent, stepped[name]) for at, name, extent in placed]),
            tuple(starts), condition, used,
        )  # fmt: skip
        return view if self.good else None

    # -- the first line ----------------------------------------------------------------------------

    def operand(self, expr: Expr) -> bool:
        """Read ``self``, ``self[: n]`` and ``self[dim: n]``; whether it is one of these."""
        match expr:
            case Name(source):
                return self.of_source(source, expr)
            case Subscript(Name(source), Slice(None, Name(size), None)):
                self.each = True
                good = self.of_source(source, expr)
                self.sizes = [size]
                self.fresh(size, expr)
                return good and self.good
        return super().operand(expr)

    def dims_are_right(self) -> bool:
        self.each = self.is_each()
        return self.named_dims(self.dims[0], {NDIM}) if self.each else self.numbered_dims()

    def is_each(self) -> bool:
        return super().is_each() and not (isinstance(self.dims[0], Name) and self.dims[0].id in self.integers)

    def numbered_dims(self) -> bool:
        """Whether arguments and numbers say the dims, each once."""
        for number, dim in enumerate(self.dims):
            if isinstance(dim, Name) and dim.id in self.integers:
                self.used.add(dim.id)
            elif not is_number(dim):
                self.wrong("of several dims each is a number, or an int", dim, "over self[dim1: m, dim2: n]")
            if dim in self.dims[:number]:
                self.wrong("this dim is there already", dim, "each dim once")
        return self.good

    def results(self, lists: Sequence[Expr]) -> tuple[tuple[str, ...], Expr | None]:
        """What is read of ``i in f(self)`` and ``(start, size) in f(self)``: of several results."""
        several = not self.schema.returns[0].type.is_tensor
        match lists:
            case (Operation("in", (Name() | Elements() as names, values)),) if several:
                given = names.elements if isinstance(names, Elements) else (names,)
                for name in given:
                    if isinstance(name, Name):
                        self.fresh(name.id, name)
                    else:
                        self.wrong("this is no name", name, "(start, size) in f(self)")
                if isinstance(values, Call) and isinstance(values.function, Name):
                    self.function(values, self.gives, {*self.sizes, NDIM})
                else:
                    self.wrong("a function says what results there are", values, "i in f(self, dim)")
                return tuple([name.id for name in given if isinstance(name, Name)]), values
            case () if not several:
                return (), None
        message = "results are made of numbers" if several else "there is one result"
        at = lists[0] if lists else 0
        self.wrong(message, at, "over self[dim: n], i in f(self, dim)" if several else "over self[dim: n]")
        return (), None

    # -- the second line ---------------------------------------------------------------------------

    def places(
        self, target: Expr, known: Collection[str]
    ) -> tuple[list[tuple[str, Expr]], list[tuple[Expr, str, Expr]]]:
        """What is read of ``out``, ``out[k in m]`` and ``out[dim: k in m]``."""
        staying: list[tuple[str, Expr]] = []
        placed: list[tuple[Expr, str, Expr]] = []
        match target:
            case Name(name) if name == RESULT:
                return staying, placed
            case Subscript(Name(name), index) if name == RESULT:
                parts = index.elements if isinstance(index, Elements) else (index,)
            case _:
                self.wrong("a body has one line behind the first", target, f"{RESULT}[k in n] = ...")
                return staying, placed
        for part in parts:
            match part:
                case Operation("in", (Name(place), extent)):
                    staying.append((place, extent))
                case Slice(dim, Operation("in", (Name(place), extent)), None) if dim is not None:
                    if isinstance(dim, Name) and dim.id in self.integers:
                        self.used.add(dim.id)
                    elif not is_number(dim):
                        self.wrong("this says no dim of the result", dim, one_of(["-1", *self.integers]))
                    placed.append((dim, place, extent))
                case _:
                    expected = "k in n, or dim: k in n"
                    self.wrong("each dim has a name for its places, and how many there are", part, expected)
                    continue
            self.fresh(place, part)
        if staying and len(staying) != len(self.sizes):
            message = "where dims stay, each has a place"
            self.wrong(message, target, "as many places as dims of the first line, or none")
        return staying, placed

    def indices(self, value: Expr) -> tuple[Expr | None, tuple[Expr, ...]]:
        """The condition, and the indices, of ``self[i, j] if condition else self``."""
        condition: Expr | None = None
        chosen = value
        if isinstance(chosen, Conditional):
            condition, chosen = chosen.condition, chosen.then
            if value.parts[-1] != Name(self.source):
                self.wrong(
                    "elsewhere a view shows the operand", value.parts[-1], f"... if ... else {self.source}"
                )
        match chosen:
            case Name(name) if name == self.source:
                found: tuple[Expr, ...] = ()
            case Subscript(Name(name), index) if name == self.source:
                found = index.elements if isinstance(index, Elements) else (index,)
            case _:
                self.wrong("this is nothing that the operand has", chosen, f"{self.source}[...]")
                return condition, ()
        if len(found) != len(self.sizes):
            count = len(self.sizes)
            self.wrong(
                f"an element has {count} ind{'ex' if count == 1 else 'ices'}",
                chosen,
                "one for each dim of the first line",
            )
        return condition, found

    def index(
        self, index: Expr, places: Sequence[str], known: Collection[str]
    ) -> tuple[Expr, dict[str, Expr]]:
        """Where an index begins, and by how much it grows with each place."""
        self.integer(index, {*known, *places}, "which elements are shown")
        try:
            return affine(index, places)
        except NotAffine as error:
            own = one_of(sorted(names_in(error.expr) & {*places}))
            self.wrong(
                "a view goes on in constant steps", error.expr, f"{own}, times a number, plus a number"
            )
            return index, {}

    # -- integers ----------------------------------------------------------------------------------

    def integer(self, expr: Expr, known: Collection[str], what: str) -> None:
        """As of all bodies, and what functions of kernels give."""
        match expr:
            case Call(Name(name), _, ()) if name not in INTEGERS:
                self.function(expr, self.gives, {*known, NDIM})
            case Name(name) if name == NDIM:
                return
            case _:
                super().integer(expr, known, what)
