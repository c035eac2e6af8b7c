"""Files in PyTorch's format: ``save`` and ``load``, and what a file may name."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import IO, Any

from ..core.device import device
from ..core.storage import UntypedStorage
from ..tensors.pickling import (
    rebuild_parameter as rebuild_parameter,
    rebuild_storage as rebuild_storage,
    rebuild_stored as rebuild_stored,
    rebuild_subclass as rebuild_subclass,
    rebuild_tensor as rebuild_tensor,
)
from ..tensors.typed_storage import rebuild_typed_storage as rebuild_typed_storage
from .safe_globals import (
    add_safe_globals as add_safe_globals,
    clear_safe_globals as clear_safe_globals,
    get_safe_globals as get_safe_globals,
    get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint,
    safe_globals as safe_globals,
)

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]

#: What a file is: a path, or a binary stream that can be sought in.
File = str | os.PathLike[str] | IO[bytes]
#: Where storages go: a device, what stands for the file's devices, or a function that puts them there.
MAP_LOCATION = (
    Callable[[UntypedStorage, str], UntypedStorage | None] | device | str | dict[str, str | device] | None
)


def __dir__() -> list[str]:
    return sorted(__all__)


def save(
    obj: Any,
    f: File,
    pickle_module: ModuleType | None = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write ``obj``, usually a ``state_dict``, to a file that PyTorch reads too.

    A file is PyTorch's zip archive: a pickle, and beside it the bytes of each storage, which the tensors that
    share memory share. ``pickle_module`` has the Pickler, Python's by default, which must be written in
    Python, as that of dill is. PyTorch reads files with ``weights_only=True`` that have protocol 2.

    RuntimeError for tensors of several dtypes on one memory, and for the formats before the archive; what
    pickle raises for an object that cannot be pickled. Nothing is written then.
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError("save: the formats before PyTorch 1.6 are not written; zip archives are")
    from .writing import write

    write(obj, f, pickle_module, pickle_protocol, byteorder=not _disable_byteorder_record)


def load(
    f: File,
    map_location: MAP_LOCATION = None,
    pickle_module: ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what ``save`` or PyTorch's ``torch.save`` wrote.

    ``map_location`` says where storages go: a device, a dict from the file's devices to others, or a function
    of a storage on the CPU and the name of its device, which gives the storage to take, or None. What shares
    memory shares it there, too. With ``mmap=True`` the file, which must be a path, is mapped into memory:
    what is read of it is what is used, and what is written to tensors is not written to it.

    With ``weights_only`` (the default) nothing but tensors, numbers, strings, NumPy's arrays of these, and
    containers of them is built, and what ``add_safe_globals`` allows, so that a file of unknown origin can
    run no code. ``pickle.UnpicklingError`` for one that has anything else or is damaged, and for PyTorch's
    tar files and TorchScript archives; its format before 1.6 is read. SECURITY.md says what is promised
    of such files.

    EOFError for an empty file.

    Else any code of the file is run. PyTorch's names in it are those of tengen. ``pickle_module`` has the
    Unpickler, which gets ``pickle_load_args``. ValueError for these with ``weights_only=True``.
    """
    from .reading import read

    return read(f, map_location, pickle_module, weights_only, bool(mmap), pickle_load_args)
