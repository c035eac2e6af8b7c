"""Specialise: where formulas over Tensors compute reduced types in wider ones.

What a formula makes on the way would be rounded to the reduced type, step by step. So its tensors are
widened, and what it gives is rounded once, where it arrives. One elementwise step rounds once by itself, in
kernels that take the reduced type as it is: it is widened only where what it gives is summed afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from ...ir.expressions import COMPARISONS, Attribute, Call, Expr, Name, Operation, free_names, walk
from ...ir.statements import call, names
from ..check.names import SPECIAL_FUNCTIONS, TENSOR_BUILTINS
from ..model.metadata import METADATA
from ..model.names import COMPOSITES
from ..model.nodes import Local
from ..model.operators import Operator, by_function

#: The operations that round nothing.
_EXACT = frozenset({*COMPARISONS, "-x", "+x", "~x", "not x"})
#: How often an elementwise step rounds; anything else may round what it makes on the way.
_ONCE, _OFTEN = 1, 2


class Widening:
    """Which formulas are rounded on the way."""

    def __init__(self, operators: Iterable[Operator]) -> None:
        self.operators = by_function(operators)

    def statements(
        self,
        operator: Operator,
        trees: Iterable[Expr],
        tensors: Sequence[str],
        helpers: Collection[str],
        edge: Expr | None = None,
        is_part: bool = False,
    ) -> Iterator[Local]:
        """The names for what widens the ``tensors`` that formulas of an operator use, where that is needed.

        ``edge`` is where that goes which is computed of the first of them and has its shape, if it is known.
        ``is_part``: what they give is a part of other formulas, which round.
        """
        numbers = {a.name for a in operator.schema.arguments if not a.is_tensor_like}
        plain = {*numbers, *TENSOR_BUILTINS, *helpers}
        parts = [part for tree in trees for part in walk(tree)]
        steps = sum([self._rounds(part, helpers) for part in parts if not self._is_plain(part, plain)])
        if not tensors or not (steps or is_part):
            return
        given = ", ".join(tensors)
        if steps > _ONCE or edge is None:
            yield Local(given, call("widened", *names(tensors)))
        else:
            yield Local(given, call("widened_to_sum", edge, *names(tensors)))

    def _is_plain(self, part: Expr, plain: Collection[str]) -> bool:
        """Whether no tensor takes part: all names are ``plain``, or operators'."""
        return all(name.id in plain or name.id in self.operators for name in free_names(part))

    def _rounds(self, part: Expr, helpers: Collection[str]) -> int:
        """How often a part of a formula rounds, without those that it is made of."""
        match part:
            case Operation(symbol, _):
                return 0 if symbol in _EXACT else _ONCE
            case Call(Name(name), _):
                if name in helpers:
                    return _OFTEN
                return 0 if name in TENSOR_BUILTINS or name in SPECIAL_FUNCTIONS else self._of_operator(name)
            case Call(Attribute(_, name), _):
                return 0 if name in METADATA else self._of_operator(name)
        return 0

    def _of_operator(self, function: str) -> int:
        overloads = self.operators.get(function, [])
        if not any(_computes(o) for o in overloads):
            return 0
        return _ONCE if all(o.is_elementwise for o in overloads) else _OFTEN


def _computes(operator: Operator) -> bool:
    """Whether an operator does arithmetic: it neither shows nor moves elements only."""
    shows = any(r.alias is not None for r in operator.schema.returns)
    composite = any(key in COMPOSITES for key in operator.kernels)
    over_rows = operator.body is not None or "reduction" in operator.tags
    return not shows and (operator.opmath or composite or over_rows)
