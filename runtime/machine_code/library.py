"""Kernels in a shared library that was built in advance, for the processor's level.

It lies in the folder ``machine_code`` beside its table, with its contents: the key of the kernels and of the
lowering that it was built from, and a checksum. It is loaded only where both are right.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .numpy_api import keep_forever
from .processor import Target, system, targets
from .tables import Kernel, Table

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


class Refused(Exception):
    """Why a library is not used."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What stands beside a library."""

    key: str
    checksum: str
    kernels: tuple[str, ...]

    def text(self) -> str:
        """As it is written."""
        return json.dumps(asdict(self), indent=1) + "\n"

    @staticmethod
    def of(text: str) -> Contents:
        """As it was written. ValueError for another text."""
        try:
            found = json.loads(text)
            return Contents(str(found["key"]), str(found["checksum"]), tuple(map(str, found["kernels"])))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no contents of a library: {error}") from error


def folder_of(table: Table) -> Path:
    """Where the libraries of a table are."""
    return Path(table.module.__file__ or "").parent / "machine_code"


def path_of(table: Table, target: Target, folder: Path) -> Path:
    """The library for a target, on this operating system."""
    stem = table.module.__name__.rpartition(".")[2]
    return folder / f"{stem}-{system()}-{target.name}{_SUFFIX}"


def contents_path(library: Path) -> Path:
    """Where the contents of a library stand."""
    return library.with_suffix(".contents")


class Library:
    """A library that was found to be of these tables. Raises Refused."""

    name = "library"

    def __init__(self, table: Table) -> None:
        self.path = _chosen(table, targets())
        try:
            self._loaded = ctypes.CDLL(str(self.path))
        except OSError as error:
            raise Refused(f"{self.path.name} cannot be loaded: {error}") from error
        keep_forever(self._loaded)

    def description(self) -> str:
        """Which library."""
        return str(self.path)

    def addresses(self, kernel: Kernel) -> dict[str, int]:
        """The loops of a kernel by their scalar types. AttributeError where the library lacks one."""
        found = {s: getattr(self._loaded, kernel.symbol(s)) for s in kernel.scalars}
        return {s: ctypes.cast(f, ctypes.c_void_p).value or 0 for s, f in found.items()}


def _chosen(table: Table, runnable: Sequence[Target]) -> Path:
    """The best library that runs here. Raises Refused."""
    folder = folder_of(table)
    refused = "none was built"
    for target in runnable:
        path = path_of(table, target, folder)
        if path.is_file():
            refused = _objection(table, path)
            if not refused:
                return path
    raise Refused(refused)


def _objection(table: Table, path: Path) -> str:
    """What speaks against a library; an empty text if nothing does."""
    try:
        contents = Contents.of(contents_path(path).read_text(encoding="utf-8"))
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        return f"{path.name} cannot be read: {error}"
    if contents.key != table.key():
        return f"{path.name} was built from other declarations or another lowering"
    if contents.checksum != checksum(data):
        return f"{path.name} is damaged"
    return ""


def checksum(data: bytes) -> str:
    """That of a library's bytes."""
    return hashlib.sha256(data).hexdigest()
