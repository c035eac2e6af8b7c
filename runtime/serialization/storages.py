"""The storages of an archive, each read when a pickle first names it."""

from __future__ import annotations

import mmap
import sys
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from ..core.device import default_device, device
from ..core.scalar_type import dtype
from ..core.storage import UntypedStorage
from ..dispatch.legacy_type_dispatch import backend_of_device
from ..tensors.typed_storage import TypedStorage
from .archive import ArchiveReader, Bytes, refuse
from .locations import Locations, moved, without_data
from .names import StorageKind

if TYPE_CHECKING:
    from .legacy import LegacyReader

_BYTE_ORDERS: Final = {b"little": "little", b"big": "big"}
#: Elements must not begin at other addresses than multiples of their size: this is the largest.
_ALIGNMENT: Final = 16


class Storages:
    """Reads storages, and keeps them for those who share them."""

    def __init__(
        self, archive: ArchiveReader | LegacyReader, locations: Locations, mapped: IO[bytes] | None = None
    ) -> None:
        self.archive, self.locations = archive, locations
        self._memory: mmap.mmap | None = None
        if mapped is not None:
            self._memory = mmap.mmap(mapped.fileno(), 0, access=mmap.ACCESS_COPY)
        self._is_swapped = self._byte_order() != sys.byteorder
        self._read: dict[str, UntypedStorage] = {}
        #: Of storages, by their ids, the device that a tensor of one is copied to when it is made.
        self.onto: dict[int, device] = {}
        #: The storages of bytes whose order is to be turned when the first tensor of them says the dtype.
        self._unordered: dict[int, UntypedStorage] = {}

    def _byte_order(self) -> str:
        if "byteorder" not in self.archive:
            return "little"
        found = self.archive.text("byteorder")
        return _BYTE_ORDERS.get(found) or refuse(f"the archive has the byte order {found[:20]!r}")

    def load(self, named: Any) -> TypedStorage | UntypedStorage:
        """The storage of a persistent id: ("storage", its class, its key, its device, its elements)."""
        kinds = [type(part) for part in named] if type(named) is tuple else []
        if kinds != [str, StorageKind, str, str, int] or named[0] != "storage":
            refuse("the file has a persistent id that is none of a storage")
        _, kind, key, location, count = named
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = self._placed(kind, f"data/{key}", location)
        if found.nbytes() // kind.itemsize != count:
            refuse(
                f"the file has a storage {key[:20]!r} of {found.nbytes()} bytes, and names it as one of "
                f"{str(count)[:20]} elements of {kind.itemsize} bytes"
            )
        return found if kind.dtype is None else TypedStorage(wrap_storage=found, dtype=kind.dtype)

    def _placed(self, kind: StorageKind, record: str, location: str) -> UntypedStorage:
        has_choice = self.locations.function is not None
        if not has_choice:
            where = self.locations.device(location)
            if not backend_of_device(where).has_data:
                return without_data(where, self.archive.size(record))
        storage = UntypedStorage.over(self._content(record), backend_of_device(default_device))
        if self._is_swapped:
            self._unordered[id(storage)] = storage
            if kind.dtype is not None:
                self.order(storage, kind.dtype)
        if has_choice:
            chosen = self.locations.chosen(storage, location)
            if chosen is not None:
                return chosen
            where = self.locations.device(location)
        if backend_of_device(where).mutable and id(storage) not in self._unordered:
            return moved(storage, where)
        if where.type != storage.device.type:
            self.onto[id(storage)] = where
        return storage

    def _content(self, record: str) -> Bytes:
        if self._memory is None:
            return self.archive.read(record)
        start = self.archive.start(record)
        # An array of its own, not a part of one: a storage is all that its array is of.
        found: Bytes = np.frombuffer(self._memory, np.uint8, self.archive.size(record), start)
        return found if start % _ALIGNMENT == 0 else found.copy()

    def order(self, storage: UntypedStorage, scalar_type: dtype) -> None:
        """Give the bytes the machine's order, once: they are those of elements of the dtype."""
        if self._unordered.pop(id(storage), None) is None:
            return
        width = scalar_type.itemsize // (2 if scalar_type.is_complex else 1)
        if width > 1:
            content = storage.memory()
            whole = content[: len(content) // width * width].view(f"u{width}")
            whole.byteswap(inplace=True)
