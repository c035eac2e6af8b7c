"""Capture: a graph of operators as a Program, by calling each operator on what stands for its tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tengen.generated.backends import BACKENDS
from tengen.generated.kernels import ROUTINES
from tengen.ir.fuse.algebra import sum_of_parts
from tengen.ir.fuse.nodes import Fill, Node as ProgramNode, Places, Program, Table, View
from tengen.ir.fuse.scalars import Trials
from tengen.ir.lower.kernels import read_routine

from ..autograd.grad_mode import no_grad
from ..core.device import default_device, device
from ..core.operands import tensors_in
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import type_of
from ..jit.graph import Graph, Node, Value, replaced, writes
from .arrays import Array, constant, thread

#: Where tensors are that stand for what a program computes, and where those are that it is of.
_BACKEND = next(name for name, row in BACKENDS.items() if row["library"].startswith(__package__))
LAZY, HERE = device(BACKENDS[_BACKEND]["device"]), default_device


#: How many times the elements of operands and results may be in memory between the nodes of an operator.
GROWTH = 3


@dataclass(frozen=True, slots=True)
class Call:
    """An operator's call, with the numbers of the operands where tensors stand."""

    operator: Any
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a Call: its number, and the layout in which it is given."""

    number: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    type: Any


@dataclass(slots=True)
class Captured:
    """A program, what it gives, and the operators that it calls as they are, with the reasons."""

    program: Program
    outputs: list[View] = field(default_factory=list)
    eager: list[tuple[Node, str]] = field(default_factory=list)


class _Capture:
    def __init__(self, trials: Trials) -> None:
        self.found = Captured(Program(trials, rules=(sum_of_parts,)))
        self.values: dict[Value, Any] = {}

    def run(self, graph: Graph, given: Sequence[tuple[Value, Any]]) -> Captured:
        """The program of a graph; ``given`` are the values of inputs, and tensors that have them."""
        program = self.found.program
        before, thread.program = thread.program, program
        try:
            for value, tensor in given:
                array = tensor._array
                steps = tuple([s // array.itemsize for s in array.strides])
                view = program.input(array.shape, steps, array.dtype.name)
                self.values[value] = _wrapped(Array(view, array.dtype), value)
            with no_grad():
                for node in graph.nodes:
                    program.source = node
                    self._node(node)
            self.found.outputs = [self._view(value) for value in graph.outputs]
        finally:
            thread.program = before
        return self.found

    def _view(self, value: Value) -> View:
        view: View = self.values[value]._array.view
        return view

    def _node(self, node: Node) -> None:
        if writes(node):
            raise NotImplementedError(f"{node.operator.name} writes to a tensor")
        if not node.random and not node.inputs:
            self._bind(node, self._computed(node))
            return
        reason = "it draws random numbers" if node.random else self._lowered(node)
        if reason:
            self._eager(node)
            self.found.eager.append((node, reason))

    def _computed(self, node: Node) -> list[Any]:
        """The results of an operator of numbers alone, which are the same in all calls."""
        results = tensors_in((node.operator(*node.arguments),))
        return [type_of(t.dtype, LAZY).wrap(constant(t.numpy())) for t in results]

    def _lowered(self, node: Node) -> str:
        """Have the operator make nodes; "" if it did, else why it did not."""
        arguments = _placed(replaced(node.arguments, self.values.__getitem__))
        before = len(self.found.program.nodes)
        try:
            result = node.operator(*arguments)
        except Exception as error:  # whatever a kernel does with arrays that have no values
            return str(error).partition("\n")[0]
        results = [t for t in tensors_in((result,))]
        if len(results) != len(node.outputs):
            return "it gives other results"
        for tensor, value in zip(results, node.outputs, strict=True):
            if not isinstance(tensor._array, Array):
                return "it gives a tensor of another device"
            if tuple(tensor.shape) != value.shape or tensor.dtype is not value.dtype:
                return f"it gives {tensor.dtype} of {tuple(tensor.shape)}"
        if self._grows(node, self.found.program.nodes[before:]):
            return "it would take several times as much memory"
        self._bind(node, results)
        return ""

    def _grows(self, node: Node, made: Sequence[ProgramNode]) -> bool:
        """Whether nodes that an operator made fill more memory than its own kernel would, by far."""
        stored = {arg.node for user in made if not user.is_loops for arg in user.args}
        inside = sum([prod(each.shape) for each in made if each in stored])
        outside = sum([prod(value.shape) for value in (*node.inputs, *node.outputs)])
        return inside > GROWTH * outside

    def _bind(self, node: Node, results: Sequence[Any]) -> None:
        for tensor, value in zip(results, node.outputs, strict=True):
            self.values[value] = tensor

    def _eager(self, node: Node) -> None:
        """Have the program call the operator as it is."""
        program = self.found.program
        operands: list[View] = []

        def put(value: Value) -> Operand:
            array = self.values[value]._array
            view = array.view
            if isinstance(view.node, Fill | Table | Places):  # what has no buffer of its own
                view = program.copied(view)
            operands.append(view)
            type_ = type_of(value.dtype, HERE)
            return Operand(len(operands) - 1, view.shape, view.strides, view.offset, type_)

        call = Call(node.operator, replaced(node.arguments, put))
        described = [(v.shape, v.dtype.array_dtype.name) for v in node.outputs]
        views = program.eager(call, operands, described, node.random)
        for view, value in zip(views, node.outputs, strict=True):
            self.values[value] = _wrapped(Array(view, value.dtype.array_dtype), value)


def _wrapped(array: Array, value: Value) -> Any:
    return type_of(value.dtype, LAZY).wrap(array)


def _placed(arguments: Any) -> Any:
    """Arguments with the device of what stands for tensors in place of theirs."""
    if isinstance(arguments, device):
        return LAZY if arguments.type == HERE.type else arguments
    if isinstance(arguments, tuple | list):
        return type(arguments)([_placed(a) for a in arguments])
    return arguments


_trials: list[Trials] = []


def trials() -> Trials:
    """What tells which expressions have instructions, with the routines of the kernels."""
    if not _trials:
        routines = {f: {s: read_routine(t) for s, t in by.items()} for f, by in ROUTINES.items()}
        _trials.append(Trials(routines))
    return _trials[0]


def captured(graph: Graph, given: Sequence[tuple[Value, Any]]) -> Captured:
    """The program of a graph without writes and bodies, of these inputs and constants.

    NotImplementedError where the graph writes to a tensor.
    """
    return _Capture(trials()).run(graph, given)


def strides_of(tensor: TensorBase) -> tuple[int, ...]:
    """The strides of a tensor of NumPy's, in elements."""
    array: Any = tensor._array
    return tuple([s // array.itemsize for s in array.strides])


__all__ = ["Call", "Captured", "Operand", "captured", "strides_of", "trials"]
