"""What a pickle of weights may build: for each allowed name a function that checks all that it is given.

A Builder stands on the unpickler's stack in the place of the function or class that the pickle names.
Nothing here calls what a file decides, and no object is built of a state that was not looked at.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from ..core.device import device
from ..core.memory_format import strided
from ..core.scalar_type import dtype
from ..core.size import Size
from ..core.storage import UntypedStorage
from ..native.layout import extent
from .pickling import rebuild_parameter, rebuild_storage, rebuild_stored, rebuild_subclass, rebuild_tensor
from .sparse_creation import check_stored
from .tensor import Tensor

if TYPE_CHECKING:
    from .weights_unpickler import WeightsUnpickler

#: As many dimensions as an array may have.
_DIMENSIONS: Final = 64
#: The dtypes of arrays, as NumPy writes them: bools, numbers and strings. Not objects, records, raw memory.
_CODES: Final = re.compile(r"b1|[iu][1248]|f(2|4|8|12|16)|c(8|16|24|32)|[SU]\d{1,9}")
_KINDS: Final = frozenset("biufcSU")
#: The function that NumPy's scalars are pickled as calls of.
_scalar: Any = np.float64(0).__reduce__()[0]


@dataclass(frozen=True, slots=True, eq=False)
class Builder:
    """A name that a pickle may use."""

    name: str
    #: Makes what the pickle wants of it, for arguments that it checks; None where it may not be called.
    call: Callable[[WeightsUnpickler, tuple[Any, ...]], Any] | None
    #: The class that it stands for, where it may be an argument.
    cls: type | None = None


def refuse(what: str) -> NoReturn:
    """Raise UnpicklingError."""
    raise UnpicklingError(what)


def described(value: object) -> str:
    """What an object is, for errors."""
    return value.name if isinstance(value, Builder) else f"a {type(value).__name__}"


def _need(holds: bool, name: str, arguments: object) -> None:
    """Refuse to call what is called ``name``, unless the condition holds."""
    if not holds:
        refuse(f"the file calls {name} for {_types(arguments)}, which is not what it takes")


def _types(value: object) -> str:
    """The types of arguments: never what they are, which may be of any length."""
    if type(value) is tuple:
        shown = ", ".join([type(part).__name__ for part in value[:8]])
        return f"({shown}{', ...' if len(value) > 8 else ''})"
    return type(value).__name__


def _are_ints(values: object) -> bool:
    """Whether it is a tuple of ints; bools are none."""
    return type(values) is tuple and all([type(v) is int for v in values])


def _is_shape(values: Any) -> bool:
    return _are_ints(values) and len(values) <= _DIMENSIONS and all([n >= 0 for n in values])


# -- numbers, bytes and containers -----------------------------------------------------------


def _complex(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> complex:
    _need(len(arguments) == 2 and all([type(a) is float for a in arguments]), "builtins.complex", arguments)
    return complex(*arguments)


def _bytes(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> bytes:
    _need(arguments == (), "builtins.bytes", arguments)
    return b""


def _encode(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> bytes:
    """How protocol 2 writes bytes."""
    _need(
        [type(a) for a in arguments] == [str, str] and arguments[1] == "latin1", "_codecs.encode", arguments
    )
    reader.spend(len(arguments[0]))
    return codecs.encode(arguments[0], "latin1")


def _bytearray(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> bytearray:
    kinds = [type(a) for a in arguments]
    if kinds == [str, str] and arguments[1] == "latin-1":
        reader.spend(len(arguments[0]))
        return bytearray(arguments[0], "latin-1")
    _need(kinds in ([], [bytes]), "builtins.bytearray", arguments)
    reader.spend(sum(map(len, arguments)))
    return bytearray(*arguments)


def _set(cls: type[Any]) -> Callable[[WeightsUnpickler, tuple[Any, ...]], Any]:
    """How protocols 2 and 3 write sets: the class of a list."""

    def build(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Any:
        _need([type(a) for a in arguments] == [list], f"builtins.{cls.__name__}", arguments)
        reader.spend(len(arguments[0]))
        return cls(map(checked_key, arguments[0]))

    return build


def _ordered_dict(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    _need(arguments == (), "collections.OrderedDict", arguments)
    return OrderedDict()


def _default_dict(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> defaultdict[Any, Any]:
    name = "collections.defaultdict"
    _need(len(arguments) <= 1, name, arguments)
    factory = arguments[0] if arguments else None
    if factory is not None:
        _need(isinstance(factory, Builder) and factory.cls is OrderedDict, name, arguments)
        factory = OrderedDict
    made: defaultdict[Any, Any] = defaultdict(factory)
    reader.deep.append(made)
    return made


_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes})
_KEYS: Final = (frozenset, Size, dtype, device, np.generic, Tensor)


def checked_key(key: Any) -> Any:
    """What is to be a key or an element of a set: hashing goes through tuples recursively, each time."""
    waiting = [key]
    for count, part in enumerate(waiting):
        if count == 1000:
            refuse("the file has a key of more than 1000 parts")
        if type(part) is tuple:
            waiting += part
        elif type(part) not in _ATOMS and not isinstance(part, _KEYS):
            refuse(f"the file has {described(part)} as a key")
    return key


# -- NumPy's ---------------------------------------------------------------------------------


def _dtype(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> np.dtype[Any]:
    _need([type(a) for a in arguments] == [str, bool, bool], "numpy.dtype", arguments)
    code, align, copy = arguments
    if align or not copy or not _CODES.fullmatch(code):
        refuse(f"the file has arrays of the dtype {code[:40]!r}; bools, numbers and strings are allowed")
    return reader.unbuilt(np.dtype(code, copy=True))


def set_dtype_state(made: np.dtype[Any], state: Any) -> None:
    """The order of the bytes; all else of the state says what the dtype is anyway."""
    order = state[1] if type(state) is tuple and len(state) == 8 else None
    if type(order) is str and order in ("<", ">", "|"):
        expected = made.newbyteorder(order).__reduce__()[2]  # type: ignore[arg-type]
        if [type(s) for s in state] == [type(s) for s in expected] and state[1:] == expected[1:]:
            made.__setstate__(expected)  # type: ignore[attr-defined]
            return
    refuse("the file has a numpy.dtype with a state that none of numbers or strings has")


def _reconstruct(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """An array without elements, which gets them by its state."""
    name = "numpy._core.multiarray._reconstruct"
    _need([type(a) for a in arguments] == [Builder, tuple, bytes], name, arguments)
    _need(arguments[0].cls is np.ndarray and _are_ints(arguments[1]), name, arguments)
    _need(arguments[1] == (0,) and arguments[2] == b"b", name, arguments)
    return reader.unbuilt(np.empty((0,), np.int8))


def set_array_state(reader: WeightsUnpickler, made: np.ndarray[Any, Any], state: Any) -> None:
    name = "ndarray.__setstate__"
    _need(type(state) is tuple and len(state) == 5, name, state)
    version, shape, kind, is_fortran, data = state
    _need(
        type(version) is int and version == 1 and type(is_fortran) is bool and type(data) is bytes,
        name,
        state,
    )
    _check_elements(reader, name, shape, kind, data)
    made.__setstate__(state)


def _from_buffer(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """How protocol 5 writes arrays."""
    name = "numpy._core.numeric._frombuffer"
    _need(len(arguments) == 4 and type(arguments[0]) in (bytes, bytearray), name, arguments)
    data, kind, shape, order = arguments
    _need(type(order) is str and order in ("C", "F"), name, arguments)
    _check_elements(reader, name, shape, kind, data)
    return np.ndarray(shape, kind, data, order=order)


def _number(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Any:
    name = "numpy._core.multiarray.scalar"
    _need(len(arguments) == 2 and type(arguments[1]) is bytes, name, arguments)
    reader.spend(len(arguments[1]))
    _check_elements(reader, name, (), *arguments)
    return _scalar(*arguments)


def _check_elements(reader: WeightsUnpickler, name: str, shape: Any, kind: Any, data: Any) -> None:
    """Whether the bytes are those of an array of the shape and dtype."""
    if not isinstance(kind, np.dtype) or kind.kind not in _KINDS:
        refuse(f"the file calls {name} with a dtype that is none of bools, numbers and strings")
    reader.built(kind)
    if not _is_shape(shape) or math.prod(shape) * kind.itemsize != len(data):
        refuse(f"the file calls {name} with {len(data)} bytes for an array of another size")
    if kind.kind == "b":
        _check_bools(np.frombuffer(data, np.uint8))
    if kind.kind == "U" and len(data):
        points = np.frombuffer(data, np.dtype("u4").newbyteorder(kind.byteorder))
        if points.max() > 0x10FFFF:
            refuse("the file has a string of what are no characters")


def _check_bools(content: np.ndarray[Any, Any]) -> None:
    """NumPy counts True as the byte 1 when it makes room for a mask's elements: no other may stand there."""
    if content.size and content.max() > 1:
        refuse("the file has bools whose bytes are neither 0 nor 1")


# -- ours ------------------------------------------------------------------------------------


def _size(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Size:
    _need(len(arguments) == 1 and _are_ints(arguments[0]), "tengen.Size", arguments)
    reader.spend(len(arguments[0]))
    return Size(arguments[0])


def _device(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> device:
    _need([type(a) for a in arguments] in ([str], [str, int]), "tengen.device", arguments)
    return device(*arguments)


def _scalar_type(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> dtype:
    _need([type(a) for a in arguments] == [str], "tengen.core.scalar_type_base.named", arguments)
    found = dtype.registry.get(arguments[0])
    return found or refuse(f"the file names the scalar type {arguments[0][:40]!r}, which there is not")


def _storage(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> UntypedStorage:
    name = "rebuild_storage"
    _need(len(arguments) == 2 and type(arguments[0]) is device, name, arguments)
    where, content = arguments
    if type(content) is int:
        _need(0 <= content < 1 << 63, name, arguments)
    else:
        _need(
            type(content) is np.ndarray and content.dtype == np.uint8 and content.ndim == 1, name, arguments
        )
        if not content.flags.writeable:
            refuse("the file has a storage of bytes that cannot be written to")
    return rebuild_storage(where, content, reader.where)


def _tensor(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Tensor:
    _check_window(arguments)
    return rebuild_tensor(*arguments)


def _stored(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Tensor:
    """A tensor of another layout: its parts and sizes are looked at as those that a user gives."""
    name = "rebuild_stored"
    _need([type(a) for a in arguments] == [str, device, list, tuple, bool], name, arguments)
    layout, _, parts, facts, _ = arguments
    _need(all([type(p) is Tensor and p.layout is strided for p in parts]), name, arguments)
    _need(len(facts) == 2 and type(facts[0]) is tuple and _is_shape(facts[0]), name, arguments)
    try:
        check_stored(layout, [p._array for p in parts], facts)
    except RuntimeError as error:
        refuse(f"the file has a sparse tensor that is none: {error}")
    return rebuild_stored(*arguments)


def _subclass(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Tensor:
    name = "rebuild_subclass"
    _need(len(arguments) == 3 and [type(a) for a in arguments[1:]] == [tuple, dict], name, arguments)
    cls, window, attributes = arguments
    if not isinstance(cls, Builder) or cls.cls is not Tensor:
        refuse(f"the file has a tensor of the class {described(cls)}")
    reader.spend(len(attributes))
    check_attributes(Tensor, attributes)
    _check_window(window)
    return rebuild_subclass(Tensor, window, attributes)


def _parameter(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Any:
    name = "rebuild_parameter"
    _need([type(a) for a in arguments] == [Tensor, bool, dict], name, arguments)
    data, requires_grad, attributes = arguments
    if requires_grad and not (data.is_floating_point() or data.is_complex()):
        refuse(f"the file has a parameter of the dtype {data.dtype} that requires gradients")
    reader.spend(len(attributes))
    check_attributes(Tensor, attributes)
    return rebuild_parameter(data, requires_grad, attributes)


def check_attributes(cls: type, attributes: dict[Any, Any]) -> None:
    """What an instance of the class gets as attributes: none that the class has already."""
    for name in attributes:
        if type(name) is not str:
            refuse(f"the file gives a {cls.__name__} an attribute whose name is a {type(name).__name__}")
        if hasattr(cls, name):
            refuse(f"the file gives a {cls.__name__} an attribute {name[:40]!r}, which the class has")


def _check_window(arguments: tuple[Any, ...]) -> None:
    """Whether the arguments of rebuild_tensor are a window that lies within a storage."""
    name = "rebuild_tensor"
    _need([type(a) for a in arguments] == [UntypedStorage, dtype, int, tuple, tuple, bool], name, arguments)
    storage, scalar_type, offset, size, strides, _ = arguments
    _need(
        _is_shape(size) and _is_shape(strides) and len(size) == len(strides) and offset >= 0, name, arguments
    )
    step, reach = scalar_type.itemsize, extent(size, strides)
    if reach and (offset + reach) * step > storage.nbytes():
        refuse(f"the file has a tensor that reaches over the end of its storage of {storage.nbytes()} bytes")
    if math.prod(size) * step >= 1 << 63 or any([s * step >= 1 << 63 for s in strides]):
        refuse("the file has a tensor of more bytes than there are addresses")
    if scalar_type.category == "bool" and storage._backend.has_data and reach:
        content = storage.memory()[offset : offset + reach]
        if content.max() > 1:  # perhaps only between the elements
            distinct = [(n, s) for n, s in zip(size, strides, strict=True) if s]
            if math.prod([n for n, _ in distinct]) <= reach:
                shape, steps = [n for n, _ in distinct], [s for _, s in distinct]
                content = np.lib.stride_tricks.as_strided(content, shape, steps)
            _check_bools(content)


def _table() -> Iterator[Builder]:
    yield Builder("_codecs.encode", _encode)
    yield Builder("builtins.bytearray", _bytearray)
    yield Builder("builtins.bytes", _bytes)
    yield Builder("builtins.complex", _complex)
    yield Builder("builtins.frozenset", _set(frozenset))
    yield Builder("builtins.set", _set(set))
    yield Builder("collections.OrderedDict", _ordered_dict, OrderedDict)
    yield Builder("collections.defaultdict", _default_dict)
    yield Builder("numpy._core.multiarray._reconstruct", _reconstruct)
    yield Builder("numpy._core.multiarray.scalar", _number)
    yield Builder("numpy._core.numeric._frombuffer", _from_buffer)
    yield Builder("numpy.dtype", _dtype)
    yield Builder("numpy.ndarray", None, np.ndarray)
    yield Builder("tengen.Size", _size)
    yield Builder("tengen.Tensor", None, Tensor)
    yield Builder("tengen.device", _device)
    yield Builder("tengen.core.scalar_type_base.named", _scalar_type)
    yield Builder("tengen.serialization.rebuild_parameter", _parameter)
    yield Builder("tengen.serialization.rebuild_storage", _storage)
    yield Builder("tengen.serialization.rebuild_stored", _stored)
    yield Builder("tengen.serialization.rebuild_subclass", _subclass)
    yield Builder("tengen.serialization.rebuild_tensor", _tensor)


#: By "module.name" all that a pickle of weights may name.
BUILDERS: Final = {builder.name: builder for builder in _table()}
