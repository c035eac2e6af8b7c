"""The namespace of a table's kernels, as generated code has it."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any

import numpy as np

from ..core.costs import LIGHT, NATIVE_SHARED, NATIVE_THREAD, NATIVE_WAKES

#: Held where a kernel is looked for: one thread at a time compiles, and none while the process forks.
lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


#: The ufuncs of costly kernels: whose elements take longer to compute, or are waited for longer, than memory
#: takes to bring them in order.
_costly: set[np.ufunc] = set()


def note_costly(kernel: np.ufunc) -> None:
    """Say that a kernel is costly."""
    _costly.add(kernel)


#: The ufuncs that go along several rows at once, where these lie side by side.
_across: set[np.ufunc] = set()


def note_across(kernel: np.ufunc) -> None:
    """Say that a kernel goes along several rows at once."""
    _across.add(kernel)


def goes_across(kernel: np.ufunc) -> bool:
    """Whether a kernel goes along several rows at once that lie side by side: copies would not be faster."""
    return kernel in _across


def _times(kernel: np.ufunc) -> int:
    """How many times as many elements of a kernel are as much work as those of a costly one."""
    return 1 if kernel in _costly else LIGHT


def grain_of(kernel: np.ufunc) -> int:
    """How many elements of a kernel are worth a thread of Python's."""
    return NATIVE_THREAD * _times(kernel)


def shared_from(kernel: np.ufunc) -> int:
    """From how many elements on a kernel is shared out to the C machine's threads that are awake."""
    return NATIVE_SHARED * _times(kernel)


def wakes_from(kernel: np.ufunc) -> int:
    """From how many elements on that is worth waking them."""
    return NATIVE_WAKES * _times(kernel)


class Kernels:
    """The kernels of a module of tables, by name: a ufunc, or None where there is no machine code for it.

    A kernel is looked for, and compiled, when it is first asked for; from then on it is a plain attribute.
    AttributeError for a name that the table does not have.
    """

    _tables = ""

    def __init__(self, tables: str) -> None:
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying and the like ask for
            raise AttributeError(name)
        with lock:
            if name not in self.__dict__:
                from .finder import finder_of

                try:
                    self.__dict__[name] = finder_of(self._tables).find(name)
                except KeyError:
                    raise AttributeError(f"{self._tables} has no kernel {name!r}") from None
            return self.__dict__[name]

    def __repr__(self) -> str:
        return f"Kernels({self._tables!r})"


@functools.cache
def kernels_of(tables: str) -> Kernels:
    """The kernels of a module of tables, which all who ask share."""
    return Kernels(tables)
