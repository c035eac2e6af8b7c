"""Jacobians, Hessians and products with them, of functions of tensors.

What they are made of needs operators, of which autograd names none: it is in ``tengen.func.functional``.
"""

from __future__ import annotations

from ..func.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def __dir__() -> list[str]:
    return sorted(__all__)
