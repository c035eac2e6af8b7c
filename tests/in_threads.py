"""One piece of work in several threads at once, and the numbers of threads that a process uses."""

from __future__ import annotations

import functools
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


@functools.cache
def _blas() -> Any:
    import numpy as np
    from threadpoolctl import ThreadpoolController

    assert np  # whose BLAS is found once it is loaded
    return ThreadpoolController().select(user_api="blas")


def thread_counts() -> tuple[int, ...]:
    """How many threads tengen uses, and each BLAS library: at first that may be two numbers."""
    import tengen

    return tengen.get_num_threads(), *[library.num_threads for library in _blas().lib_controllers]


def set_thread_counts(counts: tuple[int, ...]) -> None:
    """Make ``counts`` what ``thread_counts`` says."""
    import tengen

    tengen.set_num_threads(counts[0])
    for library, count in zip(_blas().lib_controllers, counts[1:], strict=True):
        library.set_num_threads(count)
