"""Trials: what a program gives beside what the function gave, of the same tensors.

Where results differ, rounding may be why: a gradient that is 0 in theory is noise, of which Adam makes steps.
Then the program runs on the tensors as they are behind the call, and on others that differ in their
last bits: that tells what rounding does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..random import default_generator
from ..utils.pytree import tree_flatten
from .differences import problem, spread
from .entries import Entry, Prepared
from .executable import Failed
from .steps import counts_of

#: By how many units in the last place inputs are changed, and how many times as much results may differ.
_NUDGE, _ALLOWED = 4, 16


class Trial:
    """A program's results, beside the function's."""

    def __init__(self, entry: Entry, prepared: Prepared, state: Any) -> None:
        """Of what the function is given, before its call; the generator had this state."""
        self.entry, self.prepared, self.state = entry, prepared, state
        self._tensors = self._copied()

    def _copied(self) -> list[Any]:
        written = {*self.entry.written}
        return [t.clone() if i in written else t for i, t in enumerate(self.prepared[1])]

    def difference(self, result: Any, after: Any) -> str:
        """How what the program gives differs from the function's result and effects; "" if it does not.

        ``after`` is the generator's state behind the function's call.
        """
        try:
            found = self._run(self._tensors)
            if not bool((default_generator.get_state() == after).all()):
                return "the program draws other random numbers"
            expected = self._expected(result)
            problems = list(map(problem, expected, found))
            if any(problems):
                now, nudged = self._run(self._copied()), self._run([_nudged(t) for t in self._copied()])
                allowed = [_ALLOWED * change for change in map(spread, now, nudged)]
                problems = list(map(problem, expected, found, allowed))
        except Failed:
            return "the program fails where the function does not"
        finally:
            default_generator.set_state(after)
        return next((f"output {i} {text}" for i, text in enumerate(problems) if text), "") or self._counts()

    def _run(self, tensors: list[Any]) -> list[Any]:
        """What the program gives, sets and writes, of tensors that it may write to."""
        default_generator.set_state(self.state)
        found = self.entry.results(tensors)
        effects = self.entry.effects
        grads = [] if effects is None else effects.set_to(found)
        leaves = tree_flatten(self.entry.put(found))[0]
        return [*leaves, *grads, *[tensors[i] for i in self.entry.written]]

    def _expected(self, result: Any) -> list[Any]:
        inputs, tensors, _ = self.prepared
        effects = self.entry.effects
        grads = [] if effects is None else [g.of(inputs)._grad for g in effects.gradients if g.is_set]
        return [*tree_flatten(result)[0], *grads, *[tensors[i] for i in self.entry.written]]

    def _counts(self) -> str:
        same = all([counts_of(counters) == [*now] for counters, now in self.prepared[2]])
        return "" if same else "a step is counted otherwise"


def _nudged(tensor: Any) -> Any:
    """A tensor that differs in the last bits of its elements, some up and some down."""
    array = tensor._array
    if array.dtype.char not in "fdFD" or not array.flags.c_contiguous:
        return tensor
    signs = np.where(np.arange(array.size, dtype=np.uint32) * np.uint32(2654435761) < 2**31, 1, -1)
    factors = 1 + signs.reshape(array.shape) * (_NUDGE * np.finfo(array.dtype).eps)
    return tensor._type.wrap(np.array(array * factors, array.dtype)).requires_grad_(tensor._requires_grad)
