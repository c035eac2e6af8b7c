"""Check: bodies of operators that move elements.

    over self[dims: n], shift in shifts
    out[k in n] = self[(k - shift) % n]

The first line says along which dims, the second how many places the result has, and where each is from.
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
    Logical,
    Name,
    Operation,
    Subscript,
    names_in,
)
from ...ir.moves import Move
from ..model.diagnostics import Report, one_of, suggestion
from ..model.schema import Argument, Schema
from ..model.source import Located
from ..read.functions import FunctionIndex
from .body_text import RESULT
from .integers import LIST, IntegerReader, is_number

#: What the dtypes are of what is moved, and not computed with.
EVERY_DTYPE = "all, unsigned, float8, reduced_complex"
_IS_MOVE = re.compile(rf"^\s*{RESULT}\s*\[", re.M)
#: A first line whose dims are counted from the last one.
_FROM_THE_LAST = re.compile(r"over \w+\[-\d+: \w+(?:, -\d+: \w+)*\]")
#: The argument that stands where no element is.
_FILL = re.compile(r"\belse (\w+)\s*$")
_NUMBER = ("int", "SymInt", "bool", "Scalar", "float")


def is_move(body: Located) -> bool:
    """Whether a body says where elements come from, or windows, if it is of no other kind."""
    return _IS_MOVE.search(str(body.value)) is not None


def is_dims(argument: Argument) -> bool:
    """Whether it is an int, or a list of them."""
    kind = str(argument.type)
    return kind in ("int", "SymInt") or LIST.fullmatch(kind) is not None


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
    return _MoveReader(schema, located, functions, report).move()


def linear(schema: Schema, body: Located, tensor: str) -> str:
    """The call of an operator with such a body, of another tensor, with 0 where no element is."""
    fill = _FILL.search(str(body.value))
    zeros = {fill[1]: "0"} if fill else {}
    given = [tensor]
    for a in schema.arguments[1:]:
        value = zeros.get(a.name, a.name)
        given.append(f"{a.name}={value}" if a.kwarg_only else value)
    return f"{schema.name.function}({', '.join(given)})"


class _MoveReader(IntegerReader):
    """Reads one body."""

    def move(self) -> Move | None:
        """The body, if all of it is right."""
        if (found := self.read()) is None:
            return None
        parts, lines = found
        lists = tuple([made for part in parts if (made := self.list_of(part)) is not None])
        if not self.is_one(lines):
            return None
        places = self.places(lines[0][0])
        return None if places is None or not self.good else self.made(lists, places, lines[0][1])

    # -- the first line ----------------------------------------------------------------------------

    def dims_are_right(self) -> bool:
        """Whether the first line says dims; else it is reported."""
        self.each = self.is_each()
        return self.named_dims(self.dims[0]) if self.each else self.numbered_dims()

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

    # -- the second line ---------------------------------------------------------------------------

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


def _joined(parts: Sequence[Expr]) -> Expr:
    return parts[0] if len(parts) == 1 else Logical("and", tuple(parts))
