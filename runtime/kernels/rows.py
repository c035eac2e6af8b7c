"""Work on the rows of large arrays: in blocks that stay in a core's cache, and in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.costs import BLOCK_BYTES, GRAIN, ROWS_LARGE
from . import parallel
from .parallel import BlockTask

Array = Any


def has_contiguous_rows(self: Array, dim: int) -> bool:
    """Whether ``dim`` is the last of a non-empty contiguous array, of a dtype that BLAS has."""
    return self.dtype.char in "fd" and are_contiguous_rows(self, dim)


def are_contiguous_rows(self: Array, dim: int) -> bool:
    """Whether ``dim`` is the last of a non-empty contiguous array."""
    return bool(
        (dim == -1 or dim == self.ndim - 1) and self.flags.c_contiguous and self.size > 0 and self.ndim > 0
    )


def rows_of_block(row_bytes: int) -> int:
    """How many rows of this many bytes are a block."""
    return parallel.items_of_block(BLOCK_BYTES, row_bytes)


def blocks_of(rows: int, step: int) -> int:
    """How many blocks of ``step`` rows there are."""
    return -(-rows // step)


def each_block(task: BlockTask, rows: int, step: int, columns: int) -> None:
    """Call ``task`` for all blocks of ``step`` rows, which have ``columns`` elements, in some thread each."""
    parallel.each_block(task, rows, columns, GRAIN, step)


def run(task: Callable[..., None], table: Array, *operands: Array, columns: int | None = None) -> None:
    """Call ``task`` with the rows of a matrix and of all operands: at once, or by blocks of a large one.

    ``columns`` is how long the rows are that the task works on, where these are parts of the matrix's.
    """
    if table.size <= ROWS_LARGE:
        task(table, *operands)
        return
    length = table.size // len(table)

    def one(_: int, begin: int, end: int) -> None:
        task(table[begin:end], *[operand[begin:end] for operand in operands])

    each_block(one, len(table), rows_of_block(length * table.itemsize), columns or length)
