"""The classes of Nodes and forward-mode functions, as they are generated; methods.py has those of Types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ...ir.expressions import Conditional, Constant, Elements, Expr, Name, Operation, constant, dotted
from ...ir.reader import filled
from ...ir.statements import (
    NONE,
    Assign,
    Block,
    Do,
    If,
    Return,
    Statement,
    call,
    is_none,
    is_there,
    let,
    let_all,
    lines,
    names,
    set_slot,
    unless_none,
)


class Unpacked(Enum):
    """What a Node over arrays takes out of a slot, unless it was written to since."""

    TENSOR = "the array of a tensor"
    OPTIONAL = "the same, or None"
    RESULT = "the array of its result"


@dataclass(frozen=True, slots=True)
class Local:
    """A name of a Node's ``apply``, and its value."""

    name: str  # or several, "grad, self"
    value: Expr
    unpacked: Unpacked | None = None  # what the value is of a slot
    slot: str = ""

    @property
    def statement(self) -> Assign:
        """The statement that gives the value its name."""
        return let_all(self.name, self.value)


def _bound(locals_: tuple[Local, ...]) -> Block:
    return tuple([each.statement for each in locals_])


@dataclass(frozen=True, slots=True)
class NativeCall:
    """How a native kernel computes gradients, if it is there."""

    kernel: Expr  # gives the kernel, or None
    there: Expr  # the condition, which names it
    small: Expr  # its call of small arrays
    large: Expr  # and of others
    spare: Block = ()  # the statement that finds memory for these

    def statement(self, targets: str, condition: Expr) -> Statement:
        """The statement that calls it; ``condition``: arrays are small."""
        return If(condition, (let_all(targets, self.small),), (*self.spare, let_all(targets, self.large)))


@dataclass(frozen=True, slots=True)
class Branch:
    """The part of a Node's apply that computes the gradients of some inputs."""

    condition: Expr
    prepare: tuple[Local, ...]  # what unpacks what the formula uses
    targets: str  # "g0" or "g0, g1"
    formula: Expr
    named: tuple[Local, ...] = ()  # what the formula has in common
    #: The condition for computing so; else ``blocked`` are the statements that compute.
    small: Expr | None = None
    blocked: Block = ()
    native: NativeCall | None = None
    may_be_scalars: bool = False  # whether a gradient may be a scalar where an array is wanted

    def statement(self) -> Statement:
        """The statement that computes the gradients if they are wanted."""
        return If(self.condition, (*_bound(self.prepare), *self._computed(), *self._made_arrays()))

    def _made_arrays(self) -> Iterator[Statement]:
        """The statements that make arrays of scalars."""
        targets = self.targets.split(", ") if self.may_be_scalars else []
        for target in targets:
            there = " and g is not None" if len(targets) > 1 else ""
            is_scalar = filled(f"g.__class__ is not _array{there}", g=Name(target))
            yield If(is_scalar, (let(target, call("_asarray", Name(target))),))

    def _computed(self) -> Block:
        """The statements that compute: by a native kernel, in blocks, or as NumPy does."""
        found = numpy = (*_bound(self.named), let_all(self.targets, self.formula))
        if self.blocked:
            assert self.small is not None
            found = (If(self.small, numpy, self.blocked),)
        if self.native is not None:
            assert self.small is not None
            found = (If(self.native.there, (self.native.statement(self.targets, self.small),), found),)
        return found


#: What several branches would unpack, by the condition that one of them runs; None: one always does.
Common = tuple[tuple[Expr | None, tuple[Local, ...]], ...]


@dataclass(frozen=True, slots=True)
class NodeClass:
    """The class of a Node in one of its two forms: over Tensors, or over arrays."""

    name: str
    bases: str
    slots: tuple[str, ...]
    parameter: str  # "grad" or "grads"
    gradients: tuple[str, ...]  # the names set to None first
    common: Common
    branches: tuple[Branch, ...]
    returned: Elements
    released: tuple[str, ...] = ()  # the slots whose use after backward is an error
    shown: str | None = None  # the name that users see, where it is not the class's
    num_inputs: int | None = 1  # how many gradients it receives; None: as many as the list has
    constants: tuple[int, ...] = ()  # the saved results that have no gradient
    doc: str = ""

    def attributes(self) -> Iterator[str]:
        """The statements of the class's attributes that differ from those of all Nodes."""
        if self.num_inputs is not None and self.num_inputs != 1:
            yield from lines([let("num_inputs", Constant(self.num_inputs))])
        if self.constants:
            yield from lines([let("constants", constant(self.constants))])

    def apply(self) -> Iterator[str]:
        """The text of the function that computes gradients."""
        return lines(self._applied())

    def _applied(self) -> Iterator[Statement]:
        yield let("edges", dotted("node.next_edges"))
        yield Assign(names(self.gradients), NONE)
        for condition, unpacked in self.common:
            yield from _bound(unpacked) if condition is None else (If(condition, _bound(unpacked)),)
        for branch in self.branches:
            yield branch.statement()
        yield Return(self.returned)

    def release(self) -> Iterator[str]:
        """The text of the function after which what was saved cannot be used."""
        freed = Name("FREED")
        return lines([set_slot("node", s, unless_none(dotted(f"node.{s}"), freed)) for s in self.released])


@dataclass(frozen=True, slots=True)
class Term:
    """What the sum of a forward-mode formula has of one tangent."""

    tangent: str
    value: Expr
    negative: bool = False


@dataclass(frozen=True, slots=True)
class JvpFunction:
    """A forward-mode function."""

    name: str
    parameters: str
    zeros: tuple[tuple[str, str], ...]  # tangents that may be None, and their primals
    formulas: tuple[Expr, ...]
    doc: str
    shared: tuple[tuple[str, Expr], ...] = ()  # names and what is assigned to them before
    terms: tuple[Term, ...] = ()  # of a sum by tangents that may be None, of which the formula is made
    sum: str = ""  # what the formula has for the sum of the terms
    refused: tuple[tuple[str, Expr], ...] = ()  # tangents that must be None, and what says why
    widened: tuple[Local, ...] = ()  # after which nothing is of a reduced type

    def lines(self) -> Iterator[str]:
        """The text of the function."""
        return lines(self._statements())

    def _statements(self) -> Iterator[Statement]:
        for tangent, refusal in self.refused:
            yield If(is_there(Name(tangent)), (Do(refusal),))
        for tangent, primal in self.zeros:
            yield If(is_none(Name(tangent)), (let(tangent, call("zero_tangent", Name(primal))),))
        yield from _bound(self.widened)
        for name, value in self.shared:
            yield let(name, value)
        if self.terms:
            yield from self._summed()
        yield Return(self.formulas[0] if len(self.formulas) == 1 else Elements("tuple", self.formulas))

    def _summed(self) -> Iterator[Statement]:
        """The statements that add the terms whose tangents are not None."""
        total = Name(self.sum)
        yield let(self.sum, NONE)
        for number, term in enumerate(self.terms):
            added: Expr = Operation("-x", (term.value,)) if term.negative else term.value
            if number:
                more = Operation("-" if term.negative else "+", (total, term.value))
                added = Conditional(is_none(total), added, more)
            yield If(is_there(Name(term.tangent)), (let(self.sum, added),))
        if self.formulas[0] != total:
            yield If(is_none(total), (Return(NONE),))
