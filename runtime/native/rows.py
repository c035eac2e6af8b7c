"""Work on the rows of large arrays: in blocks that stay in a core's cache, and in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ..core.costs import BUFFER, ROWS_BLOCKS, ROWS_BYTES, UNBUFFERED
from . import parallel
from .parallel import BlockTask

Array = Any


def rows_of_block(row_bytes: int) -> int:
    """How many rows of this many bytes are a block."""
    return max(1, ROWS_BYTES // max(row_bytes, 1))


def blocks_of(rows: int, step: int) -> int:
    """How many blocks of ``step`` rows there are."""
    return -(-rows // step)


@contextmanager
def _short_buffer() -> Iterator[None]:
    """NumPy's buffer is short: else it spreads out a broadcast operand of rows shorter than it.

    That takes as long as the arithmetic does.
    """
    before = np.setbufsize(UNBUFFERED)
    try:
        yield
    finally:
        np.setbufsize(before)


def each_block(task: BlockTask, rows: int, step: int, columns: int) -> None:
    """Call ``task`` for all blocks of ``step`` rows, which have ``columns`` elements, in some thread each."""
    within = _short_buffer if UNBUFFERED <= columns < BUFFER else nullcontext
    parallel.each_block(task, rows, columns, ROWS_BLOCKS * step * columns, step, within)


def in_blocks(task: Callable[..., None], rows: int, row_bytes: int, columns: int, *operands: Array) -> None:
    """Call ``task`` with the rows of all operands, block by block."""

    def one(_: int, begin: int, end: int) -> None:
        task(*[operand[begin:end] for operand in operands])

    each_block(one, rows, rows_of_block(row_bytes), columns)
