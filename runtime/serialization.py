"""Files of tensors: ``save`` and ``load``."""

from __future__ import annotations

import os
import pickle
from typing import IO, Any

import numpy as np

from .core.device import as_device, device
from .core.storage import UntypedStorage
from .tensors.pickling import (
    rebuild_parameter as rebuild_parameter,
    rebuild_storage,
    rebuild_stored as rebuild_stored,
    rebuild_subclass as rebuild_subclass,
    rebuild_tensor as rebuild_tensor,
)

__all__ = ["load", "save"]


def __dir__() -> list[str]:
    return sorted(__all__)


def save(obj: Any, f: str | os.PathLike[str] | IO[bytes], pickle_protocol: int = 4) -> None:
    """Write ``obj``, usually a ``state_dict``, to a file: a pickle whose tensors share storages."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            pickle.dump(obj, file, pickle_protocol)
    else:
        pickle.dump(obj, f, pickle_protocol)


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: device | str | None = None,
    *,
    weights_only: bool = True,
) -> Any:
    """Read what ``save`` wrote.

    With ``map_location`` storages that have data go to that device; what shares memory shares it there.

    With ``weights_only`` (the default) nothing but tensors, numbers, strings, NumPy's arrays of these, and
    containers of them is built, so that a file of unknown origin can run no code: of pickles of the
    protocols 2 to 5, with ``pickle.UnpicklingError`` for one that has anything else, is damaged, or nests
    containers more than 500 deep. SECURITY.md says what is promised of such files.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, map_location, weights_only=weights_only)
    where = None if map_location is None else as_device(map_location)
    if not weights_only:
        return _Unpickler(f, where).load()
    from .tensors.weights_unpickler import WeightsUnpickler

    return WeightsUnpickler(f, where).load()


class _Unpickler(pickle.Unpickler):
    """Python's, for files that are trusted, with the storages on a device."""

    def __init__(self, file: IO[bytes], where: device | None) -> None:
        super().__init__(file)
        self.where = where

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return self.storage if found is rebuild_storage else found

    def storage(self, where: device, content: np.ndarray[Any, Any] | int) -> UntypedStorage:
        return rebuild_storage(where, content, self.where)
