"""Pickles of weights, read by an interpreter of the opcodes that such a pickle has.

It knows what ``save`` and PyTorch write and nothing else. Names are those of ``allowed``, which check what
they are given; a state is set on arrays, their dtypes and the attributes of ordered dicts alone; items go
into lists, dicts and sets alone; a persistent id is one of a storage. What is made is bounded by the file: no
length in it is believed before the bytes are there, and what copies may not copy more than was read.

What ``add_safe_globals`` allows besides is called, made and given states as the file says.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import IO, Any, Final, TypeVar

import numpy as np

from ..core.device import device
from ..core.memory_format import layout, memory_format
from ..core.scalar_type import dtype
from ..core.size import Size
from ..core.storage import UntypedStorage
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from ..tensors.typed_storage import TypedStorage
from .archive import refuse
from .safe_globals import chosen
from .storages import Storages
from .tensor_builders import allowed, check_attributes
from .weights_builders import Builder, check_bools, checked_key, described, set_array_state, set_dtype_state

T = TypeVar("T")

#: How deep containers may be nested: about as deep as ``pickle`` itself can write them.
MAX_DEPTH: Final = 500
#: How many bytes are asked of a file at once; a length that a file states may be a lie.
_CHUNK: Final = 1 << 20
#: Longer than every allowed name.
_LINE: Final = 256

_DICTS: Final = (dict, OrderedDict, defaultdict, Counter)
_NAMES: Final = {getattr(pickle, name): name for name in pickle.__all__ if name.isupper()}


class WeightsUnpickler:
    """Reads one object from a file; without ``storages`` one that has no tensors."""

    def __init__(self, file: IO[bytes], storages: Storages | None) -> None:
        self.file = file
        self.storages: Any = storages
        self.names = allowed()
        #: By its name what the program allows besides.
        self.chosen = chosen()
        self.position = 0  # bytes read
        self.copied = 0
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        #: What was made and has no state yet, by its id.
        self.waiting: dict[int, Any] = {}
        #: Containers which Python frees recursively, so that they must not die nested deeply.
        self.deep: list[defaultdict[Any, Any]] = []

    def load(self) -> Any:
        """The object. UnpicklingError for what is not allowed or damaged, OSError where reading fails."""
        opcode = b""
        try:
            self.begin()
            while (opcode := self.take(1)) != pickle.STOP:
                step = _STEPS.get(opcode)
                if step is None:
                    refuse(f"the opcode {_NAMES.get(opcode, opcode)} is not allowed")
                step(self)
            found = self.stack.pop()
            self.check(found)
            return found
        except BaseException as error:
            for container in self.deep:
                container.clear()
            if isinstance(error, OSError) or not isinstance(error, Exception):
                raise
            if self.storages is not None and error is self.storages.locations.raised:
                raise
            known = isinstance(error, pickle.UnpicklingError)
            text = str(error) if known else f"the file is damaged: {type(error).__name__}: {str(error)[:200]}"
            raise pickle.UnpicklingError(
                f"load: {text} (byte {self.position}, {_NAMES.get(opcode, opcode)!s})"
            ) from (None if known else error)

    def check(self, found: Any) -> None:
        """Refuse what is no data, or nested too deeply."""
        check_data([found, self.deep], self.chosen.values())

    def begin(self) -> None:
        """The first two bytes."""
        if self.take(1) != pickle.PROTO or not 2 <= self.number(1) <= pickle.HIGHEST_PROTOCOL:
            refuse("the file does not begin as a pickle of a protocol from 2 to 5")

    # -- bytes

    def take(self, count: int) -> bytes:
        """So many bytes of the file; never memory for more than there are."""
        found = self.file.read(min(count, _CHUNK))
        if len(found) < count:
            buffer = io.BytesIO()
            while found and buffer.tell() + len(found) < count:
                buffer.write(found)
                found = self.file.read(min(count - buffer.tell(), _CHUNK))
            buffer.write(found)
            found = buffer.getvalue()
            if len(found) < count:
                refuse("the file ends early")
        self.position += count
        return found

    def skip(self, count: int) -> None:
        self.take(count)

    def number(self, width: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(width), "little", signed=signed)

    def line(self) -> str:
        found = self.file.readline(_LINE)
        self.position += len(found)
        if not found.endswith(b"\n"):
            refuse("the file has a name that does not end")
        return found[:-1].decode()

    # -- what builders ask

    def spend(self, count: int) -> None:
        """Refuse to copy more in all than was read: whatever is copied was in the file once."""
        self.copied += count
        if self.copied > self.position:
            refuse("the file copies one object again and again")

    def unbuilt(self, made: T) -> T:
        """``made``, which may get a state once."""
        self.waiting[id(made)] = made
        return made

    def built(self, made: object) -> None:
        """From now on it keeps the state that it has."""
        self.waiting.pop(id(made), None)

    # -- the stack

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def items(self) -> list[Any]:
        """What is on the stack above the last mark."""
        found, self.stack = self.stack, self.marks.pop()
        return found

    def pop_mark(self) -> None:
        self.items()

    def mark(self) -> None:
        self.marks.append(self.stack)
        self.stack = []

    def pop(self) -> None:
        """The pickler writes it where a tuple contains itself; it may be a mark that goes."""
        if self.stack:
            self.stack.pop()
        else:
            self.pop_mark()

    def pack(self, count: int) -> None:
        """The last items as a tuple."""
        found = tuple(self.stack[-count:])
        if len(found) < count:
            refuse("the file makes a tuple of items that it does not have")
        self.stack[-count:] = [found]

    def target(self, *classes: type) -> Any:
        """The top of the stack, which is to be changed: of one of the classes, not of a subclass."""
        found = self.stack[-1]
        if type(found) not in classes:
            refuse(f"the file puts items into {described(found)}")
        return found

    def append(self) -> None:
        item = self.stack.pop()
        self.target(list).append(item)

    def appends(self) -> None:
        found = self.items()
        self.target(list).extend(found)

    def set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.target(*_DICTS)[checked_key(key)] = value

    def set_items(self) -> None:
        found = self.items()
        target = self.target(*_DICTS)
        for key, value in zip(found[::2], found[1::2], strict=True):
            target[checked_key(key)] = value

    def add_items(self) -> None:
        found = self.items()
        self.target(set).update(map(checked_key, found))

    def frozen_set(self) -> None:
        self.push(frozenset(map(checked_key, self.items())))  # ``items`` changes the stack

    def fetch(self, number: int) -> None:
        if number not in self.memo:
            refuse(f"the file refers to an object {number} that it has not")
        self.stack.append(self.memo[number])

    def memoize(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    # -- names, calls and states

    def name(self, module: str, name: str) -> None:
        """What the name stands for. Protocol 2 writes those of Python 2."""
        module = "builtins" if module == "__builtin__" else module
        full = f"{module}.{name}"
        if full in self.names:
            self.stack.append(self.names[full])
        elif full in self.chosen:
            self.stack.append(self.chosen[full])
        else:
            refuse(
                f"the file names {full[:200]}, which is not allowed with weights_only=True; allow it with "
                f"tengen.serialization.add_safe_globals([{name[:200]}]), or load with weights_only=False, "
                "only if you trust it"
            )

    def is_allowed(self, value: Any) -> bool:
        """Whether it is one of those that the program allows besides."""
        return any([value is one for one in self.chosen.values()])

    def named(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            refuse("the file names something by what is no string")
        self.name(module, name)

    def reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self.stack.append(self.called(function, arguments))

    def called(self, function: Any, arguments: Any) -> Any:
        """What a function makes of arguments, if it may be called."""
        if type(arguments) is not tuple:
            refuse(f"the file calls {described(function)} with a {type(arguments).__name__}")
        if isinstance(function, Builder) and function.call is not None:
            return function.call(self, arguments)
        if not self.is_allowed(function):
            refuse(f"the file calls {described(function)}")
        return function(*[_itself(a) for a in arguments])

    def new_object(self) -> None:
        """An instance of a class that the program allows, which is not initialised."""
        arguments, cls = self.stack.pop(), self.stack.pop()
        if not isinstance(cls, type) or not self.is_allowed(cls) or type(arguments) is not tuple:
            refuse(f"the file makes an instance of {described(cls)}")
        self.stack.append(cls.__new__(cls, *[_itself(a) for a in arguments]))

    def persistent(self) -> None:
        if self.storages is None:
            refuse("the file names a storage where it has none")
        self.stack.append(self.storages.load(self.stack.pop()))

    def build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) is OrderedDict and type(state) is dict:
            self.spend(len(state))
            check_attributes(OrderedDict, state)
            vars(target).update(state)
        elif self.is_allowed(type(target)):
            self.set_state(target, state)
        elif self.waiting.pop(id(target), None) is None:
            refuse(f"the file sets the state of {described(target)}")
        elif isinstance(target, np.dtype):
            set_dtype_state(target, state)
        else:
            set_array_state(self, target, state)

    def set_state(self, target: Any, state: Any) -> None:
        """As pickle sets a state, on an instance of a class that the program allows."""
        own = getattr(type(target), "__setstate__", None)
        if own is not None and own is not Tensor.__setstate__:
            target.__setstate__(state)
            return
        slots = None
        if type(state) is tuple and len(state) == 2:
            state, slots = state
        if state:
            vars(target).update(state)
        for name, value in (slots or {}).items():
            setattr(target, name, value)


def _itself(value: Any) -> Any:
    """The class that a name stands for, to be an argument of what is allowed."""
    return value.cls if isinstance(value, Builder) and value.cls is not None else value


def _text(width: int) -> Callable[[WeightsUnpickler], None]:
    return lambda u: u.push(str(u.take(u.number(width)), "utf-8", "surrogatepass"))


def _bytes(width: int) -> Callable[[WeightsUnpickler], None]:
    return lambda u: u.push(u.take(u.number(width)))


def _long(width: int) -> Callable[[WeightsUnpickler], None]:
    return lambda u: u.push(int.from_bytes(u.take(u.number(width)), "little", signed=True))


#: What each opcode does. Those of protocols 0 and 1, instances of old classes, extension codes and buffers
#: outside of the file are not among them.
_STEPS: Final[dict[bytes, Callable[[WeightsUnpickler], None]]] = {
    pickle.FRAME: lambda u: u.skip(8),
    pickle.NONE: lambda u: u.push(None),
    pickle.NEWTRUE: lambda u: u.push(True),
    pickle.NEWFALSE: lambda u: u.push(False),
    pickle.BININT: lambda u: u.push(u.number(4, signed=True)),
    pickle.BININT1: lambda u: u.push(u.number(1)),
    pickle.BININT2: lambda u: u.push(u.number(2)),
    pickle.LONG1: _long(1),
    pickle.LONG4: _long(4),
    pickle.BINFLOAT: lambda u: u.push(struct.unpack(">d", u.take(8))[0]),
    pickle.BINUNICODE: _text(4),
    pickle.SHORT_BINUNICODE: _text(1),
    pickle.BINUNICODE8: _text(8),
    pickle.BINBYTES: _bytes(4),
    pickle.SHORT_BINBYTES: _bytes(1),
    pickle.BINBYTES8: _bytes(8),
    pickle.BYTEARRAY8: lambda u: u.push(bytearray(u.take(u.number(8)))),
    pickle.EMPTY_LIST: lambda u: u.push([]),
    pickle.EMPTY_TUPLE: lambda u: u.push(()),
    pickle.EMPTY_DICT: lambda u: u.push({}),
    pickle.EMPTY_SET: lambda u: u.push(set()),
    pickle.FROZENSET: lambda u: u.frozen_set(),
    pickle.TUPLE1: lambda u: u.pack(1),
    pickle.TUPLE2: lambda u: u.pack(2),
    pickle.TUPLE3: lambda u: u.pack(3),
    pickle.TUPLE: lambda u: u.push(tuple(u.items())),
    pickle.MARK: WeightsUnpickler.mark,
    pickle.POP: WeightsUnpickler.pop,
    pickle.POP_MARK: WeightsUnpickler.pop_mark,
    pickle.APPEND: lambda u: u.append(),
    pickle.APPENDS: lambda u: u.appends(),
    pickle.SETITEM: lambda u: u.set_item(),
    pickle.SETITEMS: lambda u: u.set_items(),
    pickle.ADDITEMS: lambda u: u.add_items(),
    pickle.BINGET: lambda u: u.fetch(u.number(1)),
    pickle.LONG_BINGET: lambda u: u.fetch(u.number(4)),
    pickle.BINPUT: lambda u: u.memoize(u.number(1)),
    pickle.LONG_BINPUT: lambda u: u.memoize(u.number(4)),
    pickle.MEMOIZE: lambda u: u.memoize(len(u.memo)),
    pickle.GLOBAL: lambda u: u.name(u.line(), u.line()),
    pickle.STACK_GLOBAL: WeightsUnpickler.named,
    pickle.REDUCE: WeightsUnpickler.reduce,
    pickle.NEWOBJ: lambda u: u.new_object(),
    pickle.BINPERSID: lambda u: u.persistent(),
    pickle.BUILD: lambda u: u.build(),
}


# -- what was read, as a whole ---------------------------------------------------------------

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, bytearray})
_LEAVES: Final = (
    Size, dtype, device, layout, memory_format, np.ndarray, np.dtype, np.generic, UntypedStorage, TypedStorage
)  # fmt: skip


def _parts(value: Any, allowed: Collection[Any]) -> Iterator[Any]:
    """What is in an object, but numbers and strings. UnpicklingError for what is no data."""
    kind = type(value)
    parts: list[Any] = []
    if kind in (list, tuple, set, frozenset):
        parts = value
    elif kind in _DICTS:
        parts = [*value, *value.values()]
        if kind is OrderedDict:
            parts += vars(value).values()
    elif kind is Tensor or kind is Parameter:
        parts = list(vars(value).values())
    elif kind is TypedStorage and value.dtype.category == "bool":
        if value.untyped()._backend.has_data:
            check_bools(value.untyped().memory())
    elif isinstance(value, Builder):
        refuse(f"the file holds {described(value)} itself, which is no data")
    elif kind not in _ATOMS and not isinstance(value, _LEAVES) and not _is_among(value, kind, allowed):
        refuse(f"the file holds {described(value)}")
    return iter([part for part in parts if type(part) not in _ATOMS])


def _is_among(value: Any, kind: type, allowed: Collection[Any]) -> bool:
    """Whether the program allows it, or what it is an instance of."""
    return any([value is one or kind is one for one in allowed])


def check_data(found: Any, allowed: Collection[Any] = ()) -> None:
    """Refuse what is nested so deeply that programs which go through it recursively would fail.

    Iteratively; an object that several hold counts with the depth below it, one that holds itself once.
    """
    depths: dict[int, int] = {id(found): 0}
    path = [(found, _parts(found, allowed))]
    while path:
        value, rest = path[-1]
        for part in rest:
            below = depths.get(id(part))
            if below is None:
                depths[id(part)] = 0
                path.append((part, _parts(part, allowed)))
                break
            depths[id(value)] = max(depths[id(value)], below + 1)
        else:
            path.pop()
            if path:
                outer = id(path[-1][0])
                depths[outer] = max(depths[outer], depths[id(value)] + 1)
        if len(path) + depths[id(value)] > MAX_DEPTH:
            refuse(f"the file nests containers more than {MAX_DEPTH} deep")
