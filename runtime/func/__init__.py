"""Transforms of functions: ``tengen.func``.

This module is imported when it is first used. What it names comes from modules some of which have the same
names, so that all of them are imported here.
"""

from __future__ import annotations

from .batched import debug_unwrap
from .functionalize import functionalize
from .grad import grad, grad_and_value, vjp
from .jacobian import hessian, jacfwd, jacrev
from .jvp import jvp
from .linearize import linearize
from .module_state import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]


def __dir__() -> list[str]:
    return sorted(__all__)
