"""Work on the rows of large arrays: in blocks that stay in a core's cache, and in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .parallel import parallel_for

Array = Any
#: Works on a block of rows: its number, and its rows [begin, end).
Task = Callable[[int, int, int], None]

#: Bytes of one operand that a block has.
BLOCK = 1 << 19
#: Arrays with more elements go in blocks.
LEAST = 1 << 16
#: Blocks that are worth a thread.
GRAIN = 2
#: Operands with fewer elements in a row are cheaper when NumPy's iterator copies them into its buffer,
#: and with more it needs no telling.
UNBUFFERED, BUFFER = 512, 8192


def rows_of_block(row_bytes: int) -> int:
    """How many rows of this many bytes are a block."""
    return max(1, BLOCK // max(row_bytes, 1))


def blocks_of(rows: int, step: int) -> int:
    """How many blocks of ``step`` rows there are."""
    return -(-rows // step)


def each_block(task: Task, rows: int, step: int, columns: int) -> None:
    """Call ``task`` for all blocks of ``step`` rows, which have ``columns`` elements, in some thread each.

    Where blocks begin does not depend on the number of threads, so that results do not.
    """

    def work(first: int, last: int) -> None:
        # A broadcast operand of rows shorter than NumPy's buffer is spread out into it,
        # which takes as long as the arithmetic does.
        narrow = UNBUFFERED <= columns < BUFFER
        before = np.setbufsize(UNBUFFERED) if narrow else 0
        try:
            for block in range(first, last):
                task(block, block * step, min((block + 1) * step, rows))
        finally:
            if narrow:
                np.setbufsize(before)

    parallel_for(work, blocks_of(rows, step), GRAIN)


def in_blocks(task: Callable[..., None], rows: int, row_bytes: int, columns: int, *operands: Array) -> None:
    """Call ``task`` with the rows of all operands, block by block."""

    def one(block: int, begin: int, end: int) -> None:
        task(*[operand[begin:end] for operand in operands])

    each_block(one, rows, rows_of_block(row_bytes), columns)
