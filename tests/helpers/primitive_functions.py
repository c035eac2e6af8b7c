"""The functions of NumPy's arrays that primitives are."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tengen.codegen.model.operators import Primitive
from tengen.codegen.read.functions import of_library


def function_of(primitive: Primitive) -> Callable[..., Any]:
    """NumPy's function, or that which the primitive says."""
    module, _, name = of_library(primitive.function or f"numpy:{primitive.name}").partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found
