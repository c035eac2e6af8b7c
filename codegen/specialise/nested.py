"""Specialise: one signature for overloads of which each goes on where a shorter one ends.

``sum()`` and ``sum(dim, keepdim=False)`` are ``def sum(self, dim=MISSING, keepdim=MISSING)``: Python
sorts positions and keywords out, much faster than ``*args, **keywords`` could be.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return self.slots + tuple(a for a, _ in self.keywords)

    def may_be_missing(self, operator: Operator, before: Sequence[Operator]) -> frozenset[str]:
        """The arguments of an overload that need not be given, and are MISSING then.

        What tells it from an overload ``before`` it must be given: else that one takes the call.
        """
        has_default = {a.name for a in operator.schema.arguments[1:] if default(a) is not None}
        never = {a.name for a, text in self.keywords if text != MISSING}
        types = {a.name: a.type for a in operator.schema.arguments}
        others = [a for o in before for a in o.schema.arguments if default(a) is not None]
        telling = {a.name for a in others if types.get(a.name, a.type) != a.type}
        return frozenset(has_default - never - telling)


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
