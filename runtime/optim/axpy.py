"""``y += a * x`` in one pass over memory: BLAS's, which NumPy has no name for, by way of SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tengen.optim.blocks import Array

#: From so many elements on the one pass is worth SciPy's import, which takes as long as some hundred steps.
LARGE = 16384
#: What OpenBLAS does in the thread that calls it: the threads are ours.
PIECE = 8192

_known: dict[str, Callable[..., Any]] = {}


def axpy(a: float, x: Array, y: Array, scratch: Array) -> None:
    """Add ``a * x`` to ``y``; all are of one dimension, length and dtype, float32 or float64."""
    size = y.size
    if size < LARGE:
        np.multiply(x, a, scratch)
        np.add(y, scratch, y)
        return
    function = _known.get(y.dtype.char) or _loaded(y.dtype.char)
    x = np.ascontiguousarray(x)
    for begin in range(0, size, PIECE):
        found = function(x, y, min(PIECE, size - begin), a, begin, 1, begin)
        if found is not y:  # memory that is not aligned was copied
            np.copyto(y, found)


def _loaded(char: str) -> Callable[..., Any]:
    from scipy.linalg import blas

    function: Callable[..., Any] = {"f": blas.saxpy, "d": blas.daxpy}[char]
    _known[char] = function
    return function
