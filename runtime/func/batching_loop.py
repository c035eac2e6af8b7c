"""The last resort: an operator without a batching rule is run for one example after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated.functions import stack

from ..core.operands import map_tensors
from ..tensors.tensor import Tensor
from .batched import front, is_of
from .batching_rules import Rule, wrapped

if TYPE_CHECKING:
    from ..dispatch.operator import Operator
    from .level import VmapLevel


class Loop(Rule):
    """Runs the operator on each example and stacks the results; a warning says so."""

    __slots__ = ()

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        with level.working():
            return wrapped(self.values(level, operator, arguments), level)

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"{operator.name}: it is run for one example after the other.",
            UserWarning,
            stacklevel=2,
        )
        return examples(level, operator, arguments)


def examples(level: VmapLevel, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """The stacked results of the operator on each example."""
    return _joined(one_by_one(level, operator, arguments), level.size)


def one_by_one(level: VmapLevel, operator: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """The results of the operator on each example; where there are none, on one of zeros."""
    fronted = map_tensors(lambda t: _Examples(front(t)) if is_of(t, level) else t, arguments)
    return [operator(*_at(fronted, i)) for i in range(level.size) or (None,)]


class _Examples:
    """Stands for a tensor of the level among the arguments."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _at(arguments: Any, index: int | None) -> list[Any]:
    """The arguments with one example in place of all; with zeros where there is none."""
    made: list[Any] = []
    for a in arguments:
        if a.__class__ is _Examples:
            value = a.value
            made.append(value.new_zeros(value._array.shape[1:]) if index is None else value.select(0, index))
        elif a.__class__ in (list, tuple):
            made.append(tuple(_at(a, index)))
        else:
            made.append(a)
    return made


def _joined(results: list[Any], size: int) -> Any:
    """The results of all examples as one; their kinds are alike."""
    first = results[0]
    if first is None:
        return None
    if isinstance(first, Tensor):
        if size == 0:
            return first.new_empty((0, *first._array.shape))
        if any([r._array.shape != first._array.shape for r in results]):
            raise RuntimeError(
                "vmap: the results for different examples have different shapes: "
                f"{', '.join(str(list(r._array.shape)) for r in results)}"
            )
        return stack(results)
    if not isinstance(first, (tuple, list)):
        raise RuntimeError(f"vmap: an operator that returns {type(first).__name__} cannot be batched")
    made = [_joined(list(parts), size) for parts in zip(*results, strict=True)]
    return made if first.__class__ is list else first.__class__(made)
