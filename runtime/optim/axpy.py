"""``y += a * x`` in one pass over memory: BLAS's, which NumPy has no name for, by way of SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.costs import AXPY_ALONE, AXPY_LARGE
from ..kernels.parallel import blas_libraries, get_num_threads
from .blocks import Array

Axpy = Callable[[float, Array, Array], None]

_known: dict[str, Callable[..., Any]] = {}


def make_axpy() -> Axpy:
    """A function that adds ``a * x`` to ``y``, for use in the loops that the caller is about to start.

    The arrays are of one dimension, length and dtype, float32 or float64.
    """
    single = get_num_threads() == 1

    def axpy(a: float, x: Array, y: Array) -> None:
        size = y.size
        if size < AXPY_LARGE:
            np.add(y, np.multiply(x, a), y)
            return
        function = _known.get(y.dtype.char) or _loaded(y.dtype.char)
        x = np.ascontiguousarray(x)
        piece = size if single else AXPY_ALONE
        for begin in range(0, size, piece):
            found = function(x, y, min(piece, size - begin), a, begin, 1, begin)
            if found is not y:  # memory that is not aligned was copied
                np.copyto(y, found)

    return axpy


def _loaded(char: str) -> Callable[..., Any]:
    from scipy.linalg import blas

    _limit()
    function: Callable[..., Any] = {"f": blas.saxpy, "d": blas.daxpy}[char]
    _known[char] = function
    return function


def _limit() -> None:
    """Hold SciPy's BLAS, which was not there when it was called, to what ``set_num_threads`` asked for."""
    count = get_num_threads()
    for library in blas_libraries():
        if library.num_threads > count:
            library.set_num_threads(count)
