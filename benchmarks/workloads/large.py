"""An expression over large arrays: memory traffic and cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from libraries import Arrays, Tensors

from .floors_large import expression
from .workload import Rival, Workload, data


def expression_tensors(size: int) -> Callable[[Tensors], Rival]:
    def rival(library: Tensors) -> Rival:
        x, F = library.tensor(data(size), True), library.F

        def run() -> Any:
            x.grad = None
            (F.gelu(x, approximate="tanh") * x.sigmoid() + x.tanh()).sum().backward()
            return x.grad

        return run

    return rival


def _expression_arrays(size: int) -> Callable[[Arrays], Rival]:
    def rival(library: Arrays) -> Rival:
        xp = library.xp
        half, one = np.float32(0.5), np.float32(1)
        a, b = np.float32(0.7978845608), np.float32(0.044715)

        def f(leaves: Any) -> Any:
            x = leaves[0]
            gelu = half * x * (one + xp.tanh(a * (x + b * x * x * x)))
            return xp.sum(gelu * (one / (one + xp.exp(-x))) + xp.tanh(x))

        run = library.gradient(f, [library.put(data(size))])
        return lambda: run()[1][0]

    return rival


LARGE = tuple(
    Workload(
        f"expression {name}",
        "sum(gelu(x)*sigmoid(x)+tanh(x))",
        expression_tensors(size),
        _expression_arrays(size),
        0.7,
        1.0,
        floor=expression(size),
        reads=4 * size,
    )
    for name, size in (("1e6", 10**6), ("1e7", 10**7))
)
