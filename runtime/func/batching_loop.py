"""The fallback for operators without a batching rule: a loop over the batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated.functions import stack

from ..core.operands import map_tensors
from ..core.user_stack import program_stacklevel
from ..tensors.tensor import Tensor
from .batched import is_batched_at, move_batch_dim_to_front
from .batching_rules import Rule, wrap_results

if TYPE_CHECKING:
    from ..core.protocols import Operator
    from .level import VmapLevel


class ForLoopFallback(Rule):
    """Runs the operator on each slice and stacks the results; a warning says so."""

    __slots__ = ()

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        with level.lower():
            return wrap_results(self.values(level, operator, arguments), level)

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"{operator.name}: it is run in a loop over the batch.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
        return loop_and_stack(level, operator, arguments)


def loop_and_stack(level: VmapLevel, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The stacked results of the operator on each slice."""
    return _stacked(loop_over_batch(level, operator, arguments), level.size)


def loop_over_batch(level: VmapLevel, operator: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """The results of the operator on each slice; for an empty batch, on one slice of zeros."""
    batched = map_tensors(
        lambda t: _Batched(move_batch_dim_to_front(t)) if is_batched_at(t, level) else t, arguments
    )
    return [operator(*_slice_of(batched, i)) for i in range(level.size) or (None,)]


class _Batched:
    """Stands for a tensor of the level among the arguments."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _slice_of(arguments: Any, index: int | None) -> list[Any]:
    """The arguments with one slice of each batched tensor; zeros of its shape for an empty batch."""
    made: list[Any] = []
    for a in arguments:
        if a.__class__ is _Batched:
            value = a.value
            made.append(value.new_zeros(value._array.shape[1:]) if index is None else value.select(0, index))
        elif a.__class__ in (list, tuple):
            made.append(tuple(_slice_of(a, index)))
        else:
            made.append(a)
    return made


def _stacked(results: list[Any], size: int) -> Any:
    """The results of the slices, stacked; all have one structure."""
    first = results[0]
    if first is None:
        return None
    if isinstance(first, Tensor):
        if size == 0:
            return first.new_empty((0, *first._array.shape))
        if any([r._array.shape != first._array.shape for r in results]):
            raise RuntimeError(
                "vmap: the results for different slices have different shapes: "
                f"{', '.join(str(list(r._array.shape)) for r in results)}"
            )
        return stack(results)
    if not isinstance(first, (tuple, list)):
        raise RuntimeError(f"vmap: an operator that returns {type(first).__name__} cannot be batched")
    made = [_stacked(list(parts), size) for parts in zip(*results, strict=True)]
    return made if first.__class__ is list else first.__class__(made)
