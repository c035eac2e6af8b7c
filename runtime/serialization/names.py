"""PyTorch's names in files: which of them say what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NoReturn

from ..core.memory_format import CONSTANTS, layout, memory_format
from ..core.scalar_type import STORAGE_NAMES, dtype

#: The module that has the functions which make tensors.
UTILS: Final = "torch._utils"


@dataclass(frozen=True, slots=True, eq=False)
class TorchName:
    """A name that a pickle has in place of a function or a class, which need not be there."""

    module: str
    name: str

    def __call__(self, *arguments: Any) -> NoReturn:
        raise TypeError(f"{self.module}.{self.name} is a name to be written")


@cache
def torch_name(module: str, name: str) -> TorchName:
    """The one object of a name: a pickle has it once."""
    return TorchName(module, name)


@dataclass(frozen=True, slots=True)
class StorageKind:
    """What a file says a storage is of: elements of a dtype, or bytes where that is None."""

    dtype: dtype | None

    @property
    def itemsize(self) -> int:
        return 1 if self.dtype is None else self.dtype.itemsize


def storage_name(scalar_type: dtype | None) -> TorchName:
    """The class of a storage of a dtype; of bytes for None."""
    if scalar_type is None:
        return torch_name("torch.storage", "UntypedStorage")
    return torch_name("torch", f"{scalar_type.type_name}Storage")


def has_typed_storage(scalar_type: dtype) -> bool:
    """Whether storages of the dtype have a class of their own. Tensors of others name their dtype."""
    return f"{scalar_type.type_name}Storage" in STORAGE_NAMES


@cache
def values() -> dict[str, Any]:
    """The names that stand for a value: scalar types, classes of storages, memory formats."""
    found: dict[str, Any] = {"torch.storage.UntypedStorage": StorageKind(None)}
    for name, scalar_type in dtype.registry.items():
        if name == scalar_type.name:
            found[f"torch.{name}"] = scalar_type
            if has_typed_storage(scalar_type):
                written = storage_name(scalar_type)
                found[f"{written.module}.{written.name}"] = StorageKind(scalar_type)
    for name, constant in CONSTANTS.items():
        if isinstance(constant, memory_format):
            found[f"torch.{name}"] = constant
    return found


def layout_named(name: str) -> layout | None:
    """The layout of "torch.strided" and its like; None where there is none of the name."""
    found = CONSTANTS.get(name.removeprefix("torch."))
    return found if isinstance(found, layout) and name.startswith("torch.") else None
