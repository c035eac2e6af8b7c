"""Programs of text as the tuples that the machine runs.

A program of ``generated/programs.json`` names locals, slots, and what the module of its function has. An
instruction is an operation and its operands, ``->`` a label to go to where a test fails and ``=>`` one where
it holds. Here names become numbers, offsets and objects.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Final

from . import machine

Instruction = tuple[int, int, int, int, int, Any, Any]

_VARIADIC: Final = 0x04  # CO_VARARGS
#: So many loose arguments may be given.
_LOOSE: Final = 8


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: The operations whose only operand is a local.
_OF_LOCAL: Final = _words(
    "is_plain is_tensor has_array is_array is_small is_contiguous is_type is_settled needs_no_grad has_type "
    "has_backend have_one_type have_type are_tensors runs_all arrays number_like is_recorded is_index bounds "
    "is_weak is_none is_missing are_ints are_many_ints is_apart may_write runs runs_itself local "
    "array store wrap_view wrap_part wrap_views begin_write write end_write"
)
#: Those with a local and an object.
_OF_LOCAL_AND_OBJECT: Final = frozenset(("is_same", "is_equal"))
#: Those with a number.
_OF_NUMBER: Final = _words(
    "is_given is_more_given rest call call_out binary unary compare tuple unpack rows rows_keeping invoke"
)
_KEPT: Final = {"value": 0, "tensor": 1, "result": 2, "shape": 3, "type": 4, "shapes": 5}
#: By how much an operation changes the height of the stack; those of operands' number are functions of it.
_GROWTH: Final[Mapping[str, Callable[[int], int]]] = {
    **{
        name: lambda n: 1
        for name in ("local", "rest", "type", "array", "arrays", "constant", "slot", "saved")
    },
    **{
        name: lambda n: 1
        for name in ("saved_or_none", "saved_result", "fetch", "fetch_kernel", "end_write", "view")
    },
    **{name: lambda n: -1 for name in ("binary", "compare", "item", "pop", "store", "write", "jump_if_not")},
    **{
        name: lambda n: -1
        for name in _words(
            "reshape join stack with_dim without_dim with_dims_ordered each_along at_key expand"
        )
    },
    **{name: lambda n: -2 for name in ("with_dims_exchanged", "at_index", "parts_along")},
    "in_range": lambda n: -4,
    "bounds": lambda n: 3,
    **{name: lambda n: -n for name in ("rows", "rows_keeping", "invoke", "invoke_method")},
    "call": lambda n: -n,
    "call_out": lambda n: -n,
    "tuple": lambda n: 1 - n,
    "method": lambda n: 1 - n,
    "unpack": lambda n: n - 1,
}


class Unfit(Exception):
    """The program is not for this function as it is."""


class Assembler:
    """Makes the program of one function."""

    def __init__(self, function: FunctionType, text: str, owner: type | None) -> None:
        """``owner`` is the class of a Node whose method it is."""
        self.globals = function.__globals__
        self.owner = owner
        self.names, self.defaults, self.positional, self.loose = _parameters(function)
        self.locals = list(self.names)
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.jumps: list[tuple[int, str, int]] = []  # an instruction, its label, the height where it jumps
        self.height = 0
        self.heights: dict[str, int] = {}
        for line in [*text.split("; "), "out:", "leave"]:
            if line.endswith(":") and " " not in line:
                self._place(line[:-1])
            else:
                self._instruction(line)

    def program(self) -> tuple[Any, ...]:
        """The program for the machine."""
        code = list(self.code)
        for at, label, _ in self.jumps:
            code[at] = (*code[at][:2], self.labels[label], *code[at][3:])
        further = len(self.locals) - len(self.names)
        if len(self.locals) > machine.most_locals:
            raise Unfit("too many locals")
        return tuple(code), tuple(self.names), tuple(self.defaults), self.positional, self.loose, further

    # -- lines -----------------------------------------------------------------------------

    def _place(self, label: str) -> None:
        self.labels[label] = len(self.code)
        self.height = self.heights.get(label, self.height)

    def _instruction(self, line: str) -> None:
        line, _, holding = line.partition(" => ")
        line, _, failing = line.partition(" -> ")
        operation, *operands = line.split(" ")
        label = holding or failing
        number, offset, second, found, key = self._operands(operation, operands)
        if operation in ("fetch", "fetch_kernel"):
            found, key = self._source(operands[0])
            if type(found) is not dict:  # an attribute of an object, which is looked up each time
                self._emit("fetch", 0, 0, 0, self.globals, found)
                self._emit("attribute", 0, 0, 0, None, key)
                if operation == "fetch":
                    return
                raise Unfit("a kernel is no attribute of its table")
        tests = machine.operations[operation] < machine.operations["runs"]
        if tests or operation in ("jump", "jump_if_not", "jump_or_pop", "jump_or_pop_not", "fetch_kernel"):
            self.jumps.append((len(self.code), label or "out", 0))
            second = int(bool(holding))
        self._emit(operation, number, offset, second, found, key, label)

    def _emit(
        self, operation: str, number: int, offset: int, second: int, found: Any, key: Any, label: str = ""
    ) -> None:
        growth = _GROWTH.get(operation)
        before = self.height
        self.height += 0 if growth is None else growth(number)
        if self.height > machine.deepest or self.height < 0:
            raise Unfit("the stack is too deep")
        if label:  # where fetch_kernel jumps it has pushed nothing; jump_or_pop leaves the value there
            taken = before if operation == "fetch_kernel" else self.height
            self.heights.setdefault(label, taken)
        if operation in ("jump_or_pop", "jump_or_pop_not"):
            self.height -= 1
        self.code.append((machine.operations[operation], number, 0, offset, second, found, key))

    def _operands(self, operation: str, operands: Sequence[str]) -> tuple[int, int, int, Any, Any]:
        """The number, the two offsets, the object and the key of an instruction."""
        if operation in _OF_LOCAL:
            return self._local(operands[0]), 0, 0, None, None
        if operation in _OF_LOCAL_AND_OBJECT:
            return self._local(operands[0]), 0, 0, _literal(operands[1:]), None
        if operation in _OF_NUMBER:
            return int(operands[0]), 0, 0, None, None
        match operation, operands:
            case "constant", _:
                return 0, 0, 0, _literal(operands), None
            case "weak_has", [kind]:
                return 0, 0, 0, self._value(kind), None
            case "is_class", [name, kind]:
                return self._local(name), 0, 0, self._value(kind), None
            case "goes", [number]:
                return int(number), 0, 0, None, self._node()
            case "number", [number]:
                return int(number), 0, 0, None, self._node() if int(number) else None
            case "slot", [slot]:
                return 0, self._offset(slot), 0, None, self._node()
            case (("saved" | "saved_or_none"), [slot]):
                return 0, self._offset(slot), self._offset(f"{slot}_version"), None, self._node()
            case "saved_result", [slot]:
                return 0, self._offset(slot), self._offset("result_versions"), None, self._node()
            case "free", [slot, name]:
                return 0, self._offset(slot), 0, self._value(name), self._node()
            case (("attribute" | "wrap_as"), [name]):
                return 0, 0, 0, None, name
            case "has_dims", [name, count]:
                return self._local(name), int(count), 0, None, None
            case (("are_rows" | "have_rows_of"), [name, dim]):
                return self._local(name), self._local(dim), 0, None, None
            case (("method" | "invoke_method"), [name, count]):
                return int(count), 0, 0, None, name
            case "record", _:
                return 0, 0, 0, self._recipe(*operands), None
        return 0, 0, 0, None, None

    # -- operands --------------------------------------------------------------------------

    def _local(self, name: str) -> int:
        if name not in self.locals:
            self.locals.append(name)
        return self.locals.index(name)

    def _node(self) -> type:
        """The class of Nodes that the program is for: it reads slots of its instances only."""
        if self.owner is None:
            raise Unfit("only Nodes have slots")
        return self.owner

    def _offset(self, slot: str) -> int:
        offset: int = machine.offset(self._node(), slot)
        return offset

    def _value(self, path: str) -> Any:
        first, *rest = path.split(".")
        value = self.globals[first] if first in self.globals else getattr(builtins, first)
        for name in rest:
            value = getattr(value, name)
        return value

    def _source(self, path: str) -> tuple[Any, Any]:
        """The dictionary where something is found, and the key; or the name of an object and its attribute.

        The latter of a module that is not loaded yet, too: it takes that name when it is.
        """
        *before, name = path.split(".")
        if not before:
            return (self.globals, name) if name in self.globals else (vars(builtins), name)
        if len(before) > 1:
            raise Unfit("a path of three names")
        owner = self._value(before[0])
        if _is_kernels(owner):
            getattr(owner, name)  # a kernel is found when it is first asked for
        if isinstance(owner, ModuleType) or _is_kernels(owner):
            return vars(owner), name
        return before[0], name

    def _recipe(
        self, node: str, inputs: str, kept: str, versions: str, own_type: str, results: str
    ) -> tuple[Any, ...]:
        """What ``record`` needs: the inputs, and what tells the Node's class and slots when one is made."""
        keeps = []
        for text in kept.split(",") if kept != "-" else ():
            edges, what, name, slot = text.split(":")
            keeps.append((int(edges), what, 0 if name == "-" else self._local(name), slot))

        def complete() -> tuple[Any, ...]:
            cls = self._value(node)
            slots = []
            for edges, what, local, slot in keeps:
                version = machine.offset(cls, f"{slot}_version") if what == "tensor" else 0
                slots.append((edges, _KEPT[what], local, machine.offset(cls, slot), version))
            noted = machine.offset(cls, "result_versions") if versions == "1" else 0
            return cls, tuple(slots), noted, machine.offset(cls, "num_inputs") if results == "views" else 0

        numbers = tuple([self._input(name) for name in inputs.split(",")])
        return numbers, int(own_type), *_results(results), complete

    def _input(self, name: str) -> int:
        """The number of a local with a Tensor; of one with a list of such, negative and from -1 on."""
        return -1 - self._local(name[1:]) if name.startswith("*") else self._local(name)


def _results(text: str) -> tuple[int, int, int]:
    """How many results there are, 0 if it is one Tensor, -1 of a tuple of views; two sets of them as bits."""
    if text in ("one", "views"):
        return -int(text == "views"), 0, 0
    count, outputs, constants = text.split(":")
    return int(count), int(outputs), int(constants)


def _is_kernels(owner: object) -> bool:
    """Whether it is a table of native kernels, which are plain attributes once they were asked for."""
    return type(owner).__name__ == "Kernels"


def _literal(words: Sequence[str]) -> Any:
    """A constant, as ``repr`` writes it."""
    return eval(" ".join(words), {"inf": float("inf"), "nan": float("nan")})


def _parameters(function: FunctionType) -> tuple[list[str], list[Any], int, int]:
    """The names of the parameters, their defaults, how many may be positional, and the first loose one."""
    code = function.__code__
    count = code.co_argcount
    names = list(code.co_varnames[:count])
    defaults: list[Any] = [machine.REQUIRED] * count
    for place, value in enumerate(reversed(function.__defaults__ or ()), 1):
        defaults[count - place] = value
    loose = -1
    if code.co_flags & _VARIADIC:
        loose = count
        names += [f"args.{number}" for number in range(_LOOSE)]
        defaults += [machine.REQUIRED] * _LOOSE
        count += _LOOSE
    for name in code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]:
        names.append(name)
        defaults.append((function.__kwdefaults__ or {}).get(name, machine.REQUIRED))
    return names, defaults, count, loose
