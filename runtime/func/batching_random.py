"""Random operators on tensors of a vmap level, and anywhere in a function that is vmapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.operands import map_tensors
from ..core.tensor_base import TensorBase
from ..formulas.batching import pad_to_logical_rank
from ..random import Generator, default_generator
from .batched import ensure_batch_dim, is_batched_at, move_batch_dim_to_front, wrap
from .batching_loop import loop_and_stack
from .batching_rules import Rule
from .batching_writes import unbatched_target_error

if TYPE_CHECKING:
    from ..core.protocols import Operator
    from .level import VmapLevel


class Random(Rule):
    """Draws random numbers, as ``randomness`` says: different ones for each slice, or the same for all.

    ``batched_rule`` is the rule that draws for the whole batch at once; without it there is a loop.
    """

    __slots__ = ("batched_rule",)

    is_random = True

    def __init__(self, batched_rule: Rule | None) -> None:
        self.batched_rule = batched_rule

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        check_randomness(level)
        if level.randomness == "same" and not level.any_batched(arguments):
            with level.lower():
                return operator(*arguments)
        return super().run(level, operator, arguments)

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        if level.randomness == "same":
            return loop_and_stack(level, _SameState(operator, arguments), arguments)
        if self.batched_rule is None:
            return loop_and_stack(level, operator, arguments)
        if not level.any_batched(arguments) and not isinstance(self.batched_rule, BatchedSize):
            # The first tensor, the same for all, is given to each, so that each draws its own.
            return self.batched_rule.values(level, operator, _batch_first_tensor(level, arguments))
        return self.batched_rule.values(level, operator, arguments)

    def write(self, level: VmapLevel, operator: Operator, base: Operator, arguments: Sequence[Any]) -> Any:
        check_randomness(level)
        target, *rest = arguments
        if not is_batched_at(target, level):
            if level.any_batched(rest):
                raise unbatched_target_error(operator)
            if level.randomness == "different":
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
                    "appear like same randomness."
                )
            with level.lower():
                return operator(*arguments)
        if level.randomness == "same":
            from .batching_writes import write_functional

            return write_functional(level, operator, base, arguments)
        with level.lower():
            ndim = target._array.ndim
            operator(
                move_batch_dim_to_front(target),
                *map_tensors(lambda t: pad_to_logical_rank(ensure_batch_dim(t, level), ndim), rest),
            )
        return target


class BatchedSize(Rule):
    """Calls a creation operator with the batch size in front of ``size``."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        given = list(arguments)
        given[self.size] = (level.size, *given[self.size])
        return operator(*given)


class _SameState:
    """An operator that draws the same numbers whenever it is called."""

    __slots__ = ("generator", "operator", "state")

    def __init__(self, operator: Operator, arguments: Sequence[Any]) -> None:
        given = [a for a in arguments if isinstance(a, Generator)]
        self.operator = operator
        self.generator = given[0] if given else default_generator
        self.state = self.generator.get_state()

    def __call__(self, *arguments: Any) -> Any:
        self.generator.set_state(self.state)
        return self.operator(*arguments)


def _batch_first_tensor(level: VmapLevel, arguments: Sequence[Any]) -> Sequence[Any]:
    """The first tensor is enough; others may be numbers to the operator, as the bounds of integers are."""
    first = next(i for i, a in enumerate(arguments) if isinstance(a, TensorBase))
    given = wrap(ensure_batch_dim(arguments[first], level), 0, level)
    return (*arguments[:first], given, *arguments[first + 1 :])


def check_randomness(level: VmapLevel) -> None:
    """Raise RuntimeError if the level's randomness is "error"."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
            "'different' randomness flags on vmap or perform the randomness operation out of vmap"
        )
