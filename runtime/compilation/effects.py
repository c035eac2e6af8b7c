"""Effects: the gradients that a call reads and sets, and the counts of the steps that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..autograd.autograd_meta import meta_of
from .recorder import Recorded, Unsuitable
from .state import described, hooks_of
from .steps import Counted, Steps, set_counts


@dataclass(frozen=True, slots=True)
class Gradient:
    """What a call does with the gradient of a tensor."""

    #: The tensor, or its number among the inputs.
    owner: Any
    #: What the gradient is before: None, or what programs are made for of it.
    kind: tuple[Any, ...] | None
    #: Whether the call reads or writes the elements of the gradient that was there before.
    is_read: bool
    #: Whether it is another one afterwards: the result of this number, or None.
    is_set: bool
    result: int | None
    hooks: tuple[Any, ...]

    def of(self, inputs: Sequence[Any]) -> Any:
        """The tensor."""
        return inputs[self.owner] if isinstance(self.owner, int) else self.owner


class Effects:
    """What a call does beside giving and writing tensors."""

    def __init__(self, gradients: Sequence[Gradient], steps: Steps) -> None:
        self.gradients, self.steps = gradients, steps

    def objection(self, inputs: Sequence[Any]) -> str:
        """Which gradient is of another kind than those of the call that was recorded; "" if none is."""
        for each in self.gradients:
            owner = each.of(inputs)
            grad = owner._grad
            if (None if grad is None else described(grad)) != each.kind:
                return f"the gradient of a tensor of shape {tuple(owner.shape)} is of another kind"
            if owner._edge is not None or hooks_of(owner) != each.hooks:
                return f"a tensor of shape {tuple(owner.shape)} is no leaf or has other hooks"
        return ""

    def given(self, inputs: Sequence[Any], own: Sequence[Any]) -> tuple[list[Any], list[Counted]] | None:
        """What the program is given, and what counts become; None where a step is of another kind."""
        numbers = self.steps.numbers()
        if numbers is None:
            return None
        grads = [each.of(inputs)._grad for each in self.gradients if each.is_read]
        return [*inputs, *numbers[0], *own, *grads], numbers[1]

    def take(self, inputs: Sequence[Any], found: Sequence[Any], counted: Sequence[Counted]) -> None:
        """Set the gradients and counts, by the program's results."""
        set_counts(counted)
        owners = [each.of(inputs) for each in self.gradients if each.is_set]
        for owner, grad in zip(owners, self.set_to(found), strict=True):
            meta_of(owner).grad = grad

    def set_to(self, found: Sequence[Any]) -> list[Any]:
        """The gradients that the call sets, of the program's results."""
        return [None if g.result is None else found[g.result] for g in self.gradients if g.is_set]


def effects_of(call: Recorded, inputs: Sequence[Any], reached: Sequence[Any]) -> Effects | None:
    """The effects of a call; None if it has none. Unsuitable where a program cannot have them.

    ``reached`` are tensors that a later call finds again. Those of the graph's constants that are gradients
    become its last ones.
    """
    graph = call.graph
    assert graph is not None
    numbers = {id(tensor): number for number, tensor in enumerate(inputs)}
    results = {id(tensor): number for number, tensor in enumerate(call.outputs)}
    constants = {id(constant.tensor): constant for constant in graph.constants}
    known = {id(tensor) for tensor in reached}
    found, last = [], []
    for tensor, before, after in call.grads:
        owner = numbers.get(id(tensor), tensor)
        if owner is tensor and id(tensor) not in known:
            raise Unsuitable("it sets the gradient of a tensor that a later call does not find")
        constant = constants.get(id(before))
        last += [] if constant is None else [constant]
        result = None if after is before or after is None else results[id(after)]
        kind = None if before is None else described(before)
        found.append(
            Gradient(owner, kind, constant is not None, after is not before, result, hooks_of(tensor))
        )
    if found and any([tensor._edge is not None for tensor in inputs]):
        raise Unsuitable("it sets gradients, and is given a tensor that has a history")
    graph.constants = [each for each in graph.constants if each not in last] + last
    counters = {id(c) for step in call.steps.found for each in step.counters for c in each}
    if any([id(tensor) in counters for tensor in (*inputs, *[c.tensor for c in graph.constants])]):
        raise Unsuitable("it computes with the counts of an optimiser's steps")
    return Effects(found, call.steps) if found or call.steps.found else None
