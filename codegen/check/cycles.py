"""Check: that composites, and rules by which vmap decomposes operators, end in operators that are none.

A composite that is an expression calls the operators in it, whatever it is given, but for those behind a
condition. Where these calls lead back to it, a call of it never ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...ir.expressions import Attribute, Call, Comprehension, Conditional, Expr, Lambda, Logical, Name
from ..model.diagnostics import Report
from ..model.operators import Formula, Operator, by_function
from ..model.schema import OperatorName
from ..parse.formula import length_of, place_of
from .names import call_problem, schema_arity

#: By operator, the call that leads from it to another.
_Calls = dict[OperatorName, dict[OperatorName, tuple[Formula, Call]]]


def check_cycles(
    operators: Mapping[OperatorName, Operator], by_hand: Collection[str], report: Report
) -> None:
    """Reports each circle of composites once, at the call that leads into it.

    ``by_hand`` are the methods of Tensor that are not those of operators.
    """
    overloads = by_function(operators.values())
    calls: _Calls = {}
    for operator in operators.values():
        for formula, helpers in _formulas(operator):
            for call, called, bound in _certain_calls(formula.tree):
                target = _target(overloads.get(called, ()), call, bound)
                if target is not None and called not in (by_hand if bound else helpers):
                    calls.setdefault(operator.name, {}).setdefault(target.name, (formula, call))
    reported: set[OperatorName] = set()
    for name in calls:
        circle = _circle(name, calls)
        if circle and reported.isdisjoint(circle):
            reported.update(circle)
            formula, call = calls[name][circle[1] if len(circle) > 1 else name]
            way = " -> ".join(map(str, (*circle, name)))
            report.error(
                place_of(formula, call),
                f"{name} is made of itself: {way}",
                length=length_of(formula, call),
                expected="operators that are not made of this one",
            )


def _formulas(operator: Operator) -> Iterator[tuple[Formula, Collection[str]]]:
    """The expressions that run whenever the operator does, or is batched; and the functions in them that
    are no operators."""
    for key, kernel in operator.kernels.items():
        if key.startswith("Composite") and kernel.function is None:
            yield kernel.formula, kernel.calls
    batching = operator.batching
    if batching is not None and batching.kind == "decompose" and batching.formula is not None:
        yield batching.formula, batching.helpers


def _certain_calls(tree: Expr) -> Iterator[tuple[Call, str, bool]]:
    """The calls by name that happen in every case, and whether each is of a method."""
    waiting: list[Expr] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case Conditional(condition):
                waiting.append(condition)
                continue
            case Logical(_, (first, *_)):
                waiting.append(first)
                continue
            case Lambda():
                continue
            case Comprehension(_, _, (clause, *_)):
                waiting.append(clause.iterable)  # the list may be empty
                continue
            case Call(Name(name)):
                yield node, name, False
            case Call(Attribute(_, name)):
                yield node, name, True
        waiting += node.parts


def _target(overloads: list[Operator] | tuple[()], call: Call, bound: bool) -> Operator | None:
    """The one overload that a call can mean; None where it may mean several."""
    ways = [(o, schema_arity(o.schema)) for o in overloads]
    fitting = [o for o, way in ways if call_problem(o.name.function, (way,), call, bound) is None]
    return fitting[0] if len(fitting) == 1 else None


def _circle(start: OperatorName, calls: _Calls) -> list[OperatorName]:
    """A shortest way from an operator to itself; empty where there is none."""
    before: dict[OperatorName, OperatorName] = {}
    waiting = [start]
    for name in waiting:
        for target in calls.get(name, ()):
            if target == start:
                way = [name]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if target not in before:
                before[target] = name
                waiting.append(target)
    return []
