"""Copies and pickles of tensors, and files of them.

A tensor is pickled as its storage and its window of it: views of one storage that are pickled
together share it again afterwards.
"""

from __future__ import annotations

import copy
import os
import pickle
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from tengen.device import as_device, device
from tengen.legacy_type_dispatch import type_of
from tengen.scalar_type import dtype, uint8
from tengen.storage import UntypedStorage, untyped_storage_of
from tengen.tensor_base import TensorBase

if TYPE_CHECKING:
    from tengen.tensor import Tensor

Shape = tuple[int, ...]


def reduce_tensor(tensor: TensorBase) -> tuple[Any, ...]:
    """``Tensor.__reduce_ex__``: also what ``copy.copy`` uses, which so shares the memory."""
    from tengen.tensor import Tensor

    lib, array = tensor._type.backend.lib, tensor._array
    arguments = (
        untyped_storage_of(tensor),
        tensor._type.scalar_type,
        lib.storage_offset(array),
        tuple(array.shape),
        lib.strides(array),
        tensor._requires_grad,
    )
    cls = type(tensor)
    if cls is Tensor and not tensor.__dict__:
        return rebuild_tensor, arguments
    return rebuild_subclass, (cls, arguments, dict(tensor.__dict__))


def rebuild_tensor(
    storage: UntypedStorage,
    scalar_type: dtype,
    offset: int,
    size: Shape,
    strides: Shape,
    requires_grad: bool,
) -> Tensor:
    """A leaf that is this window of the storage."""
    kind = type_of(scalar_type, storage.device)
    made = kind.wrap(kind.backend.lib.as_strided(storage.typed(kind.dtype), size, strides, offset))
    made._storage = storage.shared()
    return made.requires_grad_() if requires_grad else made


def rebuild_subclass(cls: type[Tensor], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> Tensor:
    """The same as an instance of ``cls`` with the attributes that somebody gave it."""
    from tengen.tensor import make_subclass

    plain = rebuild_tensor(*arguments)
    made = plain if type(plain) is cls else make_subclass(cls, plain)
    if made is not plain and plain._requires_grad:
        made.requires_grad_()
    made.__dict__.update(attributes)
    return made


def deepcopy_tensor(tensor: Any, memo: dict[int, Any]) -> Any:
    """``Tensor.__deepcopy__``: storages are copied once, gradients and attributes with it."""
    if tensor._edge is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
            "moment: this one was computed from others that require grad. Use .detach() first."
        )
    if id(tensor) in memo:
        return memo[id(tensor)]
    function, arguments = reduce_tensor(tensor)
    if function is rebuild_tensor:
        made = rebuild_tensor(copy.deepcopy(arguments[0], memo), *arguments[1:])
    else:
        cls, window, attributes = arguments
        window = (copy.deepcopy(window[0], memo), *window[1:])
        made = rebuild_subclass(cls, window, {})
    memo[id(tensor)] = made
    if function is rebuild_subclass:
        made.__dict__.update(copy.deepcopy(attributes, memo))
    if tensor._meta is not None and tensor.grad is not None:
        made.grad = copy.deepcopy(tensor.grad, memo)
    return made


# -- storages


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """``UntypedStorage.__reduce__``: the bytes where there are any, else how many there would be."""
    try:
        memory = storage.memory()
    except NotImplementedError:
        return rebuild_storage, (storage.device, storage.nbytes())
    return rebuild_storage, (storage.device, np.array(memory))


def rebuild_storage(where: device, content: np.ndarray[Any, Any] | int) -> UntypedStorage:
    """A storage of the bytes, or of so many of them where the device has no data."""
    backend = type_of(uint8, as_device(where)).backend
    if isinstance(content, int):
        return UntypedStorage(backend.lib.empty((content,), uint8.array_dtype), backend)
    return UntypedStorage(backend.lib.from_numpy(content), backend)


# -- files


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

    With ``weights_only`` (the default) nothing but tensors, numbers, strings and containers of
    them is built, so that a file of unknown origin can run no code: ``pickle.UnpicklingError``
    when there is anything else.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, map_location, weights_only=weights_only)
    reader = _WeightsUnpickler(f) if weights_only else pickle.Unpickler(f)
    found = reader.load()
    return found if map_location is None else _moved(found, as_device(map_location))


#: What a pickle of weights may name: functions and classes that only build data.
_ALLOWED = {
    ("_codecs", "encode"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("tengen", "Size"),
    ("tengen", "Tensor"),
    ("tengen", "device"),
    ("tengen.nn.parameter", "Parameter"),
    ("tengen.scalar_type_base", "named"),
    ("tengen.serialization", "rebuild_storage"),
    ("tengen.serialization", "rebuild_subclass"),
    ("tengen.serialization", "rebuild_tensor"),
}


class _WeightsUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"the file names {module}.{name}, which is not allowed with weights_only=True; "
                "load with weights_only=False only what you trust"
            )
        return super().find_class(module, name)


def _moved(value: Any, where: device) -> Any:
    """``value`` with the tensors in its dicts, lists and tuples moved to a device."""
    if isinstance(value, TensorBase):
        found: Any = value
        return found.to(where)
    if isinstance(value, dict):
        moved = copy.copy(value)
        moved.update({key: _moved(item, where) for key, item in value.items()})
        return moved
    if type(value) in (list, tuple):
        return type(value)(_moved(item, where) for item in value)
    return value
