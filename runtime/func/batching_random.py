"""Random operators on tensors of a vmap level, and anywhere in a function that is vmapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.operands import map_tensors
from ..core.tensor_base import TensorBase
from ..random import Generator, default_generator
from .batched import front, is_of, leading, wrap
from .batching_loop import examples
from .batching_rules import Rule, padded
from .batching_writes import unbatched

if TYPE_CHECKING:
    from ..dispatch.operator import Operator
    from .level import VmapLevel


class Random(Rule):
    """Draws random numbers, for each example its own or the same for all, as vmap was told.

    ``at_once`` is the rule by which all examples draw at once; None: one after the other.
    """

    __slots__ = ("at_once",)

    draws = True

    def __init__(self, at_once: Rule | None) -> None:
        self.at_once = at_once

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        check_randomness(level)
        if level.randomness == "same" and not level.holds(arguments):
            with level.working():
                return operator(*arguments)
        return super().run(level, operator, arguments)

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        if level.randomness == "same":
            return examples(level, _Again(operator, arguments), arguments)
        if self.at_once is None:
            return examples(level, operator, arguments)
        if not level.holds(arguments) and not isinstance(self.at_once, Sized):
            # The first tensor, the same for all, is given to each, so that each draws its own.
            return self.at_once.values(level, operator, _given_to_each(level, arguments))
        return self.at_once.values(level, operator, arguments)

    def write(self, level: VmapLevel, operator: Operator, base: Operator, arguments: Sequence[Any]) -> Any:
        check_randomness(level)
        target, *rest = arguments
        if not is_of(target, level):
            if level.holds(rest):
                raise unbatched(operator)
            if level.randomness == "different":
                raise RuntimeError(
                    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
                    "appear like same randomness."
                )
            with level.working():
                return operator(*arguments)
        if level.randomness == "same":
            from .batching_writes import write_result

            return write_result(level, operator, target, base(*arguments))
        with level.working():
            ndim = target._array.ndim
            operator(front(target), *map_tensors(lambda t: padded(leading(t, level), ndim), rest))
        return target


class Sized(Rule):
    """A creation operator makes the results of all examples, being told a larger size."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        given = list(arguments)
        given[self.size] = (level.size, *given[self.size])
        return operator(*given)


class _Again:
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


def _given_to_each(level: VmapLevel, arguments: Sequence[Any]) -> Sequence[Any]:
    """The first tensor is enough; others may be numbers to the operator, as the bounds of integers are."""
    first = next(i for i, a in enumerate(arguments) if isinstance(a, TensorBase))
    given = wrap(leading(arguments[first], level), 0, level)
    return (*arguments[:first], given, *arguments[first + 1 :])


def check_randomness(level: VmapLevel) -> None:
    """RuntimeError where vmap was told that nothing random happens."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
            "'different' randomness flags on vmap or perform the randomness operation out of vmap"
        )
