"""Pipes of files: their names, the files that are opened, and what is read from them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any

from .....core.user_stack import program_stacklevel
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from .utils import IterableWrapperIterDataPipe

__all__ = ["FileListerIterDataPipe", "FileOpenerIterDataPipe", "StreamReaderIterDataPipe"]

_MODES = ("b", "t", "rb", "rt", "r")


class _Lengthy(IterDataPipe[Any]):
    """A pipe whose length nobody knows but who made it."""

    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(_Lengthy):
    """The names of the files in folders, or of files that are given themselves, sorted within each folder.

    ``root`` is a folder, or several, or a pipe of them; ``masks`` are patterns, of which a file's name fits
    one. With ``recursive`` also what is in folders in these; with ``abspath`` whole paths; with
    ``non_deterministic`` as the system has them. OSError, and a warning, for a folder that cannot be read.
    """

    def __init__(
        self,
        root: str | Sequence[str] | IterDataPipe[Any] = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        super().__init__()
        roots = [root] if isinstance(root, str) else root
        self.datapipe = roots if isinstance(roots, IterDataPipe) else IterableWrapperIterDataPipe(roots)
        self.masks, self.recursive, self.abspath = masks, recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            yield from self._files(root)

    def _files(self, root: str) -> Iterator[str]:
        if os.path.isfile(root):
            if self._fits(os.path.basename(root)):
                yield os.path.abspath(root) if self.abspath else root
            return
        for folder, folders, files in os.walk(root, onerror=_unreadable):
            if not self.non_deterministic:
                files.sort()
                folders.sort()  # which is the order in which they are walked
            where = os.path.abspath(folder) if self.abspath else folder
            yield from (os.path.join(where, file) for file in files if self._fits(file))
            if not self.recursive:
                return

    def _fits(self, name: str) -> bool:
        masks = [self.masks] if isinstance(self.masks, str) else self.masks
        return not self.masks or any(fnmatch(name, mask) for mask in masks)


def _unreadable(error: OSError) -> None:
    warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=program_stacklevel())
    raise error


class StreamWrapper:
    """A stream that is closed when nobody has it any more; it has all that the stream has."""

    def __init__(self, file_obj: Any) -> None:
        self.file_obj = file_obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.file_obj)

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self.file_obj)})

    def __repr__(self) -> str:
        return f"StreamWrapper<{self.file_obj!r}>"

    def __del__(self) -> None:
        file = self.__dict__.get("file_obj")
        if file is not None:
            file.close()


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_Lengthy):
    """Of file names pairs of the name and the open file, which is closed when nobody has it any more.

    ``mode`` is "r", "b" or "t", or "rb", "rt"; ValueError for others, and for an ``encoding`` in binary mode.
    TypeError for what is no name.
    """

    def __init__(
        self, datapipe: Iterable[str], mode: str = "r", encoding: str | None = None, length: int = -1
    ) -> None:
        super().__init__()
        if mode not in _MODES:
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Iterator[tuple[str, StreamWrapper]]:
        mode = self.mode if self.mode.startswith("r") else f"r{self.mode}"
        for name in self.datapipe:
            if not isinstance(name, str):
                raise TypeError(f"Expected string type for pathname, but got {type(name)}")
            yield name, StreamWrapper(open(name, mode, encoding=self.encoding))  # noqa: SIM115  who has it last closes it


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """Of pairs of a name and a stream pairs of the name and what is read, ``chunk`` at a time, None: at once.

    A stream is closed at its end.
    """

    def __init__(self, datapipe: IterDataPipe[Any], chunk: int | None = None) -> None:
        super().__init__()
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name, stream in self.datapipe:
            while read := stream.read(self.chunk):
                yield name, read
            stream.close()
