"""What the C library's allocator does with freed memory."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

#: Just under the largest threshold that glibc's malloc takes of its own accord.
_MALLOC_THRESHOLD = (32 << 20) - (64 << 10)


def keep_freed_memory() -> None:
    """Have glibc's malloc keep freed memory for the next array, up to 64 MB, instead of returning it.

    What is returned comes back a page fault per 4 KB, which takes longer than most kernels. malloc raises
    its thresholds to what a program frees; until then its speed depends on the order of allocations. So a
    block is freed that nothing was written to. Other allocators are as they were.
    """
    with suppress(MemoryError):
        np.empty(_MALLOC_THRESHOLD, np.uint8)
