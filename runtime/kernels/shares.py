"""Native kernels over large arrays, of which each thread has a share.

A thread of the C machine's takes one small share after the other, and needs no interpreter. Where these
threads are not there, Python's each call the kernel once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.costs import SHARES, VECTOR
from ..fast_paths import run_shares
from ..machine_code import grain_of, shared_from, wakes_from
from .parallel import Task, get_num_threads, in_threads

Array = Any
#: A table (m, n), or indices (k, n), come first: columns are the second dimension that the signature names.
_COLUMNS = ~1


def share_elements(kernel: np.ufunc, operands: Sequence[Any], out: Sequence[Array], dim: int = 0) -> None:
    """Call an elementwise kernel with arrays of the results' shape, and numbers. ``dim`` is what is cut."""
    before = (slice(None),) * dim

    def task(begin: int, end: int) -> None:
        part = (*before, slice(begin, end))
        parts = [a[part] if getattr(a, "ndim", 0) else a for a in operands]
        kernel(*parts, out=tuple([o[part] for o in out]))

    step = VECTOR if out[0].ndim == 1 else 1
    _share(kernel, operands, out, task, dim, out[0].shape[dim], out[0].size, step)


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

    def task(begin: int, end: int) -> None:
        rows = [a[begin:end] for a in operands]
        kernel(*tables, *rows, *shared, out=tuple([o[begin:end] for o in out]))

    elements = max([a.size for a in (*operands, *out)])
    _share(kernel, (*tables, *operands, *shared), out, task, 0, len(operands[0]), elements, 1)


def share_columns(
    kernel: np.ufunc,
    tables: Sequence[Array],
    of_rows: Sequence[Array],
    out: Sequence[Array],
    beside: Sequence[Any] = (),
) -> None:
    """Call a kernel over columns, the last dim of ``tables``, with vectors ``of_rows``, into ``out``.

    Behind these stand vectors ``beside``, of columns, and numbers.
    """

    def task(begin: int, end: int) -> None:
        parts = [t[..., begin:end] for t in tables]
        others = [b[..., begin:end] if getattr(b, "ndim", 0) else b for b in beside]
        kernel(*parts, *of_rows, *others, out=tuple([o[..., begin:end] for o in out]))

    first = tables[0]
    _share(kernel, (*tables, *of_rows, *beside), out, task, _COLUMNS, first.shape[-1], first.size, VECTOR)


def _share(
    kernel: np.ufunc,
    operands: Sequence[Any],
    out: Sequence[Array],
    task: Task,
    dim: int,
    size: int,
    elements: int,
    step: int,
) -> None:
    """Call a kernel at once, or on shares of its ``size`` items along ``dim``, in multiples of ``step``.

    ``task`` is what a thread of Python's does with a range of the items, if it comes to that.
    """
    if elements < shared_from(kernel) or (threads := get_num_threads()) == 1:
        kernel(*operands, out=tuple(out))
        return
    share = -(-size // (SHARES * threads * step)) * step
    if not run_shares(kernel, (*operands, *out), dim, share, threads, elements >= wakes_from(kernel)):
        in_threads(task, size, elements // max(1, size), grain_of(kernel), step)
