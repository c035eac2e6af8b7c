"""Check: the gradient of each element of a loss, which formulas may name: ``grad_of_elements``."""

from __future__ import annotations

from dataclasses import replace

from ...ir.expressions import Call, Name
from ...ir.writer import write
from ..model.names import ELEMENTS_GRADIENT
from ..model.operators import REDUCTION, Formula, Operator, Shared
from ..model.source import Located

#: The function of formulas/losses.py that gives it.
GRADIENT = "gradient_of_elements"


def gradient_of_elements(operator: Operator, users: tuple[str, ...], source: Located) -> Shared:
    """What makes it of the gradient of a loss, for the formulas of these inputs."""
    operands = [Name(a.name) for a in operator.schema.arguments if a.is_tensor]
    tree = Call(Name(GRADIENT), (Name("grad"), Name(REDUCTION), *operands))
    return Shared(ELEMENTS_GRADIENT, Formula(replace(source, value=write(tree), starts=()), tree), users)
