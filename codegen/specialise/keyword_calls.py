"""Specialise: the calls with keywords that take the first path.

A binding whose overloads no one signature covers is ``def sum(self, *args, **keywords)``. Which of
them is called with ``dim=1, keepdim=True`` depends on the names and on how many arguments come before
them; the usual combinations of both are written out, and all others go the second path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from ...ir.expressions import Constant, Expr, Name, Subscript, constant
from ...ir.reader import filled
from ...ir.statements import If, Statement, let, return_if
from ..model.annotations import default
from ..model.operators import Operator
from ..model.schema import Argument

#: How many combinations are written out for an overload; those with fewer keywords come first.
FORMS = 6
MOST_KEYWORDS = 3


@dataclass(frozen=True, slots=True)
class KeywordForm:
    """One combination: what ``(len(args), *keywords)`` is, the test of the values, and the call."""

    given: tuple[int | str, ...]
    values: tuple[tuple[str, str], ...]  # local name, keyword
    tests: tuple[Expr, ...]
    call: Expr

    def statement(self) -> Statement:
        """The statement that returns what a call of this form gives, if the tests hold."""
        values = [
            let(local, Subscript(Name("keywords"), Constant(keyword))) for local, keyword in self.values
        ]
        returned = return_if(self.tests, self.call)
        return If(filled("given == form", form=constant(self.given)), (*values, returned))


#: From the arguments by their names: the tests that they need no conversion, and the call; or there is none.
Attempted = Callable[[dict[str, Expr]], tuple[tuple[Expr, ...], Expr] | None]


def keyword_forms(
    operator: Operator, offset: int, testable: Callable[[Argument], bool], attempted: Attempted
) -> Iterator[KeywordForm]:
    """The forms of an overload; ``offset`` is how many of ``args`` stand before its second argument."""
    rest = list(operator.schema.positional[1:])
    for count, named in _combinations(rest, operator.schema.kwarg_only, testable):
        names: dict[str, Expr] = {a.name: argument(i + offset) for i, a in enumerate(rest[:count])}
        values = tuple([(f"k{i}", a.name) for i, a in enumerate(named)])
        made = attempted(names | {keyword: Name(local) for local, keyword in values})
        if made is not None:
            given: tuple[int | str, ...] = (count + offset, *[a.name for a in named])
            yield KeywordForm(given, values, *made)


def argument(number: int) -> Expr:
    """``args[number]``"""
    return Subscript(Name("args"), Constant(number))


def _combinations(
    rest: list[Argument], kwarg_only: Iterable[Argument], testable: Callable[[Argument], bool]
) -> list[tuple[int, tuple[Argument, ...]]]:
    """How many arguments come by position, and which by keyword, in the schema's order."""
    found: list[tuple[int, tuple[Argument, ...]]] = []
    for count in range(len(rest) + 1):
        if not all(map(testable, rest[:count])):
            break
        later = [*rest[count:], *kwarg_only]
        usable = [a for a in later if testable(a)]
        for size in range(1, MOST_KEYWORDS + 1):
            for named in combinations(usable, size):
                if all(default(a) is not None or a in named for a in later):
                    found.append((count, named))
    return sorted(found, key=lambda form: len(form[1]))
