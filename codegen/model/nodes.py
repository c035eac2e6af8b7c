"""The classes of Nodes and forward-mode functions, as they are generated; methods.py has those of Types."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Branch:
    """The part of a Node's apply that computes the gradients of some inputs."""

    condition: str
    prepare: tuple[str, ...]  # statements that unpack what the formula uses
    targets: str  # "g0" or "g0, g1"
    formula: str
    statements: tuple[str, ...] = ()  # what the formula has names for
    small: str = ""  # the condition for computing so; else ``blocked`` are the statements that compute
    blocked: tuple[str, ...] = ()
    several: bool = False  # whether it gives the gradients of a list of tensors
    gives_arrays: bool = False  # whether ``formula`` gives an array also where NumPy has scalars


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
    refused: tuple[tuple[str, str], ...] = ()  # tangents that must be None, and what says why
