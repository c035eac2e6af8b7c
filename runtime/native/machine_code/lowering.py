"""IR of a kernel, from the generator's lowering, which is imported where an object has to be made."""

from __future__ import annotations

from importlib import import_module

from .tables import Kernel, Table


def ir(table: Table, kernel: Kernel, scalar: str) -> str:
    """The text of a module whose function ``kernel`` is the loop for a scalar type."""
    lower = import_module("tengen.codegen.lower.kernels").lower_row
    text: str = lower(kernel.name, kernel.row, table.programs, scalar)
    return text
