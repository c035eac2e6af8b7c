"""Objects as PyTorch's archives: the pickle names what PyTorch has, and storages by keys."""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections import OrderedDict
from functools import cache
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, Final

from ..core.device import default_device, device
from ..core.memory_format import layout, memory_format, sparse_coo
from ..core.scalar_type import dtype
from ..core.size import Size
from ..core.storage import UntypedStorage, untyped_storage_of
from ..core.tensor_base import TensorBase
from ..kernels.compressed.array import KINDS
from ..tensors.parameter import Parameter
from ..tensors.pickling import reduce_tensor, stored_parts
from ..tensors.tensor import Tensor
from ..tensors.typed_storage import TypedStorage
from .archive import ALIGNMENT, FORMAT_VERSION, ArchiveWriter
from .names import UTILS, TorchName, has_typed_storage, storage_name, torch_name

if TYPE_CHECKING:
    from . import File

#: What has the name of PyTorch's class in a file.
_CLASSES: Final = {
    Tensor: torch_name("torch", "Tensor"),
    Parameter: torch_name("torch.nn.parameter", "Parameter"),
    Size: torch_name("torch", "Size"),
    device: torch_name("torch", "device"),
    UntypedStorage: storage_name(None),
}
#: The methods that say how a tensor is pickled, but for those of a subclass that has its own.
_OWN: Final = frozenset({Tensor.__reduce_ex__, Parameter.__reduce_ex__})


def write(obj: Any, f: File, pickle_module: ModuleType | None, protocol: int, byteorder: bool) -> None:
    """``save``: the file is opened when all is known to be writable."""
    text = io.BytesIO()
    pickler = pickler_class(pickle if pickle_module is None else pickle_module)(text, protocol)
    pickler.dump(obj)
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0]
        with open(f, "wb") as file:
            _write_archive(file, name or "archive", text.getvalue(), pickler, byteorder)
    elif hasattr(f, "write"):
        _write_archive(f, "archive", text.getvalue(), pickler, byteorder)
    else:
        raise AttributeError(
            f"save(): argument 'f' must be a path or have a method write: {type(f).__name__}"
        )


def _write_archive(file: IO[bytes], name: str, text: bytes, pickler: Any, byteorder: bool) -> None:
    archive = ArchiveWriter(file, name)
    archive.write("data.pkl", text)
    archive.write(".format_version", FORMAT_VERSION)
    archive.write(".storage_alignment", str(ALIGNMENT).encode())
    if byteorder:
        archive.write("byteorder", sys.byteorder.encode())
    for key, storage in pickler.storages.items():
        archive.write(f"data/{key}", storage.memory())
    archive.close()


@cache
def pickler_class(module: ModuleType) -> Any:
    """A Pickler of archives, derived from the one of ``module``. TypeError for one written in C."""
    base: Any = getattr(module, "_Pickler", None) or module.Pickler
    if not hasattr(base, "save_global"):
        raise TypeError(
            f"save(): the Pickler of {module.__name__} is not written in Python, so that it cannot write "
            "PyTorch's names"
        )

    class ArchivePickler(base):  # type: ignore[misc]
        dispatch: Final = {
            **base.dispatch,
            TorchName: _save_name,
            dtype: _save_value,
            memory_format: _save_value,
        }

        def __init__(self, file: IO[bytes], protocol: int) -> None:
            super().__init__(file, protocol=protocol)
            #: By their keys the storages that the pickle names.
            self.storages: dict[str, UntypedStorage] = {}
            #: By address and length, for tensors may have handles of their own on one memory.
            self._keys: dict[tuple[str, int, int], str] = {}
            self._dtypes: dict[str, dtype | None] = {}

        def persistent_id(self, obj: Any) -> Any:
            kind = type(obj)
            if kind is UntypedStorage:
                return self._storage_id(obj, None)
            if kind is not TypedStorage:
                return None
            if not has_typed_storage(obj.dtype):
                raise RuntimeError(
                    f"save: files have no storages of {obj.dtype}; save a tensor, or untyped()"
                )
            return self._storage_id(obj.untyped(), obj.dtype)

        def _storage_id(self, storage: UntypedStorage, scalar_type: dtype | None) -> tuple[Any, ...]:
            if not storage._backend.has_data:
                raise RuntimeError(
                    f"save: a storage on the device {storage.device!s} has no data to be written"
                )
            memory = str(storage.device), storage.data_ptr(), storage.nbytes()
            key = self._keys.setdefault(memory, str(len(self._keys)))
            if self._dtypes.setdefault(key, scalar_type) is not scalar_type and storage.nbytes():
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types"
                )
            self.storages.setdefault(key, storage)
            count = storage.nbytes() // (1 if scalar_type is None else scalar_type.itemsize)
            return "storage", storage_name(scalar_type), key, str(storage.device), count

        def save_global(self, obj: Any, name: str | None = None) -> None:
            written = _CLASSES.get(obj) if isinstance(obj, type) else None
            if written is None:
                super().save_global(obj, name)
            else:
                self.save(written)

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, TensorBase):
                return _reduce(obj) if type(obj).__reduce_ex__ in _OWN else NotImplemented
            kind = type(obj)
            if kind is Size or kind is device:
                return (_CLASSES[kind], obj.__reduce__()[1])
            if kind is layout:
                return torch_name("torch.serialization", "_get_layout"), (f"torch.{obj.name}",)
            return NotImplemented

    return ArchivePickler


def _save_name(pickler: Any, name: TorchName) -> None:
    if pickler.proto >= 4:
        pickler.save(name.module)
        pickler.save(name.name)
        pickler.write(pickle.STACK_GLOBAL)
    else:
        pickler.write(pickle.GLOBAL + f"{name.module}\n{name.name}\n".encode())
    pickler.memoize(name)


def _save_value(pickler: Any, value: dtype | memory_format) -> None:
    pickler.save(torch_name("torch", value.name))


# -- tensors ---------------------------------------------------------------------------------


def _reduce(tensor: Any) -> tuple[Any, ...]:
    """The function that makes the tensor, and its arguments."""
    cls, state = type(tensor), dict(tensor.__dict__)
    arguments: tuple[Any, ...]
    reduce: Any = cls.__reduce_ex__
    if reduce is Parameter.__reduce_ex__:
        arguments = (tensor.data, tensor._requires_grad, OrderedDict())
        if state:
            return torch_name(UTILS, "_rebuild_parameter_with_state"), (*arguments, state)
        return torch_name(UTILS, "_rebuild_parameter"), arguments
    function, arguments = _reduce_plain(tensor)
    if cls is Tensor and not state:
        return function, arguments
    return torch_name("torch._tensor", "_rebuild_from_type_v2"), (function, cls, arguments, state)


def _reduce_plain(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    backend, array, requires_grad = tensor._type.backend, tensor._array, tensor._requires_grad
    scalar_type = tensor._type.scalar_type
    if not backend.is_strided:
        return _reduce_stored(tensor)
    size, strides = tuple(array.shape), tuple(backend.lib.strides(array))
    arguments: tuple[Any, ...]
    if not backend.has_data:
        return torch_name(UTILS, "_rebuild_meta_tensor_no_storage"), (
            scalar_type,
            size,
            strides,
            requires_grad,
        )
    if not backend.mutable:
        there = str(backend.device)
        arguments = (tensor.detach().to(default_device), scalar_type, there, requires_grad)
        return torch_name(UTILS, "_rebuild_device_tensor_from_cpu_tensor"), arguments
    untyped, offset = untyped_storage_of(tensor), backend.lib.storage_offset(array)
    if has_typed_storage(scalar_type):
        held = TypedStorage(wrap_storage=untyped, dtype=scalar_type)
        arguments = (held, offset, size, strides, requires_grad, OrderedDict())
        return torch_name(UTILS, "_rebuild_tensor_v2"), arguments
    arguments = (untyped, offset, size, strides, requires_grad, OrderedDict(), scalar_type)
    return torch_name(UTILS, "_rebuild_tensor_v3"), arguments


def _reduce_stored(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """A tensor of another layout: what PyTorch has no function for has one of ours."""
    stored_as, parts, facts = stored_parts(tensor)
    if stored_as == sparse_coo.name:
        data = (*parts, Size(facts[0]), facts[1])
    elif stored_as in KINDS:
        data = (*parts, Size(facts[0]))
    else:
        return reduce_tensor(tensor)
    return torch_name(UTILS, "_rebuild_sparse_tensor"), (tensor.layout, data)
