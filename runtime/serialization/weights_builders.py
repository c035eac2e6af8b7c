"""What a pickle of weights may build: for each allowed name a function that checks all that it is given.

A Builder stands on the unpickler's stack in the place of the function or class that the pickle names.
Nothing here calls what a file decides, and no object is built of a state that was not looked at.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..core.device import device
from ..core.scalar_type import dtype
from ..core.size import Size
from ..tensors.tensor import Tensor
from .archive import refuse

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


def described(value: object) -> str:
    """What an object is, for errors."""
    return value.name if isinstance(value, Builder) else f"a {type(value).__name__}"


def need(holds: bool, name: str, arguments: object) -> None:
    """Refuse to call what is called ``name``, unless the condition holds."""
    if not holds:
        refuse(f"the file calls {name} for {_types(arguments)}, which is not what it takes")


def _types(value: object) -> str:
    """The types of arguments: never what they are, which may be of any length."""
    if type(value) is tuple:
        shown = ", ".join([type(part).__name__ for part in value[:8]])
        return f"({shown}{', ...' if len(value) > 8 else ''})"
    return type(value).__name__


def are_ints(values: object) -> bool:
    """Whether it is a tuple of ints; bools are none."""
    return type(values) is tuple and all([type(v) is int for v in values])


def is_shape(values: Any) -> bool:
    return are_ints(values) and len(values) <= _DIMENSIONS and all([n >= 0 for n in values])


# -- numbers, bytes and containers -----------------------------------------------------------


def _complex(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> complex:
    need(len(arguments) == 2 and all([type(a) is float for a in arguments]), "builtins.complex", arguments)
    return complex(*arguments)


def _bytes(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> bytes:
    need(arguments == (), "builtins.bytes", arguments)
    return b""


def _encode(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> bytes:
    """How protocol 2 writes bytes."""
    need([type(a) for a in arguments] == [str, str] and arguments[1] == "latin1", "_codecs.encode", arguments)
    reader.spend(len(arguments[0]))
    return codecs.encode(arguments[0], "latin1")


def _bytearray(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> bytearray:
    kinds = [type(a) for a in arguments]
    if kinds == [str, str] and arguments[1] == "latin-1":
        reader.spend(len(arguments[0]))
        return bytearray(arguments[0], "latin-1")
    need(kinds in ([], [bytes]), "builtins.bytearray", arguments)
    reader.spend(sum(map(len, arguments)))
    return bytearray(*arguments)


def _set(cls: type[Any]) -> Callable[[WeightsUnpickler, tuple[Any, ...]], Any]:
    """How protocols 2 and 3 write sets: the class of a list."""

    def build(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Any:
        need([type(a) for a in arguments] == [list], f"builtins.{cls.__name__}", arguments)
        reader.spend(len(arguments[0]))
        return cls(map(checked_key, arguments[0]))

    return build


def _ordered_dict(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> OrderedDict[Any, Any]:
    need(arguments == (), "collections.OrderedDict", arguments)
    return OrderedDict()


def _counter(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Counter[Any]:
    need([type(a) for a in arguments] == [dict], "collections.Counter", arguments)
    reader.spend(len(arguments[0]))
    return Counter(arguments[0])


def _default_dict(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> defaultdict[Any, Any]:
    name = "collections.defaultdict"
    need(len(arguments) <= 1, name, arguments)
    factory = arguments[0] if arguments else None
    if factory is not None:
        need(isinstance(factory, Builder) and factory.cls is OrderedDict, name, arguments)
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
    need([type(a) for a in arguments] == [str, bool, bool], "numpy.dtype", arguments)
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
    need([type(a) for a in arguments] == [Builder, tuple, bytes], name, arguments)
    need(arguments[0].cls is np.ndarray and are_ints(arguments[1]), name, arguments)
    need(arguments[1] == (0,) and arguments[2] == b"b", name, arguments)
    return reader.unbuilt(np.empty((0,), np.int8))


def set_array_state(reader: WeightsUnpickler, made: np.ndarray[Any, Any], state: Any) -> None:
    name = "ndarray.__setstate__"
    need(type(state) is tuple and len(state) == 5, name, state)
    version, shape, kind, is_fortran, data = state
    need(
        type(version) is int and version == 1 and type(is_fortran) is bool and type(data) is bytes,
        name,
        state,
    )
    _check_elements(reader, name, shape, kind, data)
    made.__setstate__(state)


def _from_buffer(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """How protocol 5 writes arrays."""
    name = "numpy._core.numeric._frombuffer"
    need(len(arguments) == 4 and type(arguments[0]) in (bytes, bytearray), name, arguments)
    data, kind, shape, order = arguments
    need(type(order) is str and order in ("C", "F"), name, arguments)
    _check_elements(reader, name, shape, kind, data)
    return np.ndarray(shape, kind, data, order=order)


def _number(reader: WeightsUnpickler, arguments: tuple[Any, ...]) -> Any:
    name = "numpy._core.multiarray.scalar"
    need(len(arguments) == 2 and type(arguments[1]) is bytes, name, arguments)
    reader.spend(len(arguments[1]))
    _check_elements(reader, name, (), *arguments)
    return _scalar(*arguments)


def _check_elements(reader: WeightsUnpickler, name: str, shape: Any, kind: Any, data: Any) -> None:
    """Whether the bytes are those of an array of the shape and dtype."""
    if not isinstance(kind, np.dtype) or kind.kind not in _KINDS:
        refuse(f"the file calls {name} with a dtype that is none of bools, numbers and strings")
    reader.built(kind)
    if not is_shape(shape) or math.prod(shape) * kind.itemsize != len(data):
        refuse(f"the file calls {name} with {len(data)} bytes for an array of another size")
    if kind.kind == "b":
        check_bools(np.frombuffer(data, np.uint8))
    if kind.kind == "U" and len(data):
        points = np.frombuffer(data, np.dtype("u4").newbyteorder(kind.byteorder))
        if points.max() > 0x10FFFF:
            refuse("the file has a string of what are no characters")


def check_bools(content: np.ndarray[Any, Any]) -> None:
    """NumPy counts True as the byte 1 when it makes room for a mask's elements: no other may stand there."""
    if content.size and content.max() > 1:
        refuse("the file has bools whose bytes are neither 0 nor 1")


def _table() -> Iterator[Builder]:
    yield Builder("_codecs.encode", _encode)
    yield Builder("builtins.bytearray", _bytearray)
    yield Builder("builtins.bytes", _bytes)
    yield Builder("builtins.complex", _complex)
    yield Builder("builtins.frozenset", _set(frozenset))
    yield Builder("builtins.set", _set(set))
    yield Builder("collections.Counter", _counter)
    yield Builder("collections.OrderedDict", _ordered_dict, OrderedDict)
    yield Builder("collections.defaultdict", _default_dict)
    yield Builder("numpy._core.multiarray._reconstruct", _reconstruct)
    yield Builder("numpy._core.multiarray.scalar", _number)
    yield Builder("numpy._core.numeric._frombuffer", _from_buffer)
    yield Builder("numpy.dtype", _dtype)
    yield Builder("numpy.ndarray", None, np.ndarray)


#: By "module.name" what a pickle of weights may name beside PyTorch's names.
BUILDERS: Final = {builder.name: builder for builder in _table()}
