"""``load``: of which kind a file is, and how it is read."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, Final

from .archive import ArchiveReader, refuse
from .legacy import LegacyReader, is_legacy
from .locations import Locations
from .weights_unpickler import WeightsUnpickler

if TYPE_CHECKING:
    from . import MAP_LOCATION, File

_PICKLE: Final = "data.pkl"
#: A record that TorchScript's archives have, and no other.
_TORCHSCRIPT: Final = "constants.pkl"
_ZIP: Final = b"PK"
#: Where a tar file says what it is.
_TAR: Final = (257, b"ustar")


def read(
    f: File,
    map_location: MAP_LOCATION,
    pickle_module: ModuleType | None,
    weights_only: bool | None,
    mapped: bool,
    options: dict[str, Any],
) -> Any:
    """What ``load`` gives."""
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("load(): weights_only=True has an unpickler of its own: it takes no pickle_module")
    if weights_only and options.keys() - {"encoding"}:
        raise ValueError(
            f"load(): weights_only=True takes no {', '.join(options)}, which are for an Unpickler"
        )
    if mapped and not isinstance(f, (str, os.PathLike)):
        raise ValueError("load(): argument 'f' must be a path with mmap=True")
    locations = Locations(map_location)
    with opened(f) as file:
        archive = _archive(file)
        storages = archive.storages(locations, file if mapped else None)
        text = io.BytesIO(archive.text(_PICKLE))
        if weights_only:
            return WeightsUnpickler(text, storages).load()
        from .trusted import unpickler_class

        return unpickler_class(pickle_module or pickle)(text, storages, **options).load()


@contextmanager
def opened(f: File) -> Iterator[IO[bytes]]:
    """The file of a path, or the stream that was given. What is damaged is an UnpicklingError of ``load``."""
    try:
        if isinstance(f, (str, os.PathLike)):
            with open(f, "rb") as file:
                yield file
        else:
            _check_stream(f)
            yield f
    except pickle.UnpicklingError as error:
        if str(error).startswith("load: "):
            raise
        raise pickle.UnpicklingError(f"load: {error}") from error.__cause__


def _check_stream(f: Any) -> None:
    missing = [name for name in ("read", "seek", "tell") if not hasattr(f, name)]
    seekable = getattr(f, "seekable", None)
    if missing or (seekable is not None and not seekable()):
        raise AttributeError(
            "load(): argument 'f' must be a path or a file that can be sought in: read it into an io.BytesIO "
            f"first ({type(f).__name__}{' has no ' + ', '.join(missing) if missing else ''})"
        )


def _archive(file: IO[bytes]) -> ArchiveReader | LegacyReader:
    """The archive, or what is read as one. UnpicklingError for another kind, which says what to do."""
    start = file.tell()
    head = file.read(_TAR[0] + len(_TAR[1]))
    file.seek(start)
    if not head:
        raise EOFError("load: the file is empty")
    if is_legacy(head):
        return LegacyReader(file)
    if not head.startswith(_ZIP):
        refuse(_other_kind(head))
    archive = ArchiveReader(file)
    if _TORCHSCRIPT in archive:
        refuse(
            "the file is a TorchScript archive, whose program PyTorch alone runs: save the state_dict() of "
            "its module with torch.save"
        )
    if _PICKLE not in archive:
        refuse(f"the file is a zip archive without a record {_PICKLE!r}, which save does not write")
    archive.check()
    return archive


def _other_kind(head: bytes) -> str:
    if head[_TAR[0] :] == _TAR[1]:
        return (
            "the file is a tar archive, as PyTorch before 0.1.10 wrote it: load it with PyTorch, "
            "weights_only=False, and save it again"
        )
    if head[:1] == pickle.PROTO:
        return (
            "the file is a pickle and no zip archive, as pickle.dump and tengen before its archives wrote "
            "it: load it there, and save it again with tengen.save; pickle.load reads pickles that you trust"
        )
    return "the file is no zip archive, which save writes"


# -- the names in a file ---------------------------------------------------------------------


def names_in(f: File) -> set[str]:
    """What the pickle of a file names, as "module.name"; of what is named in other ways "?"."""
    with opened(f) as file:
        text = _archive(file).text(_PICKLE)
        try:
            return set(_names(text))
        except Exception as error:
            refuse(f"the file is damaged: {type(error).__name__}: {str(error)[:200]}")


def _names(text: bytes) -> Iterator[str]:
    """The names. Those of two strings on the stack are the last two that were pushed."""
    memo: dict[int, Any] = {}
    pushed: list[Any] = []
    argument: Any
    for opcode, argument, _ in pickletools.genops(text):
        if opcode.name == "GLOBAL":
            module, _, name = argument.partition(" ")
            yield _written(module, name)
        elif opcode.name == "STACK_GLOBAL":
            yield _written(*pushed[-2:]) if None not in pushed[-2:] else "?"
        if opcode.name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            memo[len(memo) if argument is None else argument] = pushed[-1] if pushed else None
        elif opcode.name in ("GET", "BINGET", "LONG_BINGET"):
            pushed.append(memo.get(argument))
        elif opcode.stack_after:
            pushed.append(argument if isinstance(argument, str) else None)
        del pushed[:-2]


def _written(module: Any, name: Any) -> str:
    return f"{'builtins' if module == '__builtin__' else module}.{name}"
