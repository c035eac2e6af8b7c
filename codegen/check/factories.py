"""Check: bodies of operators that make tensors of nothing but numbers.

    n = window_size(window_length)
    out[k in n] = 0.5 - 0.5 * cos(2 * pi * k / n)

The last line says what an element is, by its place; those above it name numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...ir.expressions import (
    Attribute,
    Call,
    Chain,
    Conditional,
    Elements,
    Expr,
    Logical,
    Name,
    Operation,
    Starred,
    Subscript,
    names_in,
    rewritten,
    walk,
)
from ...ir.factories import CONSTANTS, DTYPE, Factory
from ...ir.statements import tuple_of
from ..model.diagnostics import Report, one_of
from ..model.operators import Formula, Primitive
from ..model.schema import Schema
from ..model.source import Located
from ..read.functions import Arity, FunctionIndex
from .body_text import RESULT, BodyReader
from .integers import LIST
from .kernels import arity_of, kernel_arguments
from .names import Problem, Vocabulary, check_names
from .reserved import is_called

#: Python's functions that choose by what is true of one number.
_OF_NUMBERS = ("max", "min", "bool", "int", "float")


def follows_of_factories(schema: Schema, body: Located) -> dict[str, Located]:
    """The fields of an entry that follow from such a body, where the entry says nothing else."""
    dtype = {DTYPE: Located("default", body.place)}
    return {"factory": Located(dtype, body.place), "dtypes": Located("all, -bool", body.place)}


def read_factory(
    schema: Schema,
    located: Located,
    primitives: Mapping[str, Primitive],
    functions: FunctionIndex,
    report: Report,
) -> Factory | None:
    """The body that a text says; None where it is wrong, which is reported."""
    return _FactoryReader(schema, located, functions, report).factory(primitives)


class _Vocabulary(Vocabulary):
    """Names of arguments, of lines above and of places; primitives, and functions of kernels."""

    what = "body"

    def __init__(
        self, values: Iterable[str], primitives: Mapping[str, Primitive], functions: FunctionIndex
    ) -> None:
        super().__init__({*values, *CONSTANTS})
        self.primitives, self.index = primitives, functions

    def function(self, name: str) -> Sequence[Arity | None] | None:
        if name in self.primitives:
            return [arity_of(self.primitives[name])]
        return [f.arity() for f in self.index.find(name)] or None

    def functions(self) -> Iterable[str]:
        return {*self.primitives, *self.index.names()}

    def attribute(self, expr: Attribute, call: Call | None) -> Problem | None:
        return Problem(f'a body has no ".{expr.name}"', "arguments, places and functions")


class _FactoryReader(BodyReader):
    """Reads one body."""

    head = f"{RESULT}[k in n] = start + k * step"
    functions: FunctionIndex

    def __init__(self, schema: Schema, located: Located, functions: FunctionIndex, report: Report) -> None:
        super().__init__(schema, located, functions, report)
        self.lists = [a.name for a in schema.arguments if LIST.fullmatch(str(a.type))]

    def factory(self, primitives: Mapping[str, Primitive]) -> Factory | None:
        """The body, if all of it is right."""
        if (found := self.parsed()) is None:
            return None
        over, lines = found
        if over is not None or not lines:
            self.wrong("there is no tensor that it could be over", over or 0, self.head)
            return None
        *above, (target, value) = lines
        given = kernel_arguments(self.schema, factory=True)
        self.known = dict.fromkeys([*given, *CONSTANTS])
        self.vocabulary = _Vocabulary(self.known, primitives, self.functions)
        for names, number in above:
            self.check(number)
            self.called(names)
        places, sizes = self.places(target)
        self.check(value)
        self.chosen_by_numbers(value, {*places})
        if not self.good:
            return None

        def change(part: Expr) -> Expr:
            match part:
                case Name(name) if name in CONSTANTS:
                    return Attribute(Name("xp"), name)
                case Call(Name(name), arguments) if name in primitives and not primitives[name].function:
                    return Call(Attribute(Name("xp"), name), arguments)
            return part

        numbers = tuple([(names, rewritten(number, change)) for names, number in above])
        return Factory(numbers, places, rewritten(sizes, change), rewritten(value, change), given)

    def check(self, expr: Expr) -> None:
        """Report names that mean nothing here, and calls that do not fit."""
        before = len(self.report.diagnostics)
        self.vocabulary.values = self.known
        check_names(Formula(self.located, expr), self.vocabulary, self.report)
        self.good = self.good and len(self.report.diagnostics) == before

    def called(self, names: Expr) -> None:
        """Read what a line calls its numbers."""
        for name in names.elements if isinstance(names, Elements) else (names,):
            if not isinstance(name, Name):
                self.wrong("a line above the last one names numbers", name, "n = ..., or first, step = ...")
            elif name.id in self.known or name.id in self.vocabulary.primitives or is_called(name.id):
                self.wrong(f'"{name.id}" is taken', name, "another name")
            else:
                self.known[name.id] = None

    def places(self, target: Expr) -> tuple[tuple[str, ...], Expr]:
        """What is read of ``out[i in m, j in n]``, and of ``out[*size]``, which has no places."""
        match target:
            case Subscript(Name(name), index) if name == RESULT:
                parts = index.elements if isinstance(index, Elements) else (index,)
            case _:
                parts = ()
        match parts:
            case (Starred(Name(size) as sizes),) if size in self.lists:
                return (), sizes
        found = [p for p in parts if isinstance(p, Operation) and p.symbol == "in"]
        if not parts or len(found) < len(parts):
            expected = one_of([self.head, *[f"{RESULT}[*{name}] = ..." for name in self.lists]])
            self.wrong("the last line says what an element is, by its place", target, expected)
            return (), target
        for part in found:
            self.check(part.operands[1])
        for part in found:
            self.called(part.operands[0])
        names = tuple([p.operands[0].id for p in found if isinstance(p.operands[0], Name)])
        return names, tuple_of([p.operands[1] for p in found])

    def chosen_by_numbers(self, value: Expr, places: frozenset[str] | set[str]) -> None:
        """Report what chooses as Python does by what depends on places."""
        for part in walk(value):
            by: tuple[Expr, ...] = ()
            match part:
                case Conditional():
                    by = (part.condition,)
                case Logical() | Chain():
                    by = part.parts
                case Call(Name(name)) if name in _OF_NUMBERS:
                    by = part.arguments
            if any([not places.isdisjoint(names_in(each)) for each in by]):
                expected = "where(condition, a, b), maximum(a, b) or minimum(a, b)"
                self.wrong("by its place an element chooses by functions", part, expected)
