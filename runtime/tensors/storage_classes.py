"""The classes of storages of one dtype: ``tengen.FloatStorage``, ``tengen.cuda.FloatStorage`` and their like.

They are PyTorch's from before dtypes were. What such a class makes is a ``TypedStorage``.
"""

from __future__ import annotations

import builtins
from typing import Any

from ..core.device import DEVICES, UNSERVED, default_device
from ..core.scalar_type import STORAGE_NAMES, dtype as DType, get_default_dtype
from ..core.storage import UntypedStorage
from .typed_storage import TypedStorage

_made: dict[tuple[str, str], StorageType] = {}


class StorageType(type):
    """The class of these classes: each has a dtype and a kind of device."""

    dtype: DType
    place: str

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None) -> TypedStorage:
        """A storage of a number of elements, or with those of a sequence, or over that of bytes.

        TypeError for other arguments, RuntimeError for ``wrap_storage`` on another device.
        """
        if wrap_storage is not None:
            if isinstance(wrap_storage, UntypedStorage) and wrap_storage.device.type != cls.place:
                raise RuntimeError(
                    f"{cls.__name__}(): expected wrap_storage on {cls.place}, but got {wrap_storage.device}"
                )
            return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)
        return TypedStorage(*args, dtype=cls.dtype, device=cls.place)

    def __instancecheck__(cls, value: object) -> builtins.bool:
        return isinstance(value, TypedStorage) and value.dtype is cls.dtype and value.device.type == cls.place


def class_name(dtype: DType) -> str:
    """The name of the class of storages of a dtype. KeyError where there is none."""
    name = f"{dtype.type_name}Storage"
    if name not in STORAGE_NAMES:
        raise KeyError(str(dtype))
    return name


def storage_class(name: str, place: str | None = None) -> StorageType:
    """The class of this name, of storages on a kind of device. KeyError for no class's name."""
    place = default_device.type if place is None else place
    if name not in STORAGE_NAMES:
        raise KeyError(name)
    found = _made.get((name, place))
    if found is None:
        module = "tengen" if place == default_device.type else f"tengen.{place}"
        doc = f"The storages of one dtype, {module}.{name}, for ``isinstance``; called, it makes one."
        found = StorageType(name, (TypedStorage,), {"__module__": module, "__doc__": doc, "__slots__": ()})
        found.dtype, found.place = DType.registry[name.removesuffix("Storage")], place
        _made[name, place] = found
    return found


def class_named(name: Any) -> StorageType:
    """The class that is meant: itself, "tengen.FloatStorage", or as PyTorch has it, "torch.FloatStorage".

    ``TypedStorage`` is the class of the default dtype. ValueError for what is none.
    """
    if isinstance(name, StorageType):
        return name
    if name is TypedStorage:
        return storage_class(class_name(get_default_dtype()))
    *packages, kind = name.split(".") if isinstance(name, str) else ("",)
    package, *where = packages or [""]
    known = len(where) < 2 and all([place in DEVICES or place in UNSERVED for place in where])
    if package in ("tengen", "torch") and known and kind in STORAGE_NAMES:
        return storage_class(kind, where[0] if where else None)
    raise ValueError(f"invalid type: {name!r}")
