"""Where the storages of a file go: what ``map_location`` means."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.device import as_device, device
from ..core.scalar_type import uint8
from ..core.storage import UntypedStorage
from ..dispatch.legacy_type_dispatch import backend_of_device
from .archive import refuse

if TYPE_CHECKING:
    from . import MAP_LOCATION


class Locations:
    """The device of each storage, of the name that the file has for it."""

    def __init__(self, map_location: MAP_LOCATION = None) -> None:
        #: Given a storage on the CPU and its device's name, gives the storage to take, or None.
        self.function: Callable[[UntypedStorage, str], UntypedStorage | None] | None = None
        #: What that raised: an error of the caller and none of the file.
        self.raised: Exception | None = None
        self._places: dict[str, str | device] = {}
        self._everywhere: device | None = None
        if isinstance(map_location, (str, device)):
            self._everywhere = as_device(map_location)
        elif isinstance(map_location, dict):
            self._places = map_location
        elif callable(map_location):
            self.function = map_location
        elif map_location is not None:
            raise TypeError(
                "load(): argument 'map_location' must be a device, a string, a dict or a function, not "
                f"{type(map_location).__name__}"
            )

    def device(self, location: str) -> device:
        """Where the storages of a location go. UnpicklingError for a device of the file that is not here."""
        if self._everywhere is not None:
            return self._everywhere
        if location in self._places:
            return as_device(self._places[location])
        try:
            where = device(location)
            backend_of_device(where)
        except Exception as error:
            refuse(
                f"the file has tensors on the device {location[:40]!r}, which is not here "
                f"({str(error)[:200]}); load it with map_location='cpu'"
            )
        return where

    def chosen(self, storage: UntypedStorage, location: str) -> UntypedStorage | None:
        """What the function gives, of which there is one; what it raises."""
        assert self.function is not None
        try:
            found = self.function(storage, location)
            if found is not None and not isinstance(found, UntypedStorage):
                raise TypeError(f"load(): map_location gave a {type(found).__name__}, not a storage or None")
            return found
        except Exception as error:
            self.raised = error
            raise


def moved(storage: UntypedStorage, where: device) -> UntypedStorage:
    """The storage, or a copy of it on another device."""
    if where.type == storage.device.type:
        return storage
    backend = backend_of_device(where)
    if not backend.has_data:
        return without_data(where, storage.nbytes())
    return UntypedStorage.over(backend.lib.from_numpy(storage.memory()), backend)


def without_data(where: device, count: int) -> UntypedStorage:
    """A storage of so many bytes on a device that has no data."""
    backend: Any = backend_of_device(where)
    return UntypedStorage.over(backend.lib.empty((count,), uint8.array_dtype), backend)
