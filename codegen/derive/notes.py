"""Derive: what the author of a declaration should know, though it is no mistake.

An operator of whose results nothing says a derivative refuses ``backward``. Where that is not meant, it is
better known before.
"""

from __future__ import annotations

from ..model.diagnostics import Diagnostic
from ..model.operators import Declarations, Operator
from .derived import Derived
from .differentiate import derivative_of
from .graph import Underivable
from .plan import Language

_EXPECTED = "an entry in derivatives.yaml; one that is a name alone says that none is meant"


def notes(declared: Declarations, derived: Derived) -> list[Diagnostic]:
    """The derivatives that nobody has declared and that do not follow, each with the reason, once."""
    entries = {str(d.name) for d in declared.derivatives}
    operators = {str(v.name): v.operator for v in derived.variants}
    language = Language.of(declared)
    found = []
    for name in sorted(derived.missing - entries):
        operator = operators[name]
        if declared.owns(operator.place):
            message = f"{name} has no derivative: {_reason(operator, language)}"
            found.append(Diagnostic(operator.place, message, expected=_EXPECTED, level="note"))
    return sorted(found, key=lambda n: (n.place.file, n.place.line, n.message))


def _reason(operator: Operator, language: Language) -> str:
    try:
        derivative_of(operator, language)
    except Underivable as reason:
        return str(reason)
    return "it is declared in place only"
