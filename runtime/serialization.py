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

from .core.device import as_device, device
from .core.scalar_type import dtype, uint8
from .core.storage import UntypedStorage, untyped_storage_of
from .core.tensor_base import TensorBase
from .dispatch.legacy_type_dispatch import backend_of_device, type_of

if TYPE_CHECKING:
    from .tensors.tensor import Tensor

Shape = tuple[int, ...]


def reduce_tensor(tensor: TensorBase) -> tuple[Any, ...]:
    """``Tensor.__reduce_ex__``: also what ``copy.copy`` uses, which so shares the memory."""
    from .tensors.tensor import Tensor

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
    from .tensors.tensor import make_subclass

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
    if tensor._meta is not None:
        if tensor._meta.grad_type is not None:
            made.grad_dtype = tensor.grad_dtype
        if tensor.grad is not None:
            made.grad = copy.deepcopy(tensor.grad, memo)
    return made


# -- storages


def reduce_storage(storage: UntypedStorage) -> tuple[Any, ...]:
    """``UntypedStorage.__reduce__``: the bytes where there are any, else how many there would be."""
    content = np.array(storage.memory()) if storage._backend.has_data else storage.nbytes()
    return rebuild_storage, (storage.device, content)


def rebuild_storage(
    where: device, content: np.ndarray[Any, Any] | int, onto: device | None = None
) -> UntypedStorage:
    """A storage of the bytes, or of so many of them where the device has no data.

    Bytes go to the device ``onto`` when that is given. Raises UnpicklingError for a device with data when
    there are none, and the other way round.
    """
    backend = backend_of_device(where)
    if backend.has_data is isinstance(content, int):
        has = "has no" if isinstance(content, int) else "has"
        raise pickle.UnpicklingError(f"a storage on the device {where!s} was written that {has} data")
    if isinstance(content, int):
        return UntypedStorage(backend.lib.empty((content,), uint8.array_dtype), backend)
    if onto is not None:
        backend = backend_of_device(onto)
    if not backend.has_data:
        return rebuild_storage(onto or where, content.nbytes)
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
