"""One piece of work in several threads at once."""

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
