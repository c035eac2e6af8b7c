"""In-place operators and ``out=`` on tensors of a vmap level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.forward.forward_grad import levels as forward_levels, tangent_of
from ..autograd.grad_mode import grad_mode
from ..autograd.input_metadata import broadcasts_to
from ..autograd.variable_type_utils import check_cast, requires_grad_in
from ..formulas.batching import pad_to_logical_rank
from ..tensors.tensor import Tensor
from .batched import is_batched_at, move_batch_dim_to_front
from .batching_rules import Rule, rule_of

if TYPE_CHECKING:
    from ..core.protocols import Operator
    from .level import VmapLevel


class InPlace(Rule):
    """Writes into ``self`` what the functional operator ``base`` gives."""

    __slots__ = ("base", "is_random")

    def __init__(self, base: Operator) -> None:
        self.base = base
        rule = rule_of(base)
        self.is_random = rule is not None and rule.is_random

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        rule = rule_of(self.base)
        shared = memory_of_all_slices(arguments[0], level)
        if not is_batched_at(shared, level) and not self.is_random:
            rest = [memory_of_all_slices(value, level) for value in arguments[1:]]
            if level.any_batched(rest):
                raise unbatched_target_error(operator)
            operator(shared, *rest)
            return arguments[0]
        if rule is None:
            return write_functional(level, operator, self.base, arguments)
        return rule.write(level, operator, self.base, arguments)


class Out(Rule):
    """Writes into ``out`` what the functional operator ``base`` gives."""

    __slots__ = ("base",)

    def __init__(self, base: Operator) -> None:
        self.base = base

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        *given, out = arguments
        targets = [memory_of_all_slices(t, level) for t in ((out,) if isinstance(out, Tensor) else out)]
        if not level.any_batched(targets):
            given = [memory_of_all_slices(value, level) for value in given]
        found = self.base(*given)
        results = (found,) if isinstance(found, Tensor) else tuple(found)
        for target, result in zip(targets, results, strict=True):
            if is_batched_at(result, level) and not is_batched_at(target, level):
                raise unbatched_target_error(operator)
            if target._array.shape != result._array.shape:
                raise RuntimeError(
                    f"{operator.function}: vmap: an out tensor is not resized: it has shape "
                    f"{list(target._array.shape)}, and the result {list(result._array.shape)}"
                )
            check_cast(operator.function, result._type, target._type)
        for target, result in zip(targets, results, strict=True):
            if is_batched_at(target, level):
                write_result(level, operator, target, result)
            else:
                target.copy_(result)
        return out


def write_functional(level: VmapLevel, operator: Operator, base: Operator, arguments: Sequence[Any]) -> Any:
    """Write what ``base`` gives into its first argument, a tensor of the level.

    Where it is recorded it is given a copy: what its Node saves is not written over.
    """
    target, *rest = arguments
    source = target.clone() if grad_mode.enabled and requires_grad_in(arguments) else target
    return write_result(level, operator, target, base(source, *rest))


def write_result(level: VmapLevel, operator: Operator, target: Any, result: Any) -> Any:
    """Write ``result`` into ``target``, a tensor of the level; it may be broadcast to its shape."""
    shape, found = target._array.shape, result._array.shape
    if shape != found and not broadcasts_to(found, shape):
        raise RuntimeError(
            f"{operator.function}: output with shape {list(shape)} doesn't match the broadcast shape "
            f"{list(found)}"
        )
    check_cast(operator.function, result._type, target._type)
    with level.lower():
        value = (
            pad_to_logical_rank(move_batch_dim_to_front(result), len(shape))
            if is_batched_at(result, level)
            else result
        )
        move_batch_dim_to_front(target).copy_(value)
    return target


def memory_of_all_slices(target: Any, level: VmapLevel) -> Any:
    """What is written below the level where all slices of a target are the same memory; else the target.

    An input of a transform inside of vmap is expanded where it is not batched, so that each slice has a
    gradient of its own; what is detached from it shares its memory. Slices with tangents are left alone.
    """
    if not is_batched_at(target, level) or (target._requires_grad and grad_mode.enabled):
        return target
    value, dim = target._value, target._bdim
    if value._array.shape[dim] < 2 or value._type.backend.lib.strides(value._array)[dim]:
        return target
    if any([tangent_of(value, one) is not None for one in forward_levels()]):
        return target
    with level.lower():
        return value.select(dim, 0)


def unbatched_target_error(operator: Operator) -> RuntimeError:
    name = operator.function
    return RuntimeError(
        f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in "
        "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
        "`self` not being vmapped over in a vmap. Please try to use out-of-place operators instead of "
        f"{name}."
    )
