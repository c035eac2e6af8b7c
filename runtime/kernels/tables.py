"""Elements of tables at indices, read by native kernels, and elements and rows changed.

Functions give None, or False, and do nothing, where there is no kernel for the dtypes: whoever calls has
another way. Indices are not negative. Rows are read by NumPy, which copies as fast.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.costs import INDEX_LARGE
from .native_kernels import kernels
from .shares import share_columns, share_rows

Array = Any
Kernel = np.ufunc | None

#: dtype.char of what kernels take.
KERNELS_TAKE = "fd"


def elements_along(self: Array, index: Array, dim: int) -> Array | None:
    """The elements of ``self`` at ``index`` along ``dim`` (from 0); the other dims of both agree.

    None also where an index is out of range.
    """
    if index.size < INDEX_LARGE or self.dtype.char not in KERNELS_TAKE or not self.size:
        return None
    out = np.empty(index.shape, self.dtype)
    tables, places, results = _around(self, dim), _around(_long(index), dim), _around(out, dim)
    if tables.shape[2] == 1:
        kernel, tables, places, results = kernels.pick, tables[:, :, 0], places[:, :, 0], results[:, :, 0]
    else:
        kernel, tables = kernels.pick_in_columns, tables[:, np.newaxis]
    if kernel is None:
        return None
    wrong = np.empty(results.shape[:-1], bool)
    if len(tables) > 1 or results.ndim == 2:  # of one row no part is shared out
        share_rows(kernel, (tables, places), (), (results, wrong))
    else:
        share_rows(kernel, (places[0],), (), (results[0], wrong[0]), (tables[0],))
    return None if b"\1" in wrong.tobytes() else out


def add_elements(out: Array, index: Array, values: Array) -> bool:
    """Add the elements of the rows of ``values`` to those of ``out`` at ``index``, each within its row."""
    return _fold(kernels.sum_elements, out, index, values)


def fold_elements(out: Array, index: Array, values: Array, fold: str) -> bool:
    """Work the elements of rows into those of the rows of ``out`` at ``index``, as a fold says."""
    return _fold(getattr(kernels, f"{fold}_elements"), out, index, values)


def fold_rows(out: Array, index: Array, values: Array, fold: str) -> bool:
    """Work ``values`` (a, k, n) into ``out`` (a, m, n) at ``index`` (k), as a fold but "set" says."""
    return _fold(getattr(kernels, f"{fold}_rows"), out, index, values)


def _fold(kernel: Kernel, out: Array, index: Array, values: Array) -> bool:
    if kernel is None or not _same(out, values):
        return False
    kernel(_long(index), values, out=out)
    return True


def add_rows(out: Array, index: Array, values: Array, factors: Array | None) -> bool:
    """Add ``values`` (a, k, n), times any ``factors`` (k), to ``out`` (a, m, n) at ``index`` (k)."""
    if factors is None:
        return _fold(kernels.sum_rows, out, index, values)
    kernel = kernels.add_scaled_rows
    if kernel is None or not _same(out, values):
        return False
    kernel(_long(index), factors, values, out=out)
    return True


def add_rows_at(out: Array, index: Array, table: Array, places: Array) -> bool:
    """Add the rows of ``table`` at ``places`` (k) to those of ``out`` at ``index`` (k)."""
    kernel = kernels.add_picked_rows
    if kernel is None or not _same(out, table):
        return False
    kernel(_long(index), _long(places), table, out=out)
    return True


def fold_along(out: Array, index: Array, values: Array, dim: int, fold: str) -> bool:
    """Work ``values``, of the shape of ``index``, into ``out`` (contiguous) along ``dim``, as a fold says."""
    of_elements, in_columns = getattr(kernels, f"{fold}_elements"), getattr(kernels, f"{fold}_in_columns")
    return _change(of_elements, in_columns, out, index, values, dim)


def put_along(out: Array, index: Array, values: Array, dim: int) -> bool:
    """Write ``values``, which have the shape of ``index``, or one, to ``out`` (contiguous) along ``dim``."""
    if index.size < INDEX_LARGE:
        return False
    values = np.broadcast_to(values, index.shape)
    return fold_along(out, index, values, dim, "set")


def _change(
    of_elements: Kernel, in_columns: Kernel, out: Array, index: Array, values: Array, dim: int
) -> bool:
    """Change ``out`` along ``dim`` by one of two kernels, if its other dims are those of ``index``."""
    alike = out.shape[:dim] + out.shape[dim + 1 :] == index.shape[:dim] + index.shape[dim + 1 :]
    if not alike or not _same(out, values):
        return False
    tables, places, values = _around(out, dim), _around(_long(index), dim), _around(values, dim)
    single = tables.shape[2] == 1
    if single:
        tables, places, values = tables[..., 0], places[..., 0], values[..., 0]
    kernel = of_elements if single else in_columns
    if kernel is None:
        return False
    if single or len(tables) > 1:
        share_rows(kernel, (places, values), (), (tables,))
    else:
        share_columns(kernel, (places[0], values[0]), (), (tables[0],))
    return True


def _around(self: Array, dim: int) -> Array:
    """The array with the dims before ``dim``, and those behind it, as one each."""
    shape = self.shape
    return self.reshape(math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1 :]))


def _same(out: Array, values: Array) -> bool:
    return out.dtype.char in KERNELS_TAKE and values.dtype == out.dtype


def _long(index: Array) -> Array:
    return index if index.dtype.char == "l" else index.astype(np.int64)
