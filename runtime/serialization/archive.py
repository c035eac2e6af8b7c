"""PyTorch's archives: zip files of records that are not compressed, each at an address of whole 64 bytes."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from hashlib import sha256
from pickle import UnpicklingError
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import numpy as np

if TYPE_CHECKING:
    from .locations import Locations
    from .storages import Storages

#: What every archive of this kind says of its format.
VERSION: Final = b"3\n"
#: That records are in the order of their keys, and that the alignment has a record.
FORMAT_VERSION: Final = b"1"
ALIGNMENT: Final = 64
#: The date of all records, so that the same data is the same file.
_DATE: Final = (1980, 1, 1, 0, 0, 0)
#: What stands before a record and before its name, and before its name's extra field.
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
_LOCAL_MAGIC: Final = b"PK\3\4"
_EXTRA_HEADER: Final = struct.Struct("<2sH")
#: The extra field of sizes that need more than 32 bits.
_ZIP64_LENGTH: Final = 20
_ZIP64_LIMIT: Final = (1 << 31) - 1

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def refuse(what: str) -> NoReturn:
    """Raise UnpicklingError."""
    raise UnpicklingError(what)


class _Record(NamedTuple):
    offset: int  # of its header in the file
    end: int  # where the next one begins
    size: int
    checksum: int


class ArchiveReader:
    """The records of an archive, by their names below the archive's own; ``check`` comes first."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.length = file.seek(0, os.SEEK_END)
        try:
            self._infos = zipfile.ZipFile(file).infolist()
        except OSError:
            raise
        except Exception as error:  # of the many that zipfile has
            refuse(f"the archive is damaged: {type(error).__name__}: {str(error)[:200]}")
        if not self._infos:
            refuse("the archive has no records")
        self.name = self._infos[0].filename.partition("/")[0]
        self._names = {info.filename.partition("/")[2] for info in self._infos}
        self.records: dict[str, _Record] = {}

    def check(self) -> None:
        """UnpicklingError for records that are compressed, not whole, or not apart from each other."""
        self.records = dict(self._checked())
        if len(self.records) < len(self._infos):
            refuse("the archive has two records of one name")

    def _checked(self) -> Iterator[tuple[str, _Record]]:
        infos = sorted(self._infos, key=lambda i: i.header_offset)
        ends = [info.header_offset for info in infos[1:]] + [self.length]
        for info, end in zip(infos, ends, strict=True):
            archive, _, name = info.filename.partition("/")
            shown = repr(info.filename[:80])
            if archive != self.name or not name:
                refuse(f"the archive has the record {shown} outside of {self.name[:80]!r}")
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                refuse(f"the record {shown} is compressed, which save never does: it may be of any size")
            if info.flag_bits & 1:
                refuse(f"the record {shown} is encrypted")
            if not 0 <= info.header_offset <= end - _LOCAL_HEADER.size - info.file_size:
                refuse(f"the record {shown} reaches into what follows it")
            yield name, _Record(info.header_offset, end, info.file_size, info.CRC)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def size(self, name: str) -> int:
        """The bytes of a record. UnpicklingError where there is none of the name."""
        return self._record(name).size

    def _record(self, name: str) -> _Record:
        return self.records.get(name) or refuse(f"the archive has no record {name[:80]!r}")

    def storages(self, locations: Locations, mapped: IO[bytes] | None) -> Storages:
        """What reads the storages that the archive's pickle names."""
        from .storages import Storages

        return Storages(self, locations, mapped)

    def start(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        record = self._record(name)
        self.file.seek(record.offset)
        header = self.file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or header[:4] != _LOCAL_MAGIC:
            refuse(f"the record {name[:80]!r} is not where the archive says")
        _, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        written = self.file.read(int(name_length) + int(extra_length))
        if written[:name_length] != f"{self.name}/{name}".encode() or not _is_whole(written[name_length:]):
            refuse(f"the record {name[:80]!r} has a damaged header")  # which says where its bytes begin
        start = record.offset + _LOCAL_HEADER.size + int(name_length) + int(extra_length)
        if start + record.size > record.end:
            refuse(f"the record {name[:80]!r} reaches into what follows it")
        return start

    def read(self, name: str) -> Bytes:
        """The bytes of a record, which have its checksum."""
        record, start = self._record(name), self.start(name)
        self.file.seek(start)
        content: Bytes = np.empty(record.size, np.uint8)
        fill(self.file, content.data)
        if zlib.crc32(content.data) != record.checksum:
            refuse(
                f"the record {name[:80]!r} is damaged: its checksum is another one. (PyTorch writes wrong "
                "ones where set_crc32_options(False) says so: mmap=True does not look at those of storages.)"
            )
        return content

    def text(self, name: str) -> bytes:
        """The bytes of a small record."""
        return self.read(name).tobytes()


def _is_whole(extra: bytes) -> bool:
    """Whether an extra field is a row of fields, the last of which ends where it does."""
    at = 0
    while at < len(extra):
        if at + _EXTRA_HEADER.size > len(extra):
            return False
        at += _EXTRA_HEADER.size + int(_EXTRA_HEADER.unpack_from(extra, at)[1])
    return at == len(extra)


def fill(file: IO[bytes], buffer: memoryview) -> None:
    """Read as many bytes as there is room for."""
    read_into = getattr(file, "readinto", None)
    done = 0
    while done < len(buffer):
        if read_into is not None:
            count = read_into(buffer[done:])
        else:
            found = file.read(len(buffer) - done)
            count = len(found)
            buffer[done : done + count] = found
        if not count:
            refuse("the file ends early")
        done += count


class ArchiveWriter:
    """Writes records to a file, from where it stands; it need not be sought in."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self.name = name
        self.zip = zipfile.ZipFile(file, "w")
        self._names, self._contents = sha256(), sha256()

    def write(self, name: str, content: bytes | Bytes) -> None:
        """One record."""
        view = content.data if isinstance(content, np.ndarray) else memoryview(content)
        info = zipfile.ZipInfo(f"{self.name}/{name}", _DATE)
        info.file_size = view.nbytes
        is_large = view.nbytes * 1.05 > _ZIP64_LIMIT
        info.extra = self._padding(info.filename, is_large)
        with self.zip.open(info, "w", force_zip64=is_large) as record:
            record.write(view)
        self._names.update(name.encode() + b"\0")
        self._contents.update(info.CRC.to_bytes(4, "little"))

    def _padding(self, name: str, is_large: bool) -> bytes:
        """An extra field after which the address of the record's bytes is aligned."""
        before = self.zip.start_dir + _LOCAL_HEADER.size + len(name.encode()) + _EXTRA_HEADER.size
        missing = -(before + _ZIP64_LENGTH * is_large) % ALIGNMENT
        return _EXTRA_HEADER.pack(b"FB", missing) + b"Z" * missing

    def close(self) -> None:
        """Write what ends every archive: its version, what tells it from others, and the directory."""
        self.write("version", VERSION)
        digests = [int.from_bytes(h.digest()[:8], "little") for h in (self._names, self._contents)]
        self.write(".data/serialization_id", "".join([f"{number:020d}" for number in digests]).encode())
        self.zip.close()
