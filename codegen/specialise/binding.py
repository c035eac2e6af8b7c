"""Specialise: a binding, which is a function or a method that users call, as statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from ...ir.expressions import Attribute, Constant, Expr, Name, Subscript, all_of, count_names, replaced
from ...ir.reader import filled, read_expression
from ...ir.statements import Block, If, Return, Statement, call, let, lines, return_if
from .keyword_calls import KeywordForm
from .none_keywords import without_nones

#: The receiver's Type, as attempts call it.
TYPE = "T"
_SELF = Name("self")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One overload's first path: the tests, and the call when they hold."""

    tests: tuple[Expr, ...]
    call: Expr
    receiver: Expr | None = None  # the tensor whose Type runs it, if that is not the binding's

    def statement(self) -> Statement:
        """The statement that returns what it gives, if the tests hold."""
        return return_if(self.tests, self.call)

    @property
    def uses_of_type(self) -> int:
        """How often it names the receiver's Type."""
        return count_names([*self.tests, self.call]).get(TYPE, 0)


@dataclass(frozen=True, slots=True)
class Binding:
    """A function or a method."""

    name: str
    parameters: tuple[str, ...]  # "self", "dim=MISSING", "*", "**keywords"
    returns: str
    receiver: Expr | None  # the tensor whose Type runs it
    attempts: tuple[Attempt, ...]
    fallback: Expr
    doc: str
    guard: tuple[Expr, ...] = (filled("not active"),)
    forms: tuple[KeywordForm, ...] = ()  # first paths of calls with keywords
    words: tuple[tuple[str, str, str], ...] = ()  # what may be given by another word, that, the default
    nones: tuple[tuple[str, int], ...] = ()  # keywords that are None by default, and where they could stand

    @property
    def signature(self) -> str:
        """The parameters as they are written."""
        return ", ".join(self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters that take one argument."""
        return tuple([p.partition("=")[0] for p in self.parameters if not p.startswith("*")])

    def receivers(self) -> Iterator[tuple[Expr | None, tuple[Attempt, ...]]]:
        """The attempts as they are written, by the tensor whose Type runs them."""
        for receiver, attempts in groupby(self.attempts, lambda a: a.receiver or self.receiver):
            yield receiver, _as_written(receiver, tuple(attempts))

    def lines(self) -> Iterator[str]:
        """The text of the function."""
        return lines(self.statements())

    def statements(self) -> Iterator[Statement]:
        """The statements of the function: first paths, then the call that every other way ends in."""
        for name, word, default in self.words:
            texts = Constant(self.name), Constant(name)
            given = call("worded", *texts, Name(name), read_expression(default), Name(word))
            yield If(filled("word is not MISSING", word=Name(word)), (let(name, given),))
        for receiver, attempts in self.receivers():
            yield If(all_of([*self.guard, *_is_given(receiver)]), tuple(_tried(receiver, attempts)))
        if self.forms and self.receiver is not None:
            tests = [] if self.receiver == _SELF else [filled("args"), filled("args[0].__class__ in plain")]
            yield If(
                all_of([filled("keywords"), filled("not active"), *tests]), self._by_keyword(self.receiver)
            )
        again = without_nones(self.name, self.parameters, [word for _, word, _ in self.words], self.nones)
        if again is not None:
            yield again
        yield Return(self.fallback)

    def _by_keyword(self, receiver: Expr) -> Block:
        """The first paths of calls with keywords."""
        given = let("given", filled("(len(args), *keywords)"))
        return (let(TYPE, Attribute(receiver, "_type")), given, *[form.statement() for form in self.forms])


def _tried(receiver: Expr | None, attempts: tuple[Attempt, ...]) -> Iterator[Statement]:
    """The statements of the attempts that one tensor's Type runs."""
    if receiver is not None and any([a.uses_of_type for a in attempts]):
        yield let(TYPE, Attribute(receiver, "_type"))
    for attempt in attempts:
        yield attempt.statement()


def _as_written(receiver: Expr | None, attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """The attempts without a name for the Type, if it is asked for once."""
    if receiver is None or sum([a.uses_of_type for a in attempts]) > 1:
        return attempts
    of_receiver = {TYPE: Attribute(receiver, "_type")}
    return tuple([replace(a, call=replaced(a.call, of_receiver)) for a in attempts])


def _is_given(receiver: Expr | None) -> list[Expr]:
    """The tests that the receiver is a tensor."""
    match receiver:
        case None | Name("self"):
            return []
        case Subscript(Name("args"), Constant(value=int(number))):
            there = filled(f"len(args) > {number}" if number else "args")
            return [there, filled("x.__class__ in plain", x=receiver)]
    return [filled("x.__class__ in plain", x=receiver)]
