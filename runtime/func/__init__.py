"""Transforms of functions: ``tengen.func``.

This module is imported when it is first used. What it names comes from modules some of which have the same
names, so that all of them are imported here.
"""

from __future__ import annotations

from tengen.func.grad import grad, grad_and_value, vjp

__all__ = ["grad", "grad_and_value", "vjp"]
