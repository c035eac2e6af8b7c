"""One piece of work in several threads at once, and the numbers of threads that a process uses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any


def in_threads(work: Callable[[Any], Any], given: Iterable[Any]) -> None:
    """Call ``work`` with each of ``given`` in threads of their own; wait, and raise what one raised."""
    failed: list[BaseException] = []

    def run(value: Any) -> None:
        try:
            work(value)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(value,)) for value in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def thread_counts() -> dict[str, int]:
    """How many threads tengen uses, and each BLAS library by its file: at first that may be two numbers."""
    from tengen.kernels.parallel import blas_libraries, get_num_threads

    return {"tengen": get_num_threads(), **{lib.filepath: lib.num_threads for lib in blas_libraries()}}


def set_thread_counts(counts: dict[str, int]) -> None:
    """Make ``counts`` what ``thread_counts`` says."""
    from tengen.kernels.parallel import blas_libraries, set_num_threads

    set_num_threads(counts["tengen"])
    for library in blas_libraries():
        library.set_num_threads(counts.get(library.filepath, library.num_threads))
