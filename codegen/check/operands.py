"""Check: operands that are looked at before an expression of elements is computed, and those that are bool.

``xp.where(mask, a, b)`` says of an operand that it is bool. ``f(x, ...)`` of a function whose definition says
that it gives an ``Operand``, or a ``Mask``, raises the errors for an operand, or converts it, before anything
is computed. All else sees the expression of the operands themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...ir.expressions import Call, Constant, Expr, Name, Operation, dotted, rewritten
from ...ir.types import LOGIC

#: What definitions of functions say that they give: an operand as it is computed with, or a condition.
OPERAND, MASK = "Operand", "Mask"
#: The function that looks at a condition of which nothing is said.
TRUTH = "truth"
_WHERE = dotted("xp.where")

#: What the function of a name gives: one of the words above, or "".
Gives = Callable[[str], str]


class Operands:
    """What an expression says of its operands; ``tree`` is the expression without that."""

    def __init__(self, tree: Expr, operator: str, tensors: Iterable[str], gives: Gives) -> None:
        """``tensors`` are the operands that may be conditions."""
        self.gives = gives
        self.prepared: dict[str, Expr] = {}
        self.tree = rewritten(tree, self._without_call)
        uses = list(_uses(self.tree))
        for name in {name.id for name, is_condition in uses if is_condition}.intersection(tensors):
            self.prepared.setdefault(
                name, Call(Name(TRUTH), (Name(name), Constant(operator), Constant(name)))
            )
        self.masks = frozenset(name for name, call in self.prepared.items() if gives(_function(call)) == MASK)
        #: A condition of which nothing is said, and that stands as something else: libraries differ in it.
        plain = [name for name, call in self.prepared.items() if _function(call) == TRUTH]
        self.wrong = next((name for name, is_one in uses if name.id in plain and not is_one), None)

    @property
    def functions(self) -> frozenset[str]:
        """The functions that look at operands."""
        return frozenset(map(_function, self.prepared.values()))

    def _without_call(self, part: Expr) -> Expr:
        """The operand in the place of the call that prepares it."""
        match part:
            case Call(Name(function), (Name(operand), *_)) if self.gives(function):
                self.prepared[operand] = part
                return Name(operand, span=part.span)
        return part


def _function(call: Expr) -> str:
    assert isinstance(call, Call) and isinstance(call.function, Name)
    return call.function.id


def _uses(expr: Expr, is_condition: bool = False) -> Iterator[tuple[Name, bool]]:
    """The names of an expression, each with whether it stands as a condition."""
    match expr:
        case Name():
            yield expr, is_condition
        case Call(function, (condition, *others)) if function == _WHERE:
            yield from _uses(condition, True)
            for other in others:
                yield from _uses(other)
        case Operation(symbol, operands) if is_condition and symbol in LOGIC:
            for operand in operands:
                yield from _uses(operand, True)
        case Operation("is" | "is not"):
            return
        case _:
            for part in expr.parts:
                yield from _uses(part)
