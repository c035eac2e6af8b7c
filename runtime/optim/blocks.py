"""Loops over large arrays in blocks that stay in the cache, with scratch memory, in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.costs import CHUNK, GRAIN
from ..kernels.parallel import in_threads

Array = np.ndarray[Any, Any]
#: Changes the arrays of one block: the first in place, by the second; the last ones are scratch.
Kernel = Callable[..., None]
#: A kernel, and how many scratch arrays it takes; None: it goes over memory once, without any.
Update = tuple[Kernel, int | None]


class _Scratch(threading.local):
    """A thread's scratch arrays, by dtype."""

    def __init__(self) -> None:
        self.arrays: dict[Any, list[Array]] = {}


_scratch = _Scratch()


def scratch(dtype: Any, count: int) -> list[Array]:
    """``count`` arrays of a block's length: this thread's own, whose content is of no value to anyone."""
    found = _scratch.arrays.setdefault(dtype, [])
    while len(found) < count:
        found.append(np.empty(CHUNK, dtype))
    return found[:count]


def run(kernel: Kernel, arrays: Sequence[Array], count: int | None) -> None:
    """Call ``kernel`` with the arrays, which are of one length, and ``count`` scratch arrays, in blocks.

    None instead of a count: it goes over memory once in any case, and is called once.
    """
    first = arrays[0]
    size, dtype = first.size, first.dtype
    if count is None:
        kernel(*arrays)
        return
    if size <= CHUNK:
        kernel(*arrays, *[s[:size] for s in scratch(dtype, count)])
        return

    def task(begin: int, end: int) -> None:
        spare = scratch(dtype, count)
        stop = end - CHUNK
        while begin <= stop:
            after = begin + CHUNK
            kernel(*[a[begin:after] for a in arrays], *spare)
            begin = after
        if begin < end:
            kernel(*[a[begin:end] for a in arrays], *[s[: end - begin] for s in spare])

    # What each thread has is whole blocks, so that no element's place in a loop depends on their number.
    in_threads(task, size, 1, GRAIN, CHUNK)
