"""The classes of Nodes and forward-mode functions, as they are generated; methods.py has those of Types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """The part of a Node's apply that computes the gradients of some inputs."""

    condition: str
    prepare: tuple[str, ...]  # statements that unpack what the formula uses
    targets: str  # "g0" or "g0, g1"
    formula: str
    named: tuple[str, ...] = ()  # statements that name what the formula has in common
    small: str = ""  # the condition for computing so; else ``blocked`` are the statements that compute
    blocked: tuple[str, ...] = ()
    native: tuple[str, ...] = ()  # the condition for a native kernel, and the statements that call it
    may_be_scalars: bool = False  # whether a gradient may be a scalar where an array is wanted

    def statements(self) -> Iterator[str]:
        """The statements that compute the gradients."""
        yield from self.prepare
        yield from self._computed()
        if self.may_be_scalars:
            targets = self.targets.split(", ")
            for target in targets:
                there = f" and {target} is not None" if len(targets) > 1 else ""
                yield f"if {target}.__class__ is not _array{there}:"
                yield f"    {target} = _asarray({target})"

    def _computed(self) -> Iterator[str]:
        ways = []
        if self.native:
            ways.append((self.native[0], self.native[1:]))
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
        return (*self.named, f"{self.targets} = {self.formula}")


@dataclass(frozen=True, slots=True)
class NodeClass:
    """The class of a Node in one of its two forms: over Tensors, or over arrays."""

    name: str
    bases: str
    slots: tuple[str, ...]
    parameter: str  # "grad" or "grads"
    gradients: tuple[str, ...]  # the names set to None first
    common: tuple[tuple[str, tuple[str, ...]], ...]  # conditions, and what several branches would unpack
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
    widened: tuple[str, ...] = ()  # the statement after which nothing is of a reduced type

    def statements(self) -> Iterator[str]:
        """The statements of the function."""
        for tangent, refusal in self.refused:
            yield f"if {tangent} is not None:"
            yield f"    {refusal}"
        for tangent, primal in self.zeros:
            yield f"if {tangent} is None:"
            yield f"    {tangent} = zero_tangent({primal})"
        yield from self.widened
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
