"""Loops over large arrays in several threads: NumPy's loops release the interpreter's lock.

All that goes in threads is cut here. The functions are PyTorch's (``at::parallel_for``,
``get_num_threads``). The threads are made when a loop first needs them. A loop inside a loop runs in the
thread that it is in.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import LibController

#: Works on the range [begin, end).
Task = Callable[[int, int], None]
#: Works on a block of items: its number, and its items [begin, end).
BlockTask = Callable[[int, int, int], None]


class _ThreadState(threading.local):
    """What a thread knows of itself."""

    in_parallel_region = False


_thread = _ThreadState()
_pool_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def default_num_threads() -> int:
    """The processors that this process may use, or as many as OMP_NUM_THREADS says."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_count = default_num_threads()


def get_num_threads() -> int:
    """How many threads a loop over a large array uses; at first all processors, or OMP_NUM_THREADS."""
    return 1 if _thread.in_parallel_region else _count


def set_num_threads(count: int) -> None:
    """Use ``count`` threads from now on, in loops of this library and in the BLAS library under NumPy.

    Results do not depend on it, but for the last bits of large products of matrices, which BLAS cuts by it.

    RuntimeError when it is no int, or not positive.
    """
    global _count, _pool
    if count.__class__ is not int:
        raise RuntimeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {count}")
    for library in blas_libraries():
        library.set_num_threads(count)
    with _pool_lock:
        if count == _count:
            return
        _count = count
        _pool = None  # its threads end when whoever still uses it lets go of it


def blas_libraries() -> Sequence[LibController]:
    """What sets the threads of each BLAS library: that under NumPy, and SciPy's where that is loaded."""
    return _found_with(len(sys.modules))


@functools.lru_cache(maxsize=1)
def _found_with(modules: int) -> Sequence[LibController]:
    """Those that are found while so many modules are loaded: a library comes with one. To look takes long."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


def parallel_for(task: Task, count: int, grain: int) -> None:
    """Call ``task(begin, end)`` for ranges that together are [0, ``count``), each in some thread.

    No range is shorter than ``grain``, save the only one. The first error of a range is raised, once
    all ranges have ended. Tasks must not touch what another one writes.
    """
    parts = min(get_num_threads(), count // grain) if count >= 2 * grain else 1
    if parts <= 1:
        task(0, count)
        return
    bounds = [count * i // parts for i in range(parts + 1)]
    pool = _threads()
    futures = [
        pool.submit(contextvars.copy_context().run, _run_in_region, task, begin, end)
        for begin, end in pairwise(bounds[1:])
    ]
    try:
        _run_in_region(task, 0, bounds[1])
    finally:
        errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None:
            raise error


def items_of_block(amount: int, length: int) -> int:
    """How many items of ``length`` elements, or bytes, are a block of about ``amount``; at least one."""
    return max(1, amount // max(1, length))


def in_threads(task: Task, size: int, length: int, grain: int, step: int = 1) -> None:
    """Call ``task(begin, end)`` for ranges of ``size`` items of ``length`` elements, each in some thread.

    No thread gets fewer than about ``grain`` elements, or a part of a block of ``step`` items.
    """

    def blocks(first: int, last: int) -> None:
        task(first * step, min(last * step, size))

    parallel_for(blocks, -(-size // step), items_of_block(grain, step * length))


def each_block(
    task: BlockTask,
    size: int,
    length: int,
    grain: int,
    step: int,
) -> None:
    """Call ``task(number, begin, end)`` for all blocks of ``step`` items, which ``in_threads`` shares out.

    Where blocks begin does not depend on the number of threads, so that results do not.
    """

    def blocks(begin: int, end: int) -> None:
        for i in range(begin, end, step):
            task(i // step, i, min(i + step, end))

    in_threads(blocks, size, length, grain, step)


def _run_in_region(task: Task, begin: int, end: int) -> None:
    before, _thread.in_parallel_region = _thread.in_parallel_region, True
    try:
        task(begin, end)
    finally:
        _thread.in_parallel_region = before


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            from concurrent.futures import ThreadPoolExecutor

            others = max(1, _count - 1)  # the number may be 1 since the work was cut
            _pool = ThreadPoolExecutor(others, thread_name_prefix="tengen")
        return _pool


def _after_fork() -> None:
    """A child process has none of its parent's threads, and its locks may be held by nobody."""
    global _pool, _pool_lock
    _pool, _pool_lock, _thread.in_parallel_region = None, threading.Lock(), False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
