"""What the machine itself allows, measured in turn with the rivals: BLAS at its peak, and memory.

Each is a rival whose time is scaled to a workload: a large product of matrices, which BLAS is best at,
to the operations of the workload's products; a copy to the bytes of its inputs and results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from libraries import Floor
from workloads import Workload

#: The side of the matrices of which the product is taken.
SIDE = 512
_CHUNK = 1 << 20


def yardsticks(
    workload: Workload, results: list[np.ndarray], floor: Floor
) -> dict[str, tuple[Callable[[], Any], float]]:
    """Those that mean something for a workload: name -> what to time, and the factor for its time."""
    found: dict[str, tuple[Callable[[], Any], float]] = {}
    if workload.flops:
        dtype = next(a.dtype for a in results if a.dtype.kind == "f")
        found["gemm"] = (_product(dtype), workload.flops / (2 * SIDE**3))
    if workload.reads:
        found["memory"] = (_copy(workload.reads + sum(a.nbytes for a in results), floor), 1.0)
    return found


def _product(dtype: np.dtype) -> Callable[[], Any]:
    a, b = (np.random.default_rng(i).standard_normal((SIDE, SIDE)).astype(dtype) for i in range(2))
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out)


def _copy(size: int, floor: Floor) -> Callable[[], Any]:
    """A copy that moves ``size`` bytes: half of them are read, half of them written."""
    source, target = np.ones(size // 2, "uint8"), np.zeros(size // 2, "uint8")
    parts = [(target[i : i + _CHUNK], source[i : i + _CHUNK]) for i in range(0, len(source), _CHUNK)]
    if len(parts) == 1:
        return lambda: np.copyto(target, source)
    return lambda: floor.each(len(parts), lambda i, thread: np.copyto(*parts[i]))
