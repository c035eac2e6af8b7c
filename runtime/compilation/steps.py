"""Steps of optimisers: what Python computes of them in each call, and gives to the program as numbers.

Learning rates, and corrections that follow from counts, are others in each call: they are inputs of programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.device import default_device
from ..core.scalar_type import float64
from ..dispatch.legacy_type_dispatch import type_of

#: What the counters of a parameter become: these, and their values.
Counted = tuple[list[Any], Sequence[Any]]


@dataclass(slots=True)
class Step:
    """The step of those parameters of a group that have the same counts."""

    #: What gives choices, numbers, and what the counters become, of a list of what these were.
    numbers: Callable[[Sequence[Any]], Any]
    choices: tuple[Any, ...]
    #: An example of the numbers, in one dimension.
    tensor: Any
    #: The step of the same call, by its number, before which the counters were what it made of them.
    after: int | None
    #: For each parameter its counters.
    counters: list[list[Any]] = field(default_factory=list)


class Steps:
    """All steps of a call, in order."""

    def __init__(self) -> None:
        self.found: list[Step] = []
        self.optimisers: list[Any] = []
        self._numbers: dict[Any, int] = {}
        #: By the ``id`` of a counter, the number of the last step, and what it is then.
        self._last: dict[int, tuple[int, Any]] = {}

    def add(
        self, optimiser: Any, group: Any, counters: list[Any], numbers: Callable[..., Any]
    ) -> Step | None:
        """The step of a parameter, which is counted; None for one whose numbers are tensors."""
        known = [self._last.get(id(counter), (None, counter._array.item())) for counter in counters]
        after, counts = known[0][0] if known else None, [count for _, count in known]
        choices, values, now = numbers(counts)
        if any([hasattr(value, "_array") for value in (*values, *now)]):
            return None
        number = self._numbers.setdefault((id(group), after, choices, values, now), len(self.found))
        if number == len(self.found):
            self.found.append(Step(numbers, choices, _tensor(values), after))
            self.optimisers.append(optimiser)
        self.found[number].counters.append(counters)
        for counter, count in zip(counters, now, strict=True):
            self._last[id(counter)] = number, count
        set_counts([(counters, now)])
        return self.found[number]

    def numbers(self) -> tuple[list[Any], list[Counted]] | None:
        """The tensors of a call, and what the counters become; None where other choices are made."""
        tensors: list[Any] = []
        made: list[Sequence[Any]] = []
        counted: dict[int, Counted] = {}
        for step in self.found:
            if step.after is None:
                counts: Sequence[Any] = counts_of(step.counters[0])
                if any([counts_of(each) != counts for each in step.counters[1:]]):
                    return None
            else:
                counts = made[step.after]
            choices, values, now = step.numbers(counts)
            if choices != step.choices:
                return None
            tensors.append(_tensor(values))
            made.append(now)
            counted.update({id(each[0]): (each, now) for each in step.counters if each})
        return tensors, list(counted.values())


def counts_of(counters: Sequence[Any]) -> list[Any]:
    """The values of counters."""
    return [counter._array.item() for counter in counters]


def set_counts(counted: Sequence[Counted]) -> None:
    """Set the counters as the steps of a call leave them."""
    for counters, values in counted:
        for counter, value in zip(counters, values, strict=True):
            counter._array.fill(value)


def _tensor(values: Sequence[Any]) -> Any:
    return type_of(float64, default_device).wrap(np.array(values, np.float64))
