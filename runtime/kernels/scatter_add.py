"""Sums of elements or rows that share a place, added where an array names it.

Native kernels add them. Where there are none, the loops are those of SciPy's sparse matrices, and do here
what their names say there: a compressed matrix that is made dense adds each of its values to the place of
its index, and a product with a matrix of ones adds each row of the other factor to the row of its index.
They are two to five times faster than ``ufunc.at``. All add in the order in which the indices come.

SciPy does not promise to keep them, though it has for long: where they are not to be found ``ufunc.at`` adds.
The loops do not check indices. All functions take indices that have been checked, and change ``out``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.costs import SCATTER_LOAD
from .tables import add_elements, add_rows

Array = Any

#: The loops.
USED = ("csr_todense", "csc_matvecs")
#: What these loops are compiled for, by dtype.char: not the half-precision floats.
COMPILED = "?bhilqBHILQfdFD"

_LONGEST = np.iinfo(np.int32).max
_loops: Any = None


def loops(count: int, dtype: np.dtype[Any]) -> Any:
    """The compiled loops, where they serve: their module is loaded, or ``count`` elements are worth it."""
    global _loops
    if dtype.char not in COMPILED:
        return None
    if _loops is None and count >= SCATTER_LOAD:
        try:
            from scipy.sparse import _sparsetools as found
        except ImportError:
            found = None  # type: ignore[assignment]
        _loops = found if all([hasattr(found, name) for name in USED]) else False
    return _loops or None


def add_at(out: Array, places: Array, values: Array) -> None:
    """Add each of ``values`` to the element of ``out`` (contiguous) at a flat position; both are 1-d."""
    if add_elements(out.reshape(-1), places, values):
        return
    compiled = loops(values.size, out.dtype)
    if compiled is None:
        np.add.at(out.reshape(-1), places, values)
    else:
        if places.size > _LONGEST:
            places = places.astype(np.int64, copy=False)
        ends = np.array((0, places.size), places.dtype)
        compiled.csr_todense(1, out.size, ends, places, values, out.reshape(-1))


def add_in_rows(out: Array, index: Array, values: Array) -> bool:
    """Add ``values`` (as ``index``, r x k) to ``out`` (r x n, contiguous), each within its row.

    False, and nothing is done, where there is no compiled loop for it.
    """
    if add_elements(out, index, values.reshape(index.shape)):
        return True
    compiled = loops(values.size, out.dtype)
    if compiled is None:
        return False
    rows, count = index.shape
    if index.size > _LONGEST:
        index = index.astype(np.int64, copy=False)
    ends = np.arange(0, index.size + 1, count, dtype=index.dtype)
    compiled.csr_todense(rows, out.shape[1], ends, index.reshape(-1), values.reshape(-1), out.reshape(-1))
    return True


def add_slices(out: Array, index: Array, values: Array, factors: Array | None = None) -> None:
    """Add ``values`` (a, k, b), times ``factors`` (k), to ``out`` (a, n, b; contiguous) at ``index`` (k)."""
    outer, count, inner = values.shape
    if values.size == 0:
        return
    if factors is not None and inner == 1:
        values, factors = values * factors.reshape(-1, 1), None
    if inner == 1:
        if add_elements(out[:, :, 0], index, values[:, :, 0]):
            return
    elif add_rows(out, index, values, factors):
        return
    compiled = loops(values.size, out.dtype)
    if compiled is None:
        if factors is not None:
            values = values * factors.reshape(-1, 1)
        np.add.at(out.reshape(-1), places_of_slices(index, out.shape), values.reshape(-1))
    elif inner == 1:
        rows = index if outer == 1 else np.tile(index, outer)
        add_in_rows(out.reshape(outer, -1), rows.reshape(outer, count), values)
    else:
        rows = _in_blocks(index, outer, out.shape[1])
        if rows.size > _LONGEST:
            rows = rows.astype(np.int64, copy=False)
        ends = np.arange(rows.size + 1, dtype=rows.dtype)
        if factors is None:
            factors = np.ones(rows.size, out.dtype)
        elif outer > 1:
            factors = np.tile(factors, outer)
        shape = (outer * out.shape[1], rows.size, inner)
        compiled.csc_matvecs(*shape, ends, rows, factors, values.reshape(-1), out.reshape(-1))


def places_of_slices(index: Array, shape: tuple[int, int, int]) -> Array:
    """The flat places of all elements of the slices at ``index`` (k) of a contiguous array (a, n, b), 1-d."""
    outer, count, inner = shape
    places = _in_blocks(index * inner, outer, count * inner).reshape(-1, 1) + np.arange(inner)
    return places.reshape(-1)


def _in_blocks(index: Array, blocks: int, size: int) -> Array:
    """``index`` in each of several blocks of a size, 1-d."""
    if blocks == 1:
        return index
    return (np.arange(0, blocks * size, size, dtype=np.int64).reshape(-1, 1) + index).reshape(-1)
