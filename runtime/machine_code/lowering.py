"""IR of a kernel, from the generator's lowering, which is imported where an object has to be made."""

from __future__ import annotations

from .tables import Kernel, Table


def texts(table: Table, kernel: Kernel) -> dict[str, str]:
    """The modules of a kernel's loops, by the names of these."""
    return {kernel.symbol(scalar): ir(table, kernel, scalar) for scalar in kernel.scalars}


def ir(table: Table, kernel: Kernel, scalar: str) -> str:
    """The text of a module whose function ``kernel`` is the loop for a scalar type."""
    from tengen.ir.lower.kernels import lower_row

    return lower_row(kernel.name, kernel.row, table.routines, scalar)
