"""Specialise: the calls with keywords that take the first path.

A binding whose overloads no one signature covers is ``def sum(self, *args, **keywords)``. Which of
them is called with ``dim=1, keepdim=True`` depends on the names and on how many arguments come before
them; the usual combinations of both are written out, and all others go the second path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from ..model.annotations import default
from ..model.operators import Operator
from ..model.schema import Argument
from .argument_tests import returned_if

#: How many combinations are written out for an overload; those with fewer keywords come first.
FORMS = 6
MOST_KEYWORDS = 3


@dataclass(frozen=True, slots=True)
class KeywordForm:
    """One combination: what ``(len(args), *keywords)`` is, the test of the values, and the call."""

    given: str
    values: tuple[tuple[str, str], ...]  # local name, keyword
    condition: str
    call: str

    def statements(self) -> Iterator[str]:
        """The statements that return what a call of this form gives, if the test holds."""
        yield f"if given == {self.given}:"
        for local, keyword in self.values:
            yield f'    {local} = keywords["{keyword}"]'
        yield from (f"    {line}" for line in returned_if(self.condition, self.call))


#: From the texts of arguments by their names: the test that they need no conversion, and the call.
Attempted = Callable[[dict[str, str]], tuple[str, str]]


def keyword_forms(
    operator: Operator, offset: int, testable: Callable[[Argument], bool], attempted: Attempted
) -> Iterator[KeywordForm]:
    """The forms of an overload; ``offset`` is how many of ``args`` stand before its second argument."""
    rest = list(operator.schema.positional[1:])
    for count, named in _combinations(rest, operator.schema.kwarg_only, testable):
        names = {a.name: f"args[{i + offset}]" for i, a in enumerate(rest[:count])}
        values = tuple((f"k{i}", a.name) for i, a in enumerate(named))
        condition, call = attempted(names | {keyword: local for local, keyword in values})
        if condition != "False":
            given = ", ".join([str(count + offset), *(f'"{a.name}"' for a in named)])
            yield KeywordForm(f"({given})", values, condition, call)


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
