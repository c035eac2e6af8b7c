"""Of an operator that writes, the one that computes what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tengen.generated.operators import OPERATORS, OVERLOADS

from ..core.protocols import Operator
from .arguments import Rejected, bind_arguments
from .operator import operator as find_operator


def _takes_the_same(functional: Operator, operator: Operator) -> bool:
    """Whether arguments are in one order: ``polygamma_`` has them in another one."""
    names, written = ([p.name for p in o.parameters] for o in (functional, operator))
    return [n for n in names if n in written] == [n for n in written if n in names]


def functional_variant(operator: Operator, arguments: Sequence[Any]) -> Operator | None:
    """The functional operator of an in-place or out variant, for these arguments without ``out``; or None."""
    base = operator.base
    if base in OPERATORS:
        found = find_operator(base)
        return found if _takes_the_same(found, operator) else None
    for name in OVERLOADS.get(base or "", ()):  # an in-place operator may name the function alone: transpose_
        found = find_operator(name)
        try:
            bind_arguments(found.parameters, tuple(arguments), {})
        except Rejected:
            continue
        return found
    return None
