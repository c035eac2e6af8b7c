"""The classes of Nodes and forward-mode functions, as they are generated; methods.py has those of Types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum


class Unpacked(Enum):
    """What a Node over arrays takes out of a slot, unless it was written to since."""

    TENSOR = "the array of a tensor"
    OPTIONAL = "the same, or None"
    RESULT = "the array of its result"


@dataclass(frozen=True, slots=True)
class Assign:
    """A statement that gives a value a name."""

    name: str  # or several, "grad, self"
    value: str
    unpacked: Unpacked | None = None  # what the value is of a slot
    slot: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


@dataclass(frozen=True, slots=True)
class NativeCall:
    """How a native kernel computes gradients, if it is there."""

    kernel: str  # gives the kernel, or None
    there: str  # the condition, which names it
    small: str  # its call of small arrays
    large: str  # and of others
    spare: tuple[str, ...] = ()  # the statement that finds memory for these

    def statements(self, targets: str, condition: str) -> Iterator[str]:
        """The statements that call it; ``condition``: arrays are small."""
        yield f"if {condition}:"
        yield f"    {targets} = {self.small}"
        yield "else:"
        yield from (f"    {line}" for line in self.spare)
        yield f"    {targets} = {self.large}"


@dataclass(frozen=True, slots=True)
class Branch:
    """The part of a Node's apply that computes the gradients of some inputs."""

    condition: str
    prepare: tuple[Assign, ...]  # what unpacks what the formula uses
    targets: str  # "g0" or "g0, g1"
    formula: str
    named: tuple[Assign, ...] = ()  # what the formula has in common
    small: str = ""  # the condition for computing so; else ``blocked`` are the statements that compute
    blocked: tuple[str, ...] = ()
    native: NativeCall | None = None
    may_be_scalars: bool = False  # whether a gradient may be a scalar where an array is wanted

    def statements(self) -> Iterator[str]:
        """The statements that compute the gradients."""
        yield from map(str, self.prepare)
        yield from self._computed()
        if self.may_be_scalars:
            targets = self.targets.split(", ")
            for target in targets:
                there = f" and {target} is not None" if len(targets) > 1 else ""
                yield f"if {target}.__class__ is not _array{there}:"
                yield f"    {target} = _asarray({target})"

    def _computed(self) -> Iterator[str]:
        ways: list[tuple[str, Iterable[str]]] = []
        if self.native is not None:
            ways.append((self.native.there, self.native.statements(self.targets, self.small)))
        if self.blocked:
            ways.append((self.small, self.numpy))
        ways.append(("", self.blocked or self.numpy))
        if len(ways) == 1:
            yield from self.numpy
            return
        for number, (condition, statements) in enumerate(ways):
            yield f"{'el' if number else ''}if {condition}:" if condition else "else:"
            yield from (f"    {line}" for line in statements)

    @property
    def numpy(self) -> tuple[str, ...]:
        """The statements that compute with NumPy's functions."""
        return (*map(str, self.named), f"{self.targets} = {self.formula}")


@dataclass(frozen=True, slots=True)
class NodeClass:
    """The class of a Node in one of its two forms: over Tensors, or over arrays."""

    name: str
    bases: str
    slots: tuple[str, ...]
    parameter: str  # "grad" or "grads"
    gradients: tuple[str, ...]  # the names set to None first
    common: tuple[tuple[str, tuple[Assign, ...]], ...]  # conditions, and what several branches would unpack
    branches: tuple[Branch, ...]
    returned: str
    released: tuple[str, ...] = ()  # the slots whose use after backward is an error
    shown: str | None = None  # the name that users see, where it is not the class's
    num_inputs: int | None = 1  # how many gradients it receives; None: as many as the list has
    constants: tuple[int, ...] = ()  # the saved results that have no gradient
    doc: str = ""

    @property
    def attributes(self) -> Iterator[str]:
        """The statements of the class's attributes that differ from those of all Nodes."""
        if self.num_inputs is not None and self.num_inputs != 1:
            yield f"num_inputs = {self.num_inputs}"
        if self.constants:
            yield f"constants = ({', '.join(map(str, self.constants))}, )"


@dataclass(frozen=True, slots=True)
class Term:
    """What the sum of a forward-mode formula has of one tangent."""

    tangent: str
    first: str  # where it is the only one so far
    further: str  # the operator and the operand that add it to others


@dataclass(frozen=True, slots=True)
class JvpFunction:
    """A forward-mode function."""

    name: str
    parameters: str
    zeros: tuple[tuple[str, str], ...]  # tangents that may be None, and their primals
    formulas: tuple[str, ...]
    doc: str
    shared: tuple[tuple[str, str], ...] = ()  # names and what is assigned to them before
    terms: tuple[Term, ...] = ()  # of a sum by tangents that may be None, of which the formula is made
    sum: str = ""  # what the formula has for the sum of the terms
    refused: tuple[tuple[str, str], ...] = ()  # tangents that must be None, and what says why
    widened: tuple[Assign, ...] = ()  # the statement after which nothing is of a reduced type

    def statements(self) -> Iterator[str]:
        """The statements of the function."""
        for tangent, refusal in self.refused:
            yield f"if {tangent} is not None:"
            yield f"    {refusal}"
        for tangent, primal in self.zeros:
            yield f"if {tangent} is None:"
            yield f"    {tangent} = zero_tangent({primal})"
        yield from map(str, self.widened)
        for name, text in self.shared:
            yield f"{name} = {text}"
        if self.terms:
            yield from self._summed()
        single = len(self.formulas) == 1
        yield f"return {self.formulas[0] if single else '(' + ', '.join(self.formulas) + ')'}"

    def _summed(self) -> Iterator[str]:
        """The statements that add the terms whose tangents are not None."""
        yield f"{self.sum} = None"
        for number, term in enumerate(self.terms):
            yield f"if {term.tangent} is not None:"
            added = f"{term.first} if {self.sum} is None else {self.sum} {term.further}"
            yield f"    {self.sum} = {added if number else term.first}"
        if self.formulas[0] != self.sum:
            yield f"if {self.sum} is None:"
            yield "    return None"
