"""Copies and pickles of tensors and storages.

A tensor is pickled as its storage and its window of it: views of one storage that are pickled
together share it again afterwards. Pickles name the functions below as ``tengen.serialization``'s.
"""

from __future__ import annotations

import copy
import copyreg
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.device import as_device, device
from ..core.scalar_type import dtype, from_array_dtype, uint8
from ..core.storage import UntypedStorage, backend_for, untyped_storage_of
from ..core.storage_conversions import converter
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import backend_of_device, type_of
from .tensor import Tensor, make_subclass

Shape = tuple[int, ...]


def reduce_tensor(tensor: TensorBase) -> tuple[Any, ...]:
    """``Tensor.__reduce_ex__``: also what ``copy.copy`` uses, which so shares the memory."""
    lib, array = tensor._type.backend.lib, tensor._array
    if not tensor._type.backend.is_strided:
        return _reduce_stored(tensor)
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
    T = type_of(scalar_type, storage.device)
    made: Tensor = T.wrap(T.backend.lib.as_strided(storage.typed(T.dtype), size, strides, offset))
    made._storage = storage.shared()
    return made.requires_grad_() if requires_grad else made


def _reduce_stored(tensor: TensorBase) -> tuple[Any, ...]:
    """How a tensor that is not strided is pickled: by the strided tensors of what it stores."""
    stored_as, parts, facts = stored_parts(tensor)
    return rebuild_stored, (stored_as, tensor._type.backend.device, parts, facts, tensor._requires_grad)


def stored_parts(tensor: TensorBase) -> tuple[str, list[Any], tuple[Any, ...]]:
    """Of a tensor that is not strided its layout, the strided tensors that it stores, and the other facts."""
    T, array = tensor._type, tensor._array
    parts = [_strided(part, T.backend.device) for part in array.parts().values()]
    return array.stored_as, parts, array.facts()


def _strided(array: Any, where: device) -> Any:
    return type_of(from_array_dtype(array.dtype), where).wrap(array)


def rebuild_stored(
    layout: str, where: device, parts: Sequence[Tensor], facts: tuple[Any, ...], requires_grad: bool
) -> Tensor:
    """A leaf of a layout that is not strided, of what it stores."""
    T = type_of(parts[-1].dtype, where, None, layout)
    made: Tensor = T.wrap(T.backend.lib.of_parts(*[part._array for part in parts], *facts))
    return made.requires_grad_() if requires_grad else made


def rebuild_subclass(cls: type[Tensor], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> Tensor:
    """The same as an instance of ``cls`` with the attributes that somebody gave it."""
    plain = rebuild_tensor(*arguments)
    made = plain if type(plain) is cls else make_subclass(cls, plain)
    if made is not plain and plain._requires_grad:
        made.requires_grad_()
    made.__dict__.update(attributes)
    return made


def rebuild_parameter(data: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """A Parameter on the memory of ``data``, with the attributes that somebody gave it."""
    from .parameter import Parameter

    made = Parameter(data, requires_grad)
    made.__dict__.update(attributes)
    return made


def set_tensor_state(tensor: Any, state: Any) -> None:
    """``Tensor.__setstate__``."""
    if not tensor.is_leaf:
        raise RuntimeError("__setstate__ can be only called on leaf Tensors")
    if len(state) == 4:
        tensor.set_(*state)
        return
    if len(state) == 5:
        tensor.data = state[0]
        state = (state[3], state[4], state[2])
    tensor.requires_grad, _, _ = state


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
    if function is rebuild_stored:
        layout, where, parts, *facts = arguments
        made = rebuild_stored(layout, where, copy.deepcopy(parts, memo), *facts)
    elif function is rebuild_tensor:
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
    """How a storage is pickled: the bytes where there are any, else how many there would be."""
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
        return UntypedStorage.over(backend.lib.empty((content,), uint8.array_dtype), backend)
    if onto is not None:
        backend = backend_of_device(onto)
    if not backend.has_data:
        return rebuild_storage(onto or where, content.nbytes)
    return UntypedStorage.over(backend.lib.from_numpy(content), backend)


def _converted(storage: Any, kind: Any) -> Any:
    from .typed_storage import converted

    return converted(storage, kind)


converter.append(_converted)
copyreg.pickle(UntypedStorage, reduce_storage)
backend_for.append(lambda where: backend_of_device(as_device(where)))
for _function in (rebuild_tensor, rebuild_stored, rebuild_subclass, rebuild_parameter, rebuild_storage):
    _function.__module__ = "tengen.serialization"
