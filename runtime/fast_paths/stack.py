"""The stack along a fast path: how high it is at each instruction, as operations.def says.

A fast path that would take what is not there, or push too much, or come to one place by ways of different
heights, is ``Malformed``: the machine, which looks at nothing, would read and write beside its stack.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from . import machine

#: The label of the place where a fast path is left, at any height.
OUT: Final = "out"
#: What stands for as many values as an instruction's number says, and for a way that is not gone.
_MANY, _NEVER = "*n", "never"


class Malformed(Exception):
    """The text is no fast path."""


class Effect(NamedTuple):
    """What an operation takes and leaves: so many values, and how often as many as its number says."""

    takes: int
    takes_many: int
    leaves: int
    leaves_many: int
    goes_on: bool

    @classmethod
    def of(cls, text: str) -> Effect:
        """As it is written: ``function *n -- result``."""
        before, after = (part.split() for part in text.split("--"))
        goes_on = _NEVER not in after
        counts = [(len(words) - words.count(_MANY), words.count(_MANY)) for words in (before, after)]
        return cls(*counts[0], *(counts[1] if goes_on else (0, 0)), goes_on)

    def height(self, before: int, number: int) -> int:
        """How high the stack is afterwards. Raises Malformed where there is too little on it."""
        takes, takes_many, leaves, leaves_many, _ = self
        low = before - takes - takes_many * number
        if low < 0:
            raise Malformed(f"it takes {before - low} values, and there are {before}")
        return low + leaves + leaves_many * number


class Effects(NamedTuple):
    """What an operation does to the stack where it goes on, and where it jumps, if it does."""

    stays: Effect
    jumps: Effect | None


#: By the names of the operations.
EFFECTS: Final = {
    name: Effects(Effect.of(stack), Effect.of(jump) if jump else None)
    for name, (_, _, stack, jump) in machine.operations.items()
}


class Stack:
    """Follows the height along a fast path; where nothing leads to an instruction, it is unknown."""

    def __init__(self, deepest: int) -> None:
        self.deepest = deepest
        self.height: int | None = 0
        self.expected: dict[str, int] = {}  # by the labels that were jumped to
        self.placed: set[str] = set()

    def run(self, operation: str, number: int, label: str) -> None:
        """An instruction, which may jump to a label."""
        before, (stays, jumps) = self.height, EFFECTS[operation]
        if before is None:
            return
        try:
            if jumps is not None and label != OUT:
                self._lead(label, jumps.height(before, number))
            after = stays.height(before, number)
        except Malformed as error:
            raise Malformed(f"{operation}: {error}") from None
        if after > self.deepest:
            raise Malformed(f"{operation}: more than {self.deepest} values")
        self.height = after if stays.goes_on else None

    def place(self, label: str) -> None:
        """The place of a label."""
        if label in self.placed:
            raise Malformed(f"{label} is at two places")
        if label == OUT:
            self.height = 0
        elif self.height is None:
            self.height = self.expected.get(label)
        else:
            self._lead(label, self.height)
        self.placed.add(label)

    def _lead(self, label: str, height: int) -> None:
        if label in self.placed and label not in self.expected:
            raise Malformed(f"the height at {label} is unknown")
        if self.expected.setdefault(label, height) != height:
            raise Malformed(f"{self.expected[label]} values at {label} by one way, {height} by another")
