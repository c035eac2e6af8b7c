"""Specialise: the parts that the formulas of a Node share."""

from __future__ import annotations

from dataclasses import replace

from ...ir.expressions import Expr, Name, replaced
from ...ir.writer import write
from ..model.derived import Gradient, NodeSpec
from ..model.names import ELEMENTS_GRADIENT
from ..model.operators import Formula
from .tangents import real


def gradient_of_elements(spec: NodeSpec) -> Name:
    """What formulas call the gradient that they multiply elements with."""
    made = any([g.target == ELEMENTS_GRADIENT for g in spec.gradients])
    return Name(ELEMENTS_GRADIENT if made else "grad")


def where_real(spec: NodeSpec) -> NodeSpec:
    """The same of tensors of which none is complex."""
    return replace(spec, gradients=tuple([_of(g, real(g.formula.tree)) for g in spec.gradients]))


def _of(gradient: Gradient, tree: Expr) -> Gradient:
    """The same with another formula."""
    source = replace(gradient.formula.source, value=write(tree), starts=())
    return replace(gradient, formula=Formula(source, tree))


def with_single_parts_inlined(spec: NodeSpec) -> NodeSpec:
    """The same with parts that only one formula uses within that: so blocks, and kernels, do all of it."""
    left = list(spec.gradients)
    for part in reversed(spec.gradients):  # made of those before it
        users = [
            g for g in left if part.target is not None and g is not part and part.target in g.formula.names()
        ]
        if len(users) != 1 or part.formula.names() & spec.helpers.keys():
            continue
        (user,) = users
        value = next(g for g in left if g.target == part.target).formula.tree
        tree = replaced(user.formula.tree, {str(part.target): value})
        left[left.index(user)] = _of(user, tree)
        left = [g for g in left if g.target != part.target]
    return replace(spec, gradients=tuple(left))
