"""Programs of text as the tuples that the machine runs.

A fast path of ``generated/fast_paths.json`` names locals, slots, and what the module of its function has. An
instruction is an operation and its operands, ``->`` a label to go to where a test fails and ``=>`` one where
it holds. Here names become numbers, offsets and objects: operations.def says which words an operation has.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any, Final

from . import machine
from .stack import EFFECTS, OUT, Malformed as Malformed, Stack

Instruction = tuple[int, int, int, int, int, Any, Any]

_VARIADIC: Final = 0x04  # CO_VARARGS
#: So many loose arguments may be given.
_LOOSE: Final = 8
#: What the words behind each operation are.
KINDS: Final = {name: tuple(operands.split()) for name, (_, operands, *_) in machine.operations.items()}
#: The slot with the version of what a slot has.
_VERSION: Final = {"own_saved": "{}_version", "own_result": "result_versions"}


class Unfit(Exception):
    """The fast path is not for this function as it is."""


#: Of an instruction: the number, the two offsets, the object and the key.
_Operands = tuple[int, int, int, Any, Any]


class Assembler:
    """Makes the fast path of one function."""

    def __init__(self, function: FunctionType, text: str, owner: type | None) -> None:
        """``owner`` is the class of a Node whose method it is."""
        self.globals = function.__globals__
        self.owner = owner
        self.names, self.defaults, self.positional, self.loose = _parameters(function)
        self.locals = list(self.names)
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.jumps: list[tuple[int, str]] = []  # an instruction, and its label
        self.stack = Stack(machine.deepest)
        for line in [*text.split("; "), f"{OUT}:", "leave"]:
            if line.endswith(":") and " " not in line:
                self.stack.place(line[:-1])
                self.labels[line[:-1]] = len(self.code)
            else:
                self._instruction(line)

    def fast_path(self) -> tuple[Any, ...]:
        """The fast path for the machine. Raises Malformed where an instruction jumps to nowhere."""
        code = list(self.code)
        for at, label in self.jumps:
            if label not in self.labels:
                raise Malformed(f"nothing is called {label}")
            code[at] = (*code[at][:2], self.labels[label], *code[at][3:])
        further = len(self.locals) - len(self.names)
        if len(self.locals) > machine.most_locals:
            raise Unfit("too many locals")
        return tuple(code), tuple(self.names), tuple(self.defaults), self.positional, self.loose, further

    # -- lines -----------------------------------------------------------------------------

    def _instruction(self, line: str) -> None:
        line, _, holding = line.partition(" => ")
        line, _, failing = line.partition(" -> ")
        operation, *words = line.split(" ")
        if operation not in KINDS:
            raise Malformed(f"{operation} is no operation")
        kinds = KINDS[operation]
        number, offset, second, found, key = self._operands(operation, kinds, words)
        label = ""
        if EFFECTS[operation].jumps:
            label = holding or failing or OUT
            self.jumps.append((len(self.code), label))
            second = int(bool(holding))
        elif holding or failing:
            raise Malformed(f"{operation} jumps nowhere")
        if kinds == ("path",) and type(found) is not dict:  # an attribute, which is looked up each time
            if label:
                raise Unfit("a kernel is no attribute of its table")
            self._emit(operation, 0, 0, 0, self.globals, found)
            self._emit("attribute", 0, 0, 0, None, key)
        else:
            self._emit(operation, number, offset, second, found, key, label)

    def _emit(
        self, operation: str, number: int, offset: int, second: int, found: Any, key: Any, label: str = ""
    ) -> None:
        self.stack.run(operation, number, label)
        self.code.append((machine.operations[operation][0], number, 0, offset, second, found, key))

    def _operands(self, operation: str, kinds: Sequence[str], words: Sequence[str]) -> _Operands:
        """What the words behind an operation are; those that may be of any number are the last."""
        number = offset = second = 0
        found: Any = None
        key: Any = None
        left: Iterator[str] = iter(words)
        for kind in kinds:
            if kind == "own":  # no word says so
                key = self._node()
                continue
            word = next(left, None)
            if word is None:
                raise Malformed(f"{operation} has no {kind}")
            match kind:
                case "local":
                    number = self._local(word)
                    if operation == "store" and word in self.names:
                        raise Malformed(f"{word} is a parameter, which the caller holds")
                case "other":
                    offset = self._local(word)
                case "count":
                    number = int(word)
                case "dims":
                    offset = int(word)
                case "literal":
                    found = _literal([word, *left])
                case "global":
                    found = self._value(word)
                case "path":
                    found, key = self._source(word)
                case "attribute":
                    key = word
                case "recipe":
                    found = self._recipe(word, *left)
                case "own_edge":
                    number, key = int(word), self._node()
                case "own_slot" | "own_saved" | "own_result":
                    offset, key = self._offset(word), self._node()
                    second = 0 if kind == "own_slot" else self._offset(_VERSION[kind].format(word))
                case _:
                    number = machine.numbers[kind][word]
        if next(left, None) is not None:
            raise Malformed(f"{operation} has words that are no operands")
        return number, offset, second, found, key

    # -- operands --------------------------------------------------------------------------

    def _local(self, name: str) -> int:
        if name not in self.locals:
            self.locals.append(name)
        return self.locals.index(name)

    def _node(self) -> type:
        """The class of Nodes that the fast path is for: it reads slots of its instances only."""
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
                slots.append(
                    (edges, machine.numbers["kept"][what], local, machine.offset(cls, slot), version)
                )
            noted = machine.offset(cls, "result_versions") if versions == "1" else 0
            return cls, tuple(slots), noted, machine.offset(cls, "num_inputs") if results == "views" else 0

        numbers = tuple([self._input(name) for name in inputs.split(",")])
        return numbers, int(own_type), *_results(results), complete

    def _input(self, name: str) -> int:
        """The number of a local with a Tensor; of one with a list of such, negative and from -1 on."""
        return -1 - self._local(name[1:]) if name.startswith("*") else self._local(name)


def _results(text: str) -> tuple[int, int, int]:
    """How many results there are, or the number of a word for that; two sets of them as bits."""
    if text in machine.numbers["results"]:
        return machine.numbers["results"][text], 0, 0
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
