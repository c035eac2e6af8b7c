"""Files as PyTorch wrote them before 1.6: a row of pickles, and behind them the bytes of the storages.

First three pickles that say what the file is, then one of the object, and one of the keys of its storages;
then for each key the number of elements and the bytes. How many bytes an element has says the object's pickle
alone, so that is first gone through without making anything.
"""

from __future__ import annotations

import os
import pickle
import struct
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np

from .archive import Bytes, fill, refuse
from .names import StorageKind, values
from .storages import Storages
from .weights_unpickler import WeightsUnpickler

if TYPE_CHECKING:
    from .locations import Locations

#: What the first pickle is, and the second.
MAGIC: Final = 0x1950A86A20F9469CFC6C
_VERSION: Final = 1001
#: What stands before the bytes of a storage: how many elements it has.
_COUNT: Final = struct.Struct("<q")

Place = tuple[int, int]


class _Outline(WeightsUnpickler):
    """Goes through a pickle for the storages that it names: of each key the bytes of an element."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, None)
        self.widths: dict[str, int] = {}

    def persistent(self) -> None:
        named = self.stack.pop()
        if type(named) is tuple and len(named) == 6 and named[0] == "storage":
            _, kind, key, *_ = named
            if not isinstance(kind, StorageKind) or type(key) is not str:
                refuse("the file has a persistent id that is none of a storage")
            if self.widths.setdefault(key, kind.itemsize) != kind.itemsize:
                refuse(f"the file names its storage {key[:20]!r} as one of elements of different sizes")
        self.push(None)

    def name(self, module: str, name: str) -> None:
        self.push(values().get(f"{module}.{name}"))

    def called(self, function: Any, arguments: Any) -> None:
        return None

    def new_object(self) -> None:
        self.stack[-2:] = [None]

    def build(self) -> None:
        self.stack.pop()

    def append(self) -> None:
        self.stack.pop()

    def set_item(self) -> None:
        del self.stack[-2:]

    def appends(self) -> None:
        self.items()

    set_items = add_items = appends

    def frozen_set(self) -> None:
        self.items()
        self.push(None)

    def check(self, found: Any) -> None:
        """What is found is thrown away."""


class LegacyReader:
    """The records of such a file, by the names that they have in an archive."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        start = file.tell()
        self._length = file.seek(0, os.SEEK_END)
        file.seek(start)
        if self._data() != MAGIC:
            refuse("the file is a pickle of something else")
        if self._data() != _VERSION:
            refuse(f"the file has a format before PyTorch 1.6 of another version than {_VERSION}")
        self._data()  # of the machine that wrote it: the bytes are those of a little-endian one in any case
        begin = file.tell()
        outline = _Outline(file)
        outline.load()
        self.records: dict[str, Place] = {"data.pkl": (begin, file.tell() - begin)}
        self._find(self._data(), outline.widths)

    def _data(self) -> Any:
        """What the next pickle has: numbers, strings and containers of them."""
        return WeightsUnpickler(self.file, None).load()

    def _find(self, keys: Any, widths: dict[str, int]) -> None:
        """Where the bytes of each storage are. The file is behind them afterwards."""
        if type(keys) is not list or set(map(type, keys)) - {str} or set(keys) != widths.keys():
            refuse("the file lists other storages than those that it names")
        for key in keys:
            count = self.file.read(_COUNT.size)
            if len(count) < _COUNT.size:
                refuse("the file ends early")
            begin, size = self.file.tell(), _COUNT.unpack(count)[0] * widths[key]
            if not 0 <= size <= self._length - begin:
                refuse(f"the storage {key[:20]!r} of the file reaches over its end")
            self.records[f"data/{key}"] = begin, size
            self.file.seek(begin + size)

    def __contains__(self, name: str) -> bool:
        return name in self.records

    def _place(self, name: str) -> Place:
        return self.records.get(name) or refuse(f"the file has no storage {name[:80]!r}")

    def size(self, name: str) -> int:
        """The bytes of a record. UnpicklingError where there is none of the name."""
        return self._place(name)[1]

    def start(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        return self._place(name)[0]

    def read(self, name: str) -> Bytes:
        """The bytes of a record."""
        begin, size = self._place(name)
        end = self.file.tell()
        self.file.seek(begin)
        content: Bytes = np.empty(size, np.uint8)
        fill(self.file, content.data)
        self.file.seek(end)  # where the next one begins, of several in one stream
        return content

    def text(self, name: str) -> bytes:
        """The bytes of a small record."""
        return self.read(name).tobytes()

    def storages(self, locations: Locations, mapped: IO[bytes] | None) -> Storages:
        """What reads the storages that the object's pickle names."""
        return LegacyStorages(self, locations, mapped)


class LegacyStorages(Storages):
    """Storages as such files name them."""

    def load(self, named: Any) -> Any:
        """The storage of a persistent id, which says, too, of which other one it is a part.

        A class comes with its source, of which nothing is known here: the class is what is meant.
        """
        parts = named if type(named) is tuple else ()
        if len(parts) == 4 and parts[0] == "module":
            return parts[1]
        if len(parts) != 6 or parts[5] is not None:
            refuse("the file has a persistent id that is none of a whole storage")
        return super().load(parts[:5])


def is_legacy(head: bytes) -> bool:
    """Whether a file that begins so may be one."""
    return head[:1] == pickle.PROTO and MAGIC.to_bytes(10, "little") in head[:40]
