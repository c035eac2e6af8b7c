"""Specialise: forward-mode formulas, made cheaper without knowing any operator.

A formula is linear in the tangents of an operator's inputs. So what only a tangent that is None would give
is left out; the conjugate of a conjugate is not computed, nor is that of what is never complex; and a
function that returns the tangents of several results is called once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ...ir.expressions import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Expr,
    Name,
    Operation,
    Subscript,
    mapped,
    names_in,
    rewritten,
    walk,
)
from ...ir.statements import NONE
from ...ir.types import Kind, Types
from ..model.nodes import Term

# -- conjugates ------------------------------------------------------------------------------


def conj(expr: Expr) -> Expr:
    """``expr.conj()``"""
    return Call(Attribute(expr, "conj"))


def _conjugate_of(expr: Expr) -> Expr | None:
    """``x`` of ``x.conj()``."""
    match expr:
        case Call(Attribute(value, "conj"), (), ()):
            return value
    return None


@dataclass(frozen=True, slots=True)
class Conjugates:
    """Takes conjugates of expressions over Tensors."""

    types: Types

    def of(self, expr: Expr) -> Expr:
        """The conjugate of an expression, of the parts of sums and products where that is no more work."""
        whole = conj(expr)
        parts = self._of_parts(expr)
        return whole if parts is None or _count(parts) > _count(whole) else parts

    def _of_parts(self, expr: Expr) -> Expr | None:
        """The conjugate made of those of the parts; None where what a part is cannot be told."""
        inner = _conjugate_of(expr)
        if inner is not None:
            return inner
        type_ = self.types.of(expr)
        if type_.is_real:
            return expr
        match expr:
            case Operation("+" | "-" | "*" | "/" | "-x", operands):
                made = [self._of_parts(operand) for operand in operands]
                known = [part for part in made if part is not None]
                return expr.with_parts(known) if len(known) == len(made) else None
        return conj(expr) if type_.kind is Kind.ARRAY else None


def _count(expr: Expr) -> int:
    return sum([_conjugate_of(part) is not None for part in walk(expr)])


def real(expr: Expr) -> Expr:
    """The expression where nothing is complex: without conjugates, and what is for complex numbers alone."""

    def change(part: Expr) -> Expr:
        match part:
            case Call(Attribute(_, "is_complex"), (), ()):
                return Constant(False)
            case Operation("not x", (Constant(bool() as known),)):
                return Constant(not known)
            case Conditional(Constant(bool() as known), then, otherwise):
                return then if known else otherwise
        return _conjugate_of(part) or part

    return rewritten(expr, change)


# -- calls that several results have in common --------------------------------------------------


def shared_calls(exprs: Sequence[Expr | None], stem: str) -> tuple[list[tuple[str, Expr]], list[Expr]]:
    """Of ``f(...)[0]`` and ``f(...)[1]`` that call, with a name for it, and what uses the name.

    A result without a formula is None.
    """
    calls = Counter(e.value for e in exprs if isinstance(e, Subscript))
    names = {call: f"{stem}{i}" for i, (call, count) in enumerate(calls.items()) if count > 1}
    found: list[Expr] = []
    for expr in exprs:
        if isinstance(expr, Subscript) and expr.value in names:
            found.append(Subscript(Name(names[expr.value]), expr.index))
        else:
            found.append(NONE if expr is None else expr)
    return [(name, call) for call, name in names.items()], found


# -- sums of what single tangents give ----------------------------------------------------------


def terms(expr: Expr, tangents: Collection[str], name: str) -> tuple[tuple[Term, ...], Expr] | None:
    """The sum that a formula's tangents stand in, by terms with one of them each, and what is made of it.

    In the latter ``name`` stands for the sum. None where the formula is not of that form.
    """
    if len(tangents) < 2:
        return None
    node = expr
    while True:
        match node:
            case Operation("+" | "-"):
                break
            # Products meet by broadcasting, which a sum of fewer terms may lack: nothing else is sure to.
            case Operation("*" | "/" | "-x", operands):
                inner = [operand for operand in operands if _tangents_in(operand, tangents)]
                if len(inner) != 1:
                    return None
                node = inner[0]
            case _:
                return None
    parts = list(_parts(node, False))
    found = [
        Term(next(iter(names)), part, negative)
        for part, negative in parts
        if len(names := _tangents_in(part, tangents)) == 1
    ]
    if len(found) < len(parts) or len({t.tangent for t in found}) < 2:
        return None
    return tuple(found), _with_name(expr, node, Name(name))


def _tangents_in(expr: Expr, tangents: Collection[str]) -> frozenset[str]:
    return names_in(expr).intersection(tangents)


def _parts(expr: Expr, negative: bool) -> Iterable[tuple[Expr, bool]]:
    """The terms of a sum, and whether each is subtracted."""
    match expr:
        case Operation("+" | "-" as symbol, (left, right)):
            yield from _parts(left, negative)
            yield from _parts(right, negative is not (symbol == "-"))
        case _:
            yield expr, negative


def _with_name(expr: Expr, node: Expr, name: Expr) -> Expr:
    """The expression with a name in the place of the node, which stands in it once."""
    return name if expr is node else mapped(expr, lambda part: _with_name(part, node, name))
