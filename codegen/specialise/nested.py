"""Specialise: one signature for overloads of which each goes on where a shorter one ends.

``sum()`` and ``sum(dim, keepdim=False)`` are ``def sum(self, dim=MISSING, keepdim=MISSING)``: Python
sorts positions and keywords out, much faster than ``*args, **keywords`` could be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.annotations import default
from ..model.operators import Operator
from ..model.schema import Argument

#: The default of what not every overload has.
MISSING = "MISSING"


@dataclass(frozen=True, slots=True)
class Nested:
    """What the overloads have in common, without ``self``."""

    slots: tuple[Argument, ...]  # by position or keyword; each may be missing
    keywords: tuple[tuple[Argument, str], ...]  # by keyword only, with the default of the signature


def nested(operators: Sequence[Operator]) -> Nested | None:
    """The common signature; None where names, or what a position means, differ."""
    firsts = {(o.schema.positional[0].name, str(o.schema.positional[0].type)) for o in operators}
    if len(operators) < 2 or len(firsts) > 1:
        return None
    slots = max((o.schema.positional[1:] for o in operators), key=len)
    for o in operators:
        for mine, common in zip(o.schema.positional[1:], slots, strict=False):
            if mine.name != common.name:
                return None
    names = {a.name for a in slots}
    keywords: dict[str, Argument] = {}
    for o in operators:
        for a in o.schema.kwarg_only:
            known = keywords.setdefault(a.name, a)
            if a.name in names or default(a) is None or default(a) != default(known):
                return None
    everywhere = {
        name for name in keywords if all(name in {a.name for a in o.schema.kwarg_only} for o in operators)
    }
    return Nested(
        tuple(slots),
        tuple((a, default(a) or "" if name in everywhere else MISSING) for name, a in keywords.items()),
    )


def given(operator: Operator, common: Nested) -> Iterator[tuple[int, list[str]]]:
    """How many positions a call of the overload fills, with the names that must be missing then."""
    rest = operator.schema.positional[1:]
    required = sum(default(a) is None for a in rest)
    rare = [a.name for a, text in common.keywords if text == MISSING]
    for count in sorted({required, len(rest)}):
        yield count, [*(a.name for a in common.slots[count:]), *rare]
