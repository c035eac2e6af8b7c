"""Operands and results for every native kernel, of the shapes and dtypes that its table says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tengen.generated import kernels as tables
from tengen.machine_code.tables import Kernel

SIZES = {"m": 9, "n": 70, "k": 6, "l": 8, "h": 7, "w": 12, "i": 2, "j": 3, "p": 4, "q": 5}
#: Without the forms for half types, which tests/kernels/test_reduced_kernels.py tries.
NAMES = sorted(name for name in tables.KERNELS if not name.endswith(("_float16", "_bfloat16")))
INDICES = min(SIZES[d] for d in "mkl")
rng = np.random.default_rng(7)


def numbers(shape: Sequence[int], dtype: str) -> Any:
    """Random elements: floats of both signs, bools, and integers that are indices into every table."""
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype == "int64":
        return rng.integers(0, INDICES, shape)
    return (rng.standard_normal(shape) * 3).astype(dtype)


def shape_of(operand: str, outer: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an operand as the table writes it: ``x[m, n]:bool``, ``rate:number``."""
    name, _, mark = operand.partition(":")
    core = tuple(SIZES[d.strip()] for d in name[name.index("[") + 1 : -1].split(",")) if "[" in name else ()
    return core if mark == "number" else (*outer, *core)


def arrays_of(kernel: Kernel, scalar: str, outer: tuple[int, ...]) -> tuple[list[Any], list[Any]]:
    """Operands, and results, which tables that are changed are operands too."""
    dtypes = kernel.dtypes(scalar)
    made = [
        numbers(shape_of(operand, outer), dtype)
        for operand, dtype in zip((*kernel.inputs, *kernel.outputs), dtypes, strict=True)
    ]
    return made[: len(kernel.inputs)], made[len(kernel.inputs) :]
