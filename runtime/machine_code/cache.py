"""Object code on disk, by a hash of all that it depends on.

A file is written beside its place and moved there, and has a checksum: whatever is not whole is made again.
Processes that make the same file at once do no harm. Where nothing can be written there is no cache, and
nothing else happens.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from pathlib import Path

_MAGIC = b"tengen machine code 1\n"
_DAY = 24 * 3600.0
#: Files that were not used for so long are removed.
_KEPT_DAYS = 90


def cache_folder() -> Path | None:
    """Where object code is kept: below TENGEN_CACHE, or in the platform's folder for caches.

    None where there is no home folder.
    """
    asked = os.environ.get("TENGEN_CACHE")
    if asked:
        return Path(asked) / "kernels"
    root = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    if root and Path(root).is_absolute():
        return Path(root) / "tengen" / "kernels"
    try:
        return Path.home() / ".cache" / "tengen" / "kernels"
    except RuntimeError:
        return None


class Cache:
    """The folder of this process; ``problem`` says why nothing can be written to it."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.problem = "" if folder is not None else "there is no home folder"

    def read(self, key: str) -> bytes | None:
        """What was kept by a key; None where there is nothing, or it is damaged, or another user's."""
        if self.folder is None:
            return None
        path = self._path(self.folder, key)
        try:
            with open(path, "rb") as file:
                found = os.fstat(file.fileno())
                text = file.read()
        except OSError:
            return None
        head, data = text[: len(_MAGIC) + 32], text[len(_MAGIC) + 32 :]
        if head != _MAGIC + _checksum(key, data) or not _trusted(found):
            return None
        if time.time() - found.st_mtime > _DAY:
            with contextlib.suppress(OSError):
                os.utime(path)  # it is in use
        return data

    def write(self, key: str, data: bytes) -> None:
        """Keep data by a key, if that is possible."""
        if self.folder is None or self.problem:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(self._path(self.folder, key), _MAGIC + _checksum(key, data) + data)
            self._tidy(self.folder)
        except OSError as error:
            self.problem = str(error)

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / f"{key[:40]}.o"

    @staticmethod
    def _tidy(folder: Path) -> None:
        """Once a day, remove what has not been used for long, and what killed processes left behind."""
        now, marker = time.time(), folder.with_suffix(".tidied")
        if marker.exists() and now - marker.stat().st_mtime < _DAY:
            return  # to look at each file takes longer than to make some
        marker.touch()
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                days = (now - path.stat().st_mtime) / _DAY
                if (path.suffix == ".o" and days > _KEPT_DAYS) or (path.suffix == ".part" and days > 1):
                    path.unlink()


def _checksum(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).digest()


def _trusted(found: os.stat_result) -> bool:
    """Whether nobody else can have written the file: what is read is run."""
    return not hasattr(os, "geteuid") or found.st_uid in (os.geteuid(), 0)


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole, or not at all."""
    import tempfile

    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
