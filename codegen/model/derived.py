"""What follows from declarations: variants, the Nodes of derivatives and forward mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .operators import (
    Formula,
    Operator,
    Shared,
)
from .schema import (
    Argument,
    OperatorName,
)
from .source import Place


@dataclass(frozen=True, slots=True)
class Variant:
    """An operator as it will be generated, and how it relates to the one that was declared."""

    operator: Operator
    kind: str  # "functional" | "view" | "inplace" | "out" | "composite"
    base: OperatorName | None = None  # the functional operator of an in-place or out variant
    exposed: bool = True  # False: a method of Types only, without a binding

    @property
    def name(self) -> OperatorName:
        return self.operator.schema.name


@dataclass(frozen=True, slots=True)
class Saved:
    """One value that a Node keeps for its formulas.

    ``what`` is "tensor", "tensors" (a list), "result", "value", or the metadata kept of a tensor
    or a list of them: "shape", "type", "stride", "storage_offset".
    ``needed_by`` are the positions, among the Node's inputs, whose formulas use it.
    """

    slot: str  # "_self", "_self_shape"
    source: str  # the argument or result it comes from
    what: str
    needed_by: tuple[int, ...]
    index: int = 0  # of a result: its number
    condition: str = ""  # of wrap_opt_if: when it is kept


@dataclass(frozen=True, slots=True)
class Gradient:
    """The formula of one input, or jointly of several, of a Node."""

    inputs: tuple[int, ...]  # positions among the Node's inputs
    formula: Formula
    target: str | None = None  # a part that the formulas of these inputs share, by its name in them

    @property
    def targets(self) -> str:
        """What a Node's ``apply`` calls what the formula gives: "g0" or "g0, g1", or the shared part."""
        return self.target or ", ".join([f"g{i}" for i in self.inputs])


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A backward Node: what it saves and the formulas it applies."""

    name: str  # the class, "MulBackward0"
    operator: Operator
    inputs: tuple[Argument, ...]  # the differentiable arguments, in the schema's order
    outputs: tuple[int, ...]  # the differentiable results
    gradients: tuple[Gradient, ...]
    saved: tuple[Saved, ...]
    place: Place
    shown: str | None = None  # the name that users see, where it is not the class's
    helpers: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Argument, ...] = ()  # Tensor arguments of which the entry says nothing
    module: str = "_nodes"  # what generated code calls the module of the class

    @property
    def constants(self) -> tuple[int, ...]:
        """The numbers of the saved results that have no gradient."""
        return tuple(s.index for s in self.saved if s.what == "result" and s.index not in self.outputs)


@dataclass(frozen=True, slots=True)
class JvpSpec:
    """The forward-mode derivative of an operator: a function of primals, tangents and results."""

    name: str
    operator: Operator
    formulas: tuple[tuple[int, Formula], ...]  # by result
    kind: str  # "formula" | "auto_linear" | "auto_element_wise"
    place: Place
    helpers: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[Shared, ...] = ()
