"""Kernels in machine code: from a kernel's name to a ufunc of NumPy's, or None.

A table, ``tengen.generated.kernels`` or that of a library of operators, says what the kernels are. Their code
comes from a shared library that was built in advance, or from llvmlite, with a cache on disk. Where neither
is to be had, or ``TENGEN_NATIVE=0`` is set, there is none, and operators run NumPy's forms.
"""

from __future__ import annotations

from .kernels import Kernels, goes_across, grain_of, kernels_of, shared_from, wakes_from

__all__ = ["Kernels", "goes_across", "grain_of", "is_available", "kernels_of", "shared_from", "wakes_from"]


def is_available(tables: str = "tengen.generated.kernels") -> bool:
    """Whether kernels of a module of tables, tengen's own, run in machine code in this process."""
    from .finder import finder_of

    return finder_of(tables).provider is not None
