"""VmapLevel: the layer of one call of ``vmap``.

It runs each operator with a batched argument by the operator's batching rule, on the values of the level
below. The operators that a rule calls pass through all layers again, since tangents belong to the values;
this level passes them on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.grad_mode import grad_mode
from ..autograd.linear_maps import apply_linear
from ..core.interception import Layer, layers
from .batched import BatchedTensor, is_batched_at, move_batch_dim_to_front, wrap
from .batching_rules import Rule, rule_of

if TYPE_CHECKING:
    from ..core.protocols import LinearMap, Operator
    from ..core.tensor_base import TensorBase


class VmapLevel(Layer):
    """One level of vmap, of batch size ``size``; ``level`` counts from 1, the outermost."""

    #: Whether the function that is vmapped still runs.
    entered = False
    #: Whether a batching rule of this level runs: the operators that it calls go to the levels below.
    lowered = False
    #: How many transforms this one is nested in.
    outer_transforms = 0

    def __init__(self, level: int, size: int, randomness: str, strict: bool = True) -> None:
        self.level = level
        self.size = size
        self.randomness = randomness
        #: Whether what transforms refuse is refused: a Function whose forward is given ctx.
        self.strict = strict

    def enter(self) -> None:
        super().enter()
        # No call from here on, where an interrupt could come.
        self.outer_transforms = grad_mode.transforms
        grad_mode.transforms += self.strict
        self.entered = True

    def leave(self) -> None:
        if self.entered:
            grad_mode.transforms = self.outer_transforms
            self.entered = False
        super().leave()

    def any_batched(self, arguments: Any) -> bool:
        """Whether one of the arguments, or of the lists among them, is batched at this level."""
        for value in arguments:
            kind = value.__class__
            if kind is BatchedTensor:
                if value._layer is self:
                    return True
            elif (kind is tuple or kind is list) and self.any_batched(value):
                return True
        return False

    def differentiated_inside(self) -> bool:
        """Whether the function is run by a transform inside of this one that is no ``vmap``."""
        inside = [level for level in vmap_levels() if level.level >= self.level]
        return grad_mode.transforms > self.outer_transforms + sum([level.strict for level in inside])

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        if self.lowered:
            return proceed(*arguments)
        rule: Rule | None = rule_of(operator)
        if rule is None or not (rule.is_random or self.any_batched(arguments)):
            return proceed(*arguments)
        return rule.run(self, operator, arguments)

    def linear(
        self, map: LinearMap, tensor: TensorBase, proceed: Callable[[TensorBase], TensorBase]
    ) -> TensorBase:
        if not is_batched_at(tensor, self):
            return proceed(tensor)
        return wrap(apply_linear(map.batched(self.size), move_batch_dim_to_front(tensor)), 0, self)

    def apply_function(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Apply a user's Function to the whole batch."""
        from .custom_function import apply_batched

        return apply_batched(function, arguments)

    def lower(self) -> _Lowered:
        """A context in which operators go to the levels below, as a batching rule of this level needs it."""
        return _Lowered(self)


class _Lowered:
    """The context of ``VmapLevel.lower``."""

    __slots__ = ("before", "level", "suspended")

    def __init__(self, level: VmapLevel) -> None:
        self.level = level

    def __enter__(self) -> None:
        level = self.level
        self.before = level.lowered
        self.suspended = not level.lowered and level.suspend()
        level.lowered = True

    def __exit__(self, *error: object) -> None:
        self.level.lowered = self.before
        if self.suspended:
            try:
                self.level.resume()
            except BaseException:  # an interrupt before it was resumed
                self.level.resume()
                raise


def vmap_levels() -> list[VmapLevel]:
    """The vmap levels of this thread, the outermost first."""
    return [found for found in layers() if isinstance(found, VmapLevel)]
