"""VmapLevel: the layer of one call of ``vmap``.

It runs each operator that one of its tensors is given to by the operator's batching rule, on the values
below. The rules' own calls pass through all layers again, for tangents are those of the values; this one
hands them on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..autograd.grad_mode import grad_mode
from ..autograd.linear_maps import apply_linear
from ..core.interception import Layer, layers
from .batched import BatchedTensor, front, is_of, wrap
from .batching_rules import Rule, rule_of

if TYPE_CHECKING:
    from ..autograd.linear_maps import LinearMap
    from ..dispatch.operator import Operator
    from ..tensors.tensor import Tensor


class VmapLevel(Layer):
    """One level of vmap: ``size`` examples; ``level`` counts from 1, the outermost."""

    #: Whether the function that is vmapped still runs.
    entered = False
    #: Whether a batching rule of this level runs: what it calls works on the values.
    busy = False
    #: How many transforms ran around this one.
    outside = 0

    def __init__(self, level: int, size: int, randomness: str) -> None:
        self.level = level
        self.size = size
        self.randomness = randomness

    def enter(self) -> None:
        super().enter()
        # No call from here on, where an interrupt could come.
        self.outside = grad_mode.transforms
        grad_mode.transforms += 1
        self.entered = True

    def leave(self) -> None:
        if self.entered:
            grad_mode.transforms = self.outside
            self.entered = False
        super().leave()

    def holds(self, arguments: Any) -> bool:
        """Whether one of the arguments, or of the lists among them, is a tensor of this level."""
        for value in arguments:
            kind = value.__class__
            if kind is BatchedTensor:
                if value._layer is self:
                    return True
            elif (kind is tuple or kind is list) and self.holds(value):
                return True
        return False

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        if self.busy:
            return proceed(*arguments)
        rule: Rule | None = rule_of(operator)
        if rule is None or not (rule.draws or self.holds(arguments)):
            return proceed(*arguments)
        return rule.run(self, operator, arguments)

    def linear(self, map: LinearMap, tensor: Tensor, proceed: Callable[[Tensor], Tensor]) -> Tensor:
        if not is_of(tensor, self):
            return proceed(tensor)
        return wrap(apply_linear(map.batched(self.size), front(tensor)), 0, self)

    def apply_function(self, function: Any, arguments: tuple[Any, ...]) -> Any:
        """Apply a user's Function to all examples."""
        from .custom_function import apply_batched

        return apply_batched(function, arguments)

    def working(self) -> _Working:
        """A context for when a rule of this level runs on values."""
        return _Working(self)


class _Working:
    """While it is entered, a level has nothing to say to operators."""

    __slots__ = ("before", "level", "slept")

    def __init__(self, level: VmapLevel) -> None:
        self.level = level

    def __enter__(self) -> None:
        level = self.level
        self.before = level.busy
        self.slept = not level.busy and level.sleep()
        level.busy = True

    def __exit__(self, *error: object) -> None:
        self.level.busy = self.before
        if self.slept:
            try:
                self.level.wake()
            except BaseException:  # an interrupt before it was awake
                self.level.wake()
                raise


def vmap_levels() -> list[VmapLevel]:
    """The vmap levels of this thread, the outermost first."""
    return [found for found in layers() if isinstance(found, VmapLevel)]
