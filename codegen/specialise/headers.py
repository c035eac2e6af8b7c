"""Specialise: how the methods of Types are called: name, parameters, what they return."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.annotations import annotation, parameter_name, return_annotation
from ..model.operators import Operator
from ..model.schema import Argument


def plain_arguments(operator: Operator) -> tuple[Argument, ...]:
    """The arguments of a Type's method: a factory's dtype and device are the Type itself."""
    arguments = operator.schema.arguments
    if operator.factory is None:
        return arguments
    return tuple(a for a in arguments if not (a.type.is_option and a.kwarg_only))


Parameters = tuple[tuple[str, str], ...]


def parameters(operator: Operator) -> Parameters:
    """The parameters of a Type's method, with their annotations."""
    return tuple([(parameter_name(a.name), annotation(a.type)) for a in plain_arguments(operator)])


def header(operator: Operator, structures: Mapping[str, str]) -> tuple[str, str, Parameters, str]:
    """The name of a method, its operator's, the parameters and what it returns."""
    name = str(operator.name)
    returns = return_annotation(operator.schema.returns, structures.get(name))
    return operator.name.method, name, parameters(operator), returns
