"""Executables: programs that are called. A call gives arrays; what is alive only in it lies in an arena."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tengen.ir.fuse.functions import Called, Module
from tengen.ir.fuse.memory import ALIGNED, Home, Slot
from tengen.ir.fuse.nodes import Arg, Node, Product, Result

from .. import fast_paths
from ..autograd.grad_mode import no_grad
from ..core.operands import tensors_in
from .capture import Call, Operand
from .native import Functions

#: What an output is made in: its sizes and dtype, in the order in which it lies in memory.
Buffer = tuple[tuple[int, ...], Any]


#: The homes of pointers, as the C machine numbers them.
_KINDS = {Home.INPUT: 0, Home.TABLE: 1, Home.OUTPUT: 2}


class Failed(Exception):
    """Native code found an element that an operator raises an error for; nothing was written."""


@dataclass(slots=True)
class _Memory:
    """What one call at a time has: an arena, and the pointers that functions are given."""

    arena: Any
    base: int
    pointers: Any
    address: int


class Executable:
    """A module with its functions, called with arrays of the sizes and strides that it was made for."""

    def __init__(
        self, module: Module, functions: Functions, nodes: Sequence[Node], outputs: Sequence[Buffer]
    ) -> None:
        """Of a module and its functions; ``nodes`` are those of the outputs."""
        self.module, self.outputs = module, outputs
        #: The outputs that calls of Python's give, by the numbers of the results.
        self._given = {i: module.plan.slots[n].number for i, n in enumerate(nodes) if isinstance(n, Result)}
        self._free: list[_Memory] = []
        self._steps: list[Callable[[_Call], None]] = []
        native = iter(functions.called)
        for step in module.steps:
            self._steps.append(_python(step) if isinstance(step, Called) else _native(next(native)))
        self.tables = [np.ascontiguousarray(t.value) for t in module.plan.tables]
        self._addresses = functions.addresses
        self._program: Any = None

    def prepare(self, inputs: int, types: Sequence[Any]) -> None:
        """Have the C machine make the calls, if it is there and no step is Python's.

        ``types`` has the Type of each output that is a tensor as it is, else None.
        """
        machine = fast_paths.programs()
        if machine is None or any([isinstance(step, Called) for step in self.module.steps]):
            return
        pointers = []
        for home, number in self.module.pointers:
            address = self.tables[number].ctypes.data if home is Home.TABLE else 0
            pointers.append((_KINDS[home], number, address))
        both = zip(self.outputs, types, strict=True)
        outputs = tuple([(np.dtype(dtype), shape, type_) for (shape, dtype), type_ in both])
        self._program = machine.Program(
            inputs, tuple(pointers), outputs, tuple(self._addresses), self.module.arena
        )

    def __call__(self, inputs: list[Any]) -> Sequence[Any]:
        """The outputs of tensors or arrays: arrays, or tensors as ``prepare`` was told.

        Failed where an element is out of range; what a kernel raises.
        """
        if self._program is not None:
            found = self._program.run(inputs)
            if found is None:
                raise Failed
            return found  # type: ignore[no-any-return]
        return self._by_steps([getattr(given, "_array", given) for given in inputs])

    def _by_steps(self, inputs: Sequence[Any]) -> list[Any]:
        free = self._free
        try:
            memory = free.pop()
        except IndexError:
            memory = self._new()
        call = _Call(self, memory, inputs, [np.empty(shape, dtype) for shape, dtype in self.outputs])
        for number, (home, which) in enumerate(self.module.pointers):
            if home is Home.INPUT:
                memory.pointers[number] = inputs[which].ctypes.data
            elif home is Home.OUTPUT:
                memory.pointers[number] = call.outputs[which].ctypes.data
        for step in self._steps:
            step(call)
        free.append(memory)
        for number, result in self._given.items():
            call.outputs[number] = call.results[result].reshape(self.outputs[number][0])
        return call.outputs

    def _new(self) -> _Memory:
        module = self.module
        arena = np.empty(module.arena + ALIGNED, np.uint8)
        base = -(-arena.ctypes.data // ALIGNED) * ALIGNED
        pointers = (ctypes.c_void_p * (len(module.pointers) + 1))()
        pointers[len(module.pointers)] = base
        for number, (home, which) in enumerate(module.pointers):
            if home is Home.TABLE:
                pointers[number] = self.tables[which].ctypes.data
        return _Memory(arena, base - arena.ctypes.data, pointers, ctypes.addressof(pointers))


class _Call:
    """One call of an executable."""

    __slots__ = ("executable", "inputs", "memory", "outputs", "results")

    def __init__(
        self, executable: Executable, memory: _Memory, inputs: Sequence[Any], outputs: list[Any]
    ) -> None:
        self.executable, self.memory, self.inputs, self.outputs = executable, memory, inputs, outputs
        self.results: dict[int, Any] = {}

    def buffer(self, node: Node) -> Any:
        """All elements of a node's buffer, in order; of an input the array itself."""
        slot: Slot = self.executable.module.plan.slots[node]
        match slot.home:
            case Home.INPUT:
                return _within(self.inputs[slot.number], node, slot)
            case Home.TABLE:
                return self.executable.tables[slot.number]
            case Home.OUTPUT:
                return _within(self.outputs[slot.number], node, slot)
            case Home.RESULT:
                return self.results[slot.number]
        return _elements(self.memory.arena, self.memory.base + slot.number, node)

    def seen(self, node: Node, shape: Sequence[int], strides: Sequence[int], offset: int) -> Any:
        """What a view of a node's buffer shows."""
        buffer = self.buffer(node)
        step = buffer.itemsize
        if isinstance(buffer, np.ndarray) and offset:
            flat = buffer.reshape(-1) if buffer.flags.c_contiguous else None
            if flat is None:
                raise NotImplementedError("a part of an input with strides")
            buffer = flat[offset:]
        return np.lib.stride_tricks.as_strided(buffer, tuple(shape), tuple([s * step for s in strides]))

    def take_in(self, number: int, node: Node, array: Any) -> None:
        """Keep a result of a call of Python's where what follows reads it."""
        slot = self.executable.module.plan.slots[node]
        array = np.ascontiguousarray(array)
        self.results[slot.number] = array
        found = self.executable.module.pointers
        for place, (home, which) in enumerate(found):
            if home is Home.RESULT and which == slot.number:
                self.memory.pointers[place] = array.ctypes.data


def _within(array: Any, node: Node, slot: Slot) -> Any:
    """A node's buffer in an array of bytes that several share; any other array itself."""
    if array.dtype == np.dtype(node.dtype) or array.dtype != np.uint8 or array.ndim != 1:
        return array
    return _elements(array, slot.offset, node)


def _elements(array: Any, begin: int, node: Node) -> Any:
    """A node's elements in an array of bytes, from the byte ``begin`` on."""
    dtype = np.dtype(node.dtype)
    return array[begin : begin + prod(node.shape) * dtype.itemsize].view(dtype)


def _native(function: Any) -> Callable[[_Call], None]:
    def step(call: _Call) -> None:
        if function(call.memory.address):
            raise Failed

    return step


def _python(step: Called) -> Callable[[_Call], None]:
    node = step.node
    if isinstance(node, Product):
        return lambda call: _product(call, node)
    return lambda call: _eager(call, step)


def _product(call: _Call, node: Product) -> None:
    """Products of matrices by NumPy, where its BLAS is not known."""
    m, k, n = node.sizes
    a, b = [
        call.seen(arg.node, (*node.batch, *sizes), arg.strides, arg.offset)
        for arg, sizes in zip(node.args, ((m, k), (k, n)), strict=True)
    ]
    np.matmul(a, b, out=call.buffer(node).reshape(*node.batch, m, n))


def _eager(call: _Call, step: Called) -> None:
    """An operator's own kernel."""
    made: Call = step.node.call  # type: ignore[attr-defined]
    args: Sequence[Arg] = step.node.args

    def put(value: Any) -> Any:
        if isinstance(value, Operand):
            node = args[value.number].node
            return value.type.wrap(call.seen(node, value.shape, value.strides, value.offset))
        if isinstance(value, tuple | list):
            return type(value)([put(v) for v in value])
        return value

    with no_grad():
        results = tensors_in((made.operator(*put(made.arguments)),))
    for result in step.results:
        array = results[result.number]._array
        if array.size != prod(result.shape):  # its sizes follow from elements
            raise Failed
        call.take_in(result.number, result, array)
