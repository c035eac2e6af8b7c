"""Tensors of reduced types in what takes several steps: widened to their ``opmath`` type, rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from ..core.interception import active
from ..core.operands import map_tensors, tensors_in
from ..core.scalar_type import dtype
from .edge import Edge
from .grad_mode import grad_mode
from .linear_maps import Cast, apply_linear

Given = ParamSpec("Given")
Result = TypeVar("Result")


def is_reduced(value: Any) -> bool:
    """Whether something is a tensor that is computed in a wider type than it has."""
    T = getattr(value, "_type", None)
    return T is not None and bool(T.rounds)


def widened(*tensors: Any) -> Any:
    """Tensors, lists of them and None, with those of a reduced type cast to the one that it is computed in.

    A formula of several steps computes so; what it gives is rounded where it arrives.
    """
    found = map_tensors(_widened, tensors)
    return found if len(found) > 1 else found[0]


def widened_to_sum(edge: Edge, *tensors: Any) -> Any:
    """``widened``, of one elementwise step, if what that gives is summed to the shape where ``edge`` leads.

    The first of the tensors, the gradient that came, has the shape of what is given.
    """
    target, number = edge[0], edge[1]
    shape = target.shape[number] if target.type.__class__ is tuple else target.shape
    if tensors[0]._array.shape != shape:
        return widened(*tensors)
    return tensors if len(tensors) > 1 else tensors[0]


def _widened(tensor: Any) -> Any:
    return _cast(tensor, tensor._type.scalar_type.opmath)


def _cast(tensor: Any, scalar_type: dtype) -> Any:
    T = tensor._type
    return tensor if T.scalar_type is scalar_type else apply_linear(Cast(T, T.of(scalar_type)), tensor)


def widened_call(
    T: Any, arguments: Sequence[Any], first: bool = False, one_step: bool = False
) -> list[Any] | None:
    """The arguments of a composite that is rounded once, widened; None where it does not give ``T``.

    That is so where a dtype is asked for, or where a floating tensor of another one takes part. With
    ``first`` results are of the first tensor's dtype, and the others may be of the wide one. ``one_step`` is
    a composite of one operator, which rounds once by itself: None, too, where nothing but its result is kept.
    """
    given = {t._type.scalar_type for t in tensors_in(arguments) if t._type.scalar_type.is_inexact}
    others = {T.scalar_type, T.scalar_type.opmath} if first else {T.scalar_type}
    if T.scalar_type not in given or given - others or any([isinstance(a, dtype) for a in arguments]):
        return None
    if one_step and len(given) == 1 and not (active or _recorded(arguments)):
        return None
    return map_tensors(_widened, arguments)


def _recorded(arguments: Sequence[Any]) -> bool:
    return grad_mode.enabled and any([t._requires_grad for t in tensors_in(arguments)])


def rounded(T: Any, result: Any) -> Any:
    """The result of a call with ``widened_call``'s arguments, with what is wide cast to ``T``."""
    wide = T.scalar_type.opmath
    if not isinstance(result, (tuple, list)):
        return _cast(result, T.scalar_type) if result._type.scalar_type is wide else result
    found = [rounded(T, part) for part in result]
    return found if result.__class__ is list else result.__class__(found)


def rounded_once(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function in Python of several operators, computed as a composite with ``opmath: true`` is.

    Its first argument is a tensor, ``input``, whose dtype its results have.
    """

    def computed(input: Any, *others: Any, **named: Any) -> Any:
        given = is_reduced(input) and widened_call(input._type, [input, *others, *named.values()])
        if not given:
            return function(input, *others, **named)
        count = 1 + len(others)
        result = function(*given[:count], **dict(zip(named, given[count:], strict=True)))
        return rounded(input._type, result)

    return cast(Callable[Given, Result], wraps(function)(computed))
