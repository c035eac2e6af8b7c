"""Of an operator that writes, the one that computes what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tengen.generated.operators import OPERATORS, OVERLOADS

from .arguments import Rejected, bind_arguments
from .operator import Operator, operator as find_operator


def functional_variant(operator: Operator, arguments: Sequence[Any]) -> Operator | None:
    """The functional operator of an in-place or out variant, for these arguments without ``out``; or None."""
    base = operator.base
    if base in OPERATORS:
        return find_operator(base)
    for name in OVERLOADS.get(base or "", ()):  # an in-place operator may name the function alone: transpose_
        found = find_operator(name)
        try:
            bind_arguments(found.parameters, tuple(arguments), {})
        except Rejected:
            continue
        return found
    return None
