"""Native kernels over large arrays, of which each thread has a share.

A thread of the accelerator's takes one small share after the other, and needs no interpreter. Where these
threads are not there, Python's each call the kernel once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..c_accelerator import run_shares
from ..core.costs import COLUMNS_STEP, SHARES, VECTOR
from .machine_code import grain_of, shared_from, wakes_from
from .parallel import get_num_threads, in_threads

Array = Any
#: A table (m, n), or indices (k, n), come first: columns are the second dimension that the signature names.
_COLUMNS = ~1


def share_elements(kernel: np.ufunc, operands: Sequence[Any], out: Sequence[Array], dim: int = 0) -> None:
    """Call an elementwise kernel with arrays of the results' shape, and numbers. ``dim`` is what is cut."""
    size, elements = out[0].shape[dim], out[0].size
    if elements < shared_from(kernel) or get_num_threads() == 1:
        kernel(*operands, out=tuple(out))
        return
    length = elements // size
    if _run(kernel, (*operands, *out), dim, size, length, VECTOR):
        return
    before = (slice(None),) * dim

    def task(begin: int, end: int) -> None:
        part = (*before, slice(begin, end))
        parts = [a[part] if getattr(a, "ndim", 0) else a for a in operands]
        kernel(*parts, out=tuple([o[part] for o in out]))

    in_threads(task, size, length, grain_of(kernel))


def share_rows(
    kernel: np.ufunc,
    operands: Sequence[Array],
    shared: Sequence[Any],
    out: Sequence[Array],
    tables: Sequence[Array] = (),
) -> None:
    """Call a kernel with ``operands``, of which each row has its own, and ``shared`` ones, into ``out``.

    A row is what an array has at a place of its first dimension, be it a number or more. All rows read any
    ``tables``, the kernel's first operands.
    """
    groups = len(operands[0])
    length = max([a.size for a in (*operands, *out)]) // max(1, groups)
    if groups * length < shared_from(kernel) or get_num_threads() == 1:
        kernel(*tables, *operands, *shared, out=tuple(out))
    elif not _run(kernel, (*tables, *operands, *shared, *out), 0, groups, length, 1):

        def task(begin: int, end: int) -> None:
            rows = [a[begin:end] for a in operands]
            kernel(*tables, *rows, *shared, out=tuple([o[begin:end] for o in out]))

        in_threads(task, groups, length, grain_of(kernel))


def share_columns(
    kernel: np.ufunc, tables: Sequence[Array], of_rows: Sequence[Array], out: Sequence[Array]
) -> None:
    """Call a kernel over columns, the last dim of ``tables``, with vectors ``of_rows``, into ``out``."""
    columns = tables[0].shape[-1]
    rows = math.prod(tables[0].shape[:-1])
    if rows * columns < shared_from(kernel) or get_num_threads() == 1:
        kernel(*tables, *of_rows, out=tuple(out))
    elif not _run(kernel, (*tables, *of_rows, *out), _COLUMNS, columns, rows, COLUMNS_STEP):

        def task(begin: int, end: int) -> None:
            parts = [t[..., begin:end] for t in tables]
            kernel(*parts, *of_rows, out=tuple([o[..., begin:end] for o in out]))

        in_threads(task, columns, rows, grain_of(kernel), COLUMNS_STEP)


def _run(kernel: np.ufunc, operands: tuple[Any, ...], dim: int, size: int, length: int, step: int) -> bool:
    """Share ``size`` items of ``length`` elements out to the accelerator's threads, in multiples of steps."""
    threads = get_num_threads()
    share = -(-size // (SHARES * threads * step)) * step
    return run_shares(kernel, operands, dim, share, threads, size * length >= wakes_from(kernel))
