"""Where the kernels of a table come from in this process, and each of them when it is asked for."""

from __future__ import annotations

import functools
import os
from typing import Protocol

import numpy as np

from ..fast_paths import add_loops
from .kernels import lock, note_across, note_costly, shared_from
from .library import Library, Refused
from .numpy_api import NotSupported, api
from .tables import Kernel, Table, table_of

VARIABLE = "TENGEN_NATIVE"


class Provider(Protocol):
    """A library, or llvmlite."""

    name: str

    def description(self) -> str:
        """What it is, in words."""

    def addresses(self, kernel: Kernel) -> dict[str, int]:
        """The loops of a kernel by their scalar types."""


class Finder:
    """A table's kernels as ufuncs.

    ``reason`` says why the provider is what it is, ``failures`` why a kernel that was asked for is None.
    """

    def __init__(self, tables: str) -> None:
        self.table = table_of(tables)
        self.provider, self.reason = _provider(self.table)
        self.failures: dict[str, str] = {}

    def find(self, name: str) -> np.ufunc | None:
        """The ufunc of a kernel; None where there is no machine code for it. KeyError for an unknown name."""
        kernel = self.table.kernels[name]
        if self.provider is None:
            return None
        try:
            made = _ufunc(kernel, self.table, self.provider)
        except Exception as error:
            self.failures[name] = _one_line(error)
            return None
        return made


def _ufunc(kernel: Kernel, table: Table, provider: Provider) -> np.ufunc:
    loops = {kernel.dtypes(scalar): address for scalar, address in provider.addresses(kernel).items()}
    made = api().ufunc(kernel.name, len(kernel.inputs), len(kernel.outputs), kernel.signature, loops)
    if kernel.calls(table.routines) or kernel.scans or kernel.reads_at_indices:
        note_costly(made)
    if kernel.goes_across:
        note_across(made)
    add_loops(made, loops, shared_from(made))
    return made


def _provider(table: Table) -> tuple[Provider | None, str]:
    """What has the kernels of a table, and why it is that."""
    if switched_off():
        return None, f"{VARIABLE}=0"
    try:
        api()
    except NotSupported as error:
        return None, str(error)
    try:
        library = Library(table)
        return library, "it was built from these declarations, for this processor"
    except Refused as error:
        no_library = f"of libraries that were built in advance {error}"
    try:
        from .just_in_time import JustInTime

        return JustInTime(table), no_library
    except ModuleNotFoundError as error:
        return None, f"{no_library}, and {error.name} is not installed (pip install 'tengen[compile]')"
    except Exception as error:  # whatever keeps llvmlite from working here
        return None, f"{no_library}, and llvmlite does not work here: {_one_line(error)}"


def switched_off() -> bool:
    """Whether the environment asks for NumPy's forms."""
    return os.environ.get(VARIABLE) == "0"


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@functools.cache
def _finder(tables: str) -> Finder:
    return Finder(tables)


def finder_of(tables: str) -> Finder:
    """That of a module of tables, made once."""
    with lock:
        return _finder(tables)
