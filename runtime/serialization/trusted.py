"""Files that are trusted: Python's unpickler, for which PyTorch's names are those of tengen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import IO, Any, Final

from ..tensors.pickling import rebuild_parameter
from ..tensors.tensor import Tensor
from .archive import refuse
from .names import UTILS, StorageKind
from .storages import Storages
from .tensor_builders import allowed
from .weights_builders import Builder

#: What PyTorch called a module before.
_RENAMED: Final = {"torch.tensor": "torch._tensor"}


class _Reader:
    """What functions that make tensors ask of whoever reads a file."""

    def __init__(self, storages: Storages) -> None:
        self.storages = storages

    def spend(self, count: int) -> None:
        """A file that is trusted may copy what it wants."""


@cache
def unpickler_class(module: ModuleType) -> Any:
    """An Unpickler of archives, derived from the one of ``module``."""
    base: Any = module.Unpickler

    class ArchiveUnpickler(base):  # type: ignore[misc]
        def __init__(self, file: IO[bytes], storages: Storages, **options: Any) -> None:
            super().__init__(file, **options)
            self.storages = storages

        def persistent_load(self, named: Any) -> Any:
            return self.storages.load(named)

        def find_class(self, module: str, name: str) -> Any:
            module = _RENAMED.get(module, module)
            if module.partition(".")[0] != "torch":
                return super().find_class(module, name)
            return _named(self.storages, module, name)

    return ArchiveUnpickler


def _named(storages: Storages, module: str, name: str) -> Any:
    """What PyTorch's name is here."""
    full = f"{module}.{name}"
    own = _FUNCTIONS.get(full)
    if own is not None:
        return own
    found = allowed().get(full)
    if isinstance(found, StorageKind) or (found is not None and not isinstance(found, Builder)):
        return found
    if found is not None and found.cls is None:
        return _calling(found.call, _Reader(storages))
    here = ".".join(["tengen", *module.split(".")[1:]])
    try:
        value = import_module(here)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError):
        refuse(f"the file names {full[:200]}, which tengen has not")
    return value


def _calling(function: Any, reader: _Reader) -> Callable[..., Any]:
    return lambda *arguments: function(reader, arguments)


def _of_class(function: Callable[..., Any], cls: Any, arguments: tuple[Any, ...], state: Any) -> Any:
    """A tensor of any class, with its state."""
    made = function(*arguments)
    if type(made) is not cls:
        requires_grad = made.requires_grad
        made = made.detach().as_subclass(cls).requires_grad_(requires_grad)
    if cls.__setstate__ is not Tensor.__setstate__:
        made.__setstate__(state)
    elif state:
        attributes, slots = state if type(state) is tuple else (state, {})
        vars(made).update(attributes)
        for name, value in slots.items():
            setattr(made, name, value)
    return made


def _parameter(data: Any, requires_grad: bool, hooks: Any, state: Any = None) -> Any:
    return rebuild_parameter(data, requires_grad, state or {})


_FUNCTIONS: Final = {
    "torch._tensor._rebuild_from_type_v2": _of_class,
    f"{UTILS}._rebuild_parameter": _parameter,
    f"{UTILS}._rebuild_parameter_with_state": _parameter,
}
