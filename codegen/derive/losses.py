"""Differentiate: losses, whose elements are brought together as an argument says.

The chain rule is that of pointwise operators. Before it the gradient becomes that of each element, and behind
it tangents are brought together as the elements were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.expressions import Call, Expr, Name
from ..check.elements import GRADIENT, gradient_of_elements
from ..model.names import ELEMENTS_GRADIENT
from ..model.operators import REDUCTION, Derivative, Kernel, Operator
from .graph import Graph, Node
from .plan import Plan

#: The function of formulas/losses.py that says what is made of elements.
_REDUCED = "reduced"


class LossPlan(Plan):
    """The one way to write the gradients of a loss: its result is not that of each element."""

    gradient_of_elements = ELEMENTS_GRADIENT

    def __init__(self, operator: Operator, kernel: Kernel, graph: Graph) -> None:
        super().__init__(operator, kernel, graph, False)

    def derivative(self) -> Derivative:
        found = super().derivative()
        inputs = tuple([a.name for a in self.inputs])
        first = gradient_of_elements(self.operator, inputs, self.kernel.formula.source)
        return replace(found, shared=(first, *found.shared))

    def _helpers(self) -> dict[str, str]:
        return {name: f"losses.{name}" for name in (GRADIENT, _REDUCED)}

    def _root(self, name: str, node: Node, named: Mapping[Node, str]) -> Expr:
        if name in self.partials:
            return self._chosen(node, named, Name(name))
        return Call(Name(_REDUCED), (super()._root(name, node, named), Name(REDUCTION)))
