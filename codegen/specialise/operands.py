"""Specialise: what kernels are given for the arguments of operators, and what arguments may not be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from ...ir.expressions import (
    Attribute,
    Call,
    Clause,
    Comprehension,
    Conditional,
    Constant,
    Expr,
    Keyword,
    Name,
    dotted,
    replaced,
)
from ...ir.statements import unless_none
from ...ir.types import MASK, OWN, WEAK, ValueType
from ..model.annotations import parameter_name
from ..model.operators import Forbidden, Kernel, Operator, fields_of
from ..model.schema import Argument
from .environments import type_of
from .headers import plain_arguments


def forbidden_of(operator: Operator) -> tuple[tuple[Expr, Expr], ...]:
    """What the parameters of an operator's methods may not be, each with the text of the error."""
    return tuple([_forbiddance(forbidden, operator) for forbidden in operator.forbidden])


def _forbiddance(forbidden: Forbidden, operator: Operator) -> tuple[Expr, Expr]:
    """What the parameters of a method may not be, and the text of the error, with the operator first."""
    said = f"{operator.public or operator.name.base}: {forbidden.text}"
    parameters = {a.name: Name(parameter_name(a.name)) for a in plain_arguments(operator)}
    given = dict.fromkeys(field.partition(".")[0] for field in fields_of(said))
    keywords = tuple([Keyword(name, parameters[name]) for name in given])
    if keywords:
        text: Expr = Call(Attribute(Constant(said), "format"), (), keywords)
    else:
        text = Constant(said.format())  # doubled braces are single ones
    return replaced(forbidden.condition, parameters), text


def array_of(argument: Argument, hooked: bool, converted: bool = False) -> Expr:
    """The array, or the plain value, that a kernel gets for an argument.

    ``converted``: the library's own dtype for a dtype.
    """
    given = Name(parameter_name(argument.name))
    optional = "?" in str(argument.type)
    if argument.type.required.is_dtype:
        own = Call(dotted("T.backend.array_dtype"), (given,))
        value: Expr = own if converted else Attribute(given, "array_dtype")
    elif argument.is_tensor:
        value = _operand(given, hooked)
    elif argument.is_tensor_list:
        each = Name("t")
        item = _operand(each, hooked)
        item = unless_none(each, item) if optional else item
        return Comprehension("list", item, (Clause(each, given),))
    else:
        return given
    return unless_none(given, value) if optional else value


def _operand(tensor: Expr, hooked: bool) -> Expr:
    """The array of a tensor; a reduced one in the type computed in, where other types stay as they are."""
    array = Attribute(tensor, "_array")
    return Call(dotted("T.load"), (array,)) if hooked else array


def promoted_type(argument: Argument, operator: Operator) -> ValueType:
    """The type of an argument: those that promote together are of the Type, or numbers that it holds."""
    if argument.name in operator.masks:
        return MASK
    if operator.prepared is not None and argument.name in operator.prepared.prepared:
        return OWN
    promoted = argument.name in operator.promoted
    if argument.is_tensor and (promoted or argument.name in ("self", *operator.same_dtype)):
        return OWN
    return WEAK if argument.type.is_scalar and promoted else type_of(argument.type)


def tensors_of(operator: Operator) -> tuple[str, ...]:
    """The parameters that are tensors."""
    return tuple([parameter_name(a.name) for a in operator.schema.arguments if a.type.is_tensor])


def prepared(
    kernel: Kernel,
    arrays: Mapping[str, Expr],
    function: Callable[[str], Expr],
    first: tuple[Expr, ...],
    kept: Collection[str],
) -> dict[str, Expr]:
    """The operands that a kernel has looked at before it computes, as they come from that.

    ``function`` is what looks, by its name, and is given ``first`` before all else. What it gave may be a
    local, one of ``kept``, with an underscore before the name.
    """
    found: dict[str, Expr] = {}
    for name, expr in kernel.prepared.items():
        assert isinstance(expr, Call) and isinstance(expr.function, Name)
        if name not in arrays:
            continue
        looks = function(expr.function.id)
        given, *others = [replaced(argument, arrays) for argument in expr.arguments]
        if f"_{name}" in kept:
            found[name] = Name(f"_{name}")
        elif isinstance(given, Conditional):  # None if x is None else x._array
            found[name] = replace(given, otherwise=Call(looks, (*first, given.otherwise, *others)))
        else:
            found[name] = Call(looks, (*first, given, *others))
    return found
