"""What PyTorch's names of functions in a pickle of weights build: tensors, of arguments that are checked."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.device import device
from ..core.memory_format import layout, sparse_coo, strided
from ..core.scalar_type import dtype
from ..core.size import Size
from ..core.storage import UntypedStorage
from ..kernels.layout import extent
from ..tensors.parameter import Parameter
from ..tensors.pickling import rebuild_parameter, rebuild_stored, rebuild_tensor
from ..tensors.sparse_creation import check_stored
from ..tensors.tensor import Tensor
from ..tensors.typed_storage import TypedStorage
from .archive import refuse
from .locations import Locations, without_data
from .names import UTILS, layout_named, values
from .weights_builders import BUILDERS, Builder, are_ints, check_bools, described, is_shape, need

if TYPE_CHECKING:
    from .weights_unpickler import WeightsUnpickler

Arguments = tuple[Any, ...]


def _size(reader: WeightsUnpickler, arguments: Arguments) -> Size:
    need(len(arguments) == 1 and are_ints(arguments[0]), "torch.Size", arguments)
    reader.spend(len(arguments[0]))
    return Size(arguments[0])


def _device(reader: WeightsUnpickler, arguments: Arguments) -> device:
    need([type(a) for a in arguments] in ([str], [str, int]), "torch.device", arguments)
    return device(*arguments)


def _layout(reader: WeightsUnpickler, arguments: Arguments) -> layout:
    need([type(a) for a in arguments] == [str], "torch.serialization._get_layout", arguments)
    return layout_named(arguments[0]) or refuse(
        f"the file has the layout {arguments[0][:40]!r}, which there is not"
    )


# -- strided tensors -------------------------------------------------------------------------


def _tensor(reader: WeightsUnpickler, arguments: Arguments) -> Tensor:
    """``_rebuild_tensor``, of PyTorch's first versions: without gradients."""
    need(len(arguments) == 4, "_rebuild_tensor", arguments)
    return _tensor_v2(reader, (*arguments, False, OrderedDict()))


def _tensor_v2(reader: WeightsUnpickler, arguments: Arguments) -> Tensor:
    name = "_rebuild_tensor_v2"
    need(len(arguments) in (6, 7), name, arguments)
    held, offset, size, strides, requires_grad, hooks, *rest = arguments
    need(type(held) is TypedStorage, name, arguments)
    return _strided(
        reader, name, held.untyped(), (held.dtype, offset, size, strides, requires_grad), hooks, rest
    )


def _tensor_v3(reader: WeightsUnpickler, arguments: Arguments) -> Tensor:
    name = "_rebuild_tensor_v3"
    need(len(arguments) in (7, 8), name, arguments)
    storage, offset, size, strides, requires_grad, hooks, scalar_type, *rest = arguments
    need(type(storage) is UntypedStorage and type(scalar_type) is dtype, name, arguments)
    return _strided(reader, name, storage, (scalar_type, offset, size, strides, requires_grad), hooks, rest)


def _strided(
    reader: WeightsUnpickler,
    name: str,
    storage: UntypedStorage,
    window: Arguments,
    hooks: Any,
    rest: list[Any],
) -> Tensor:
    scalar_type, *place, requires_grad = window
    need(type(requires_grad) is bool and type(hooks) is OrderedDict, name, window)
    if hooks:
        refuse("the file has a tensor with hooks, which are functions")
    bits = rest[0] if rest else {}
    need(type(bits) is dict and all([type(k) is str and b is True for k, b in bits.items()]), name, (bits,))
    reader.storages.order(storage, scalar_type)
    _check_window(name, storage, scalar_type, *place)
    offset, size, strides = place
    made = rebuild_tensor(storage, scalar_type, offset, size, strides, False)
    for bit in bits:  # of a view that is computed when it is used, in PyTorch
        if bit not in ("conj", "neg"):
            refuse(f"the file has a tensor with the bit {bit[:40]!r}, which there is not")
        made = made.conj().resolve_conj() if bit == "conj" else made.neg()
    onto = reader.storages.onto.get(id(storage))
    if onto is not None:
        made = made.to(onto)
    return made.requires_grad_() if requires_grad else made


def _check_window(
    name: str, storage: UntypedStorage, scalar_type: dtype, offset: Any, size: Any, strides: Any
) -> None:
    """Whether the arguments say a window that lies within a storage."""
    arguments = (storage, offset, size, strides)
    need(type(offset) is int and offset >= 0, name, arguments)
    need(is_shape(size) and is_shape(strides) and len(size) == len(strides), name, arguments)
    step, reach = scalar_type.itemsize, extent(size, strides)
    if reach and (offset + reach) * step > storage.nbytes():
        refuse(f"the file has a tensor that reaches over the end of its storage of {storage.nbytes()} bytes")
    _check_bytes(size, strides, step)
    if scalar_type.category == "bool" and storage._backend.has_data and reach:
        content = storage.memory()[offset : offset + reach]
        if content.max() > 1:  # perhaps only between the elements
            distinct = [(n, s) for n, s in zip(size, strides, strict=True) if s]
            if math.prod([n for n, _ in distinct]) <= reach:
                shape, steps = [n for n, _ in distinct], [s for _, s in distinct]
                content = np.lib.stride_tricks.as_strided(content, shape, steps)
            check_bools(content)


def _check_bytes(size: tuple[int, ...], strides: tuple[int, ...], step: int) -> None:
    if math.prod(size) * step >= 1 << 63 or any([s * step >= 1 << 63 for s in strides]):
        refuse("the file has a tensor of more bytes than there are addresses")


def _meta(reader: WeightsUnpickler, arguments: Arguments) -> Tensor:
    name = "_rebuild_meta_tensor_no_storage"
    need(
        [type(a) for a in arguments] in ([dtype, tuple, tuple, bool], [dtype, Size, tuple, bool]),
        name,
        arguments,
    )
    scalar_type, size, strides, requires_grad = arguments
    size = tuple(size)
    need(is_shape(size) and is_shape(strides) and len(size) == len(strides), name, arguments)
    reach = extent(size, strides) * scalar_type.itemsize
    if reach >= 1 << 63:
        refuse("the file has a tensor of more bytes than there are addresses")
    _check_bytes(size, strides, scalar_type.itemsize)
    storage = without_data(device("meta"), reach)
    return rebuild_tensor(storage, scalar_type, 0, size, strides, requires_grad)


def _of_cpu_tensor(reader: WeightsUnpickler, arguments: Arguments) -> Tensor:
    """A tensor of a device whose memory is not written as it is."""
    name = "_rebuild_device_tensor_from_cpu_tensor"
    need([type(a) for a in arguments] == [Tensor, dtype, str, bool], name, arguments)
    data, scalar_type, location, requires_grad = arguments
    locations: Locations = reader.storages.locations
    where = data.device if locations.function is not None else locations.device(location)
    made: Tensor = data.detach().to(where, scalar_type)
    return made.requires_grad_() if requires_grad else made


# -- other layouts ---------------------------------------------------------------------------


def _sparse(reader: WeightsUnpickler, arguments: Arguments) -> Tensor:
    """What is stored is looked at as what a user gives."""
    name = "_rebuild_sparse_tensor"
    need([type(a) for a in arguments] == [layout, tuple], name, arguments)
    kind, data = arguments
    count = 2 if kind is sparse_coo else 3
    parts, rest = data[:count], data[count:]
    need(len(parts) == count and len(rest) in (1, 2), name, data)
    need(all([type(p) is Tensor and p.layout is strided for p in parts]), name, data)
    need(type(rest[0]) in (Size, tuple) and is_shape(tuple(rest[0])), name, data)
    facts: tuple[Any, ...] = (tuple(rest[0]), kind.name)
    if kind is sparse_coo:  # PyTorch's first versions did not write whether it is coalesced
        facts = (tuple(rest[0]), rest[1] if len(rest) == 2 else False)
    try:
        check_stored(kind.name, [p._array for p in parts], facts)
    except RuntimeError as error:
        refuse(f"the file has a sparse tensor that is none: {error}")
    return rebuild_stored(kind.name, parts[-1].device, list(parts), facts, False)


# -- classes and attributes ------------------------------------------------------------------


def _of_class(reader: WeightsUnpickler, arguments: Arguments) -> Tensor:
    """A tensor with attributes, or of a subclass that is allowed."""
    name = "_rebuild_from_type_v2"
    need(len(arguments) == 4 and type(arguments[2]) is tuple, name, arguments)
    function, cls, inner, state = arguments
    plain: Any = cls.cls if isinstance(cls, Builder) else cls
    made = reader.called(function, inner)
    is_allowed = plain is not Tensor and reader.is_allowed(plain)
    if not isinstance(made, Tensor) or not (plain is Tensor or plain is Parameter or is_allowed):
        refuse(f"the file has a tensor of the class {described(cls)}")
    if type(made) is not plain:
        requires_grad = made.requires_grad
        made = made.detach().as_subclass(plain).requires_grad_(requires_grad)
    if is_allowed:
        reader.set_state(made, state)
    else:
        need(type(state) is dict, name, arguments)
        reader.spend(len(state))
        check_attributes(plain, state)
        vars(made).update(state)
    return made


def _parameter(reader: WeightsUnpickler, arguments: Arguments) -> Any:
    need(len(arguments) == 3, "_rebuild_parameter", arguments)
    return _parameter_with_state(reader, (*arguments, {}))


def _parameter_with_state(reader: WeightsUnpickler, arguments: Arguments) -> Any:
    name = "_rebuild_parameter"
    need(len(arguments) == 4 and isinstance(arguments[0], Tensor), name, arguments)
    data, requires_grad, hooks, state = arguments
    need(
        [type(requires_grad), type(hooks), type(state)] == [bool, OrderedDict, dict] and not hooks,
        name,
        arguments,
    )
    if requires_grad and not (data.is_floating_point() or data.is_complex()):
        refuse(f"the file has a parameter of the dtype {data.dtype} that requires gradients")
    reader.spend(len(state))
    check_attributes(Tensor, state)
    return rebuild_parameter(data, requires_grad, state)


def check_attributes(cls: type, attributes: dict[Any, Any]) -> None:
    """What an instance of the class gets as attributes: none that the class has already."""
    for name in attributes:
        if type(name) is not str:
            refuse(f"the file gives a {cls.__name__} an attribute whose name is a {type(name).__name__}")
        if hasattr(cls, name):
            refuse(f"the file gives a {cls.__name__} an attribute {name[:40]!r}, which the class has")


def _table() -> Iterator[Builder]:
    yield Builder("torch.Size", _size, Size)
    yield Builder("torch.Tensor", None, Tensor)
    yield Builder("torch.device", _device, device)
    yield Builder("torch.nn.parameter.Parameter", None, Parameter)
    yield Builder("torch.serialization._get_layout", _layout)
    yield Builder("torch._tensor._rebuild_from_type_v2", _of_class)
    yield Builder(f"{UTILS}._rebuild_device_tensor_from_cpu_tensor", _of_cpu_tensor)
    yield Builder(f"{UTILS}._rebuild_meta_tensor_no_storage", _meta)
    yield Builder(f"{UTILS}._rebuild_parameter", _parameter)
    yield Builder(f"{UTILS}._rebuild_parameter_with_state", _parameter_with_state)
    yield Builder(f"{UTILS}._rebuild_sparse_tensor", _sparse)
    yield Builder(f"{UTILS}._rebuild_tensor", _tensor)
    yield Builder(f"{UTILS}._rebuild_tensor_v2", _tensor_v2)
    yield Builder(f"{UTILS}._rebuild_tensor_v3", _tensor_v3)


@cache
def allowed() -> dict[str, Any]:
    """By "module.name" all that a pickle of weights may name: values, and Builders."""
    return {**values(), **BUILDERS, **{builder.name: builder for builder in _table()}}
