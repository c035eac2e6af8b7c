"""Traces: recorded calls as executables, with what their outputs are, and the derivatives of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tengen.ir.fuse.functions import module
from tengen.ir.fuse.memory import Slot, in_place
from tengen.ir.fuse.nodes import Fill, Input, Node, Places, Table, View, live
from tengen.ir.fuse.schedule import Schedule
from tengen.ir.fuse.views import Shape, contiguous

from ..autograd.grad_mode import no_grad
from ..core.storage import begin_write, storage_of
from ..core.tensor_base import TensorBase
from ..jit.graph import Graph
from . import debug
from .blas import blas
from .capture import Captured, captured, strides_of, trials
from .executable import Executable
from .native import functions
from .recorder import Unsuitable

#: The longest text of functions that LLVM is given. It takes a second for that, and far more for longer ones.
LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Given:
    """An output that is an input, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Shown:
    """An output that is a view of an input."""

    number: int
    shape: Shape
    strides: Shape
    offset: int
    #: Whether it has no history, whatever the input has.
    silent: bool


@dataclass(frozen=True, slots=True)
class Made:
    """An output in a buffer that the call makes, by its number."""

    number: int
    shape: Shape
    strides: Shape
    offset: int
    type: Any


Output = Given | Shown | Made


@dataclass(slots=True)
class Trace:
    """A program that can be called, with what becomes of its buffers."""

    captured: Captured
    executable: Executable
    outputs: list[Output]
    #: By the numbers of inputs, what they hold at the end; and which of them the program itself writes to.
    written: dict[int, Output]
    placed: Sequence[int]
    _direct: bool = False

    def prepare(self, inputs: int) -> None:
        """Have the C machine make the calls, if that can be."""
        buffers = self.executable.outputs
        self.executable.prepare(inputs, types_of([*self.outputs, *self.written.values()], buffers))
        made = [output.number for output in self.outputs if isinstance(output, Made)]
        self._direct = not self.written and not self.placed and made == list(range(len(self.outputs)))

    def __call__(self, inputs: list[Any]) -> Sequence[Any]:
        """The results of a call, of all inputs and held tensors."""
        buffers = self.executable(inputs)
        if self._direct and all([isinstance(b, TensorBase) for b in buffers]):
            return buffers
        for number in self.placed:
            begin_write(inputs[number])
        if self.written:
            write(self.written, inputs, buffers)
        return [result(output, inputs, buffers) for output in self.outputs]


def write(written: Mapping[int, Output], inputs: Sequence[Any], buffers: Sequence[Any]) -> None:
    """Write to inputs what they hold at the end."""
    with no_grad():
        for number, output in written.items():
            inputs[number].copy_(result(output, inputs, buffers))


def result(output: Output, inputs: Sequence[Any], buffers: Sequence[Any]) -> Any:
    if isinstance(output, Given):
        return inputs[output.number]
    if isinstance(output, Shown):
        tensor = inputs[output.number]
        tensor = tensor.detach() if output.silent else tensor
        return tensor.as_strided(output.shape, output.strides, tensor.storage_offset() + output.offset)
    found = buffers[output.number]
    if isinstance(found, TensorBase):
        return found
    return output.type.wrap(seen(found, output.shape, output.strides, output.offset))


def seen(buffer: Any, shape: Shape, strides: Shape, offset: int) -> Any:
    """What a view of a contiguous buffer shows."""
    if buffer.shape == shape and not offset and strides == contiguous(shape):
        return buffer
    step = buffer.itemsize
    flat = buffer.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(flat, shape, tuple([s * step for s in strides]))


def types_of(outputs: Sequence[Output], buffers: Sequence[Any]) -> list[Any]:
    """Of each buffer the Type of the only output that it is, as it is; else None."""
    found: list[Any] = []
    for number, (shape, _) in enumerate(buffers):
        own = [o for o in outputs if isinstance(o, Made) and o.number == number]
        plain = len(own) == 1 and own[0].shape == shape and not own[0].offset
        found.append(own[0].type if plain and own[0].strides == contiguous(shape) else None)
    return found


def traced(graph: Graph, tensors: Sequence[Any], outputs: Sequence[Any], written: Sequence[int]) -> Trace:
    """The trace of a graph, of examples of its inputs and constants, and of outputs.

    The graph's last outputs are written to the inputs of the numbers ``written``. Unsuitable where there can
    be none.
    """
    values = [*graph.inputs, *[c.value for c in graph.constants]]
    found = captured(graph, list(zip(values, tensors, strict=True)))
    layout, views = Layout(found, tensors), iter(found.outputs)
    described = [layout.output(next(views), tensor) for tensor in outputs]
    _check_aliases(described, outputs)
    last = dict(zip(written, views, strict=True))
    wanted = {node: n for n, view in last.items() if (node := layout.whole(view, tensors[n])) is not None}
    at_end = {n: layout.final(view, tensors[n]) for n, view in last.items() if n not in wanted.values()}
    schedule = Schedule(live(found.program.nodes, [*layout.nodes, *wanted]))
    placed = in_place(schedule, {node: n for node, n in wanted.items() if node not in layout.nodes})
    for node, n in wanted.items():
        if node not in placed:
            at_end[n] = layout.final(last[n], tensors[n])
    executable = made(schedule, layout.nodes, layout.shapes, placed)
    trace = Trace(found, executable, described, at_end, [wanted[node] for node in placed])
    trace.prepare(len(tensors))
    return trace


def shown(tensor: Any, inputs: Sequence[Any]) -> Given | Shown | None:
    """What a tensor is of the inputs, if it is one of them or a view of one."""
    for number, given in enumerate(inputs):
        if given is tensor:
            return Given(number)
    for number, given in enumerate(inputs):
        if storage_of(given) is storage_of(tensor):
            if given.dtype is not tensor.dtype:
                raise Unsuitable("a result shows an input as another dtype")
            begin = tensor.storage_offset() - given.storage_offset()
            return Shown(number, tuple(tensor.shape), strides_of(tensor), begin, not tensor._requires_grad)
    return None


def made(
    schedule: Schedule,
    outputs: Sequence[Node],
    shapes: Sequence[Shape],
    given: Mapping[Node, Slot] | None = None,
    size: int = 0,
) -> Executable:
    """The executable of a schedule, of which the buffers of these nodes are outputs, in these shapes.

    ``given`` has the slots of other nodes; one more output of ``size`` bytes, if any.
    """
    library, imports = blas()
    text = module(schedule, outputs, trials().routines, library, given)
    debug.note([node for group in schedule.groups for node in group.nodes], text)
    if len(text.text) > LONGEST:
        raise Unsuitable("its program is too long to compile in a short time")
    buffers = [(shape, np.dtype(node.dtype)) for node, shape in zip(outputs, shapes, strict=True)]
    if size:
        buffers.append(((size,), np.dtype(np.uint8)))
    return Executable(text, functions(text, imports), outputs, buffers)


class Layout:
    """The buffers of outputs, each of a node, that lie as the function's own results do.

    Where they may be ``dense``, as gradients may, they are so in place of gaps.
    """

    def __init__(self, found: Captured, inputs: Sequence[Any], dense: bool = False) -> None:
        self.program, self.inputs, self.dense = found.program, inputs, dense
        self.nodes: list[Node] = []
        self.shapes: list[Shape] = []
        self._storages: dict[Node, int] = {}

    def output(self, view: View, tensor: Any) -> Output:
        """What becomes of an output, which is to lie as a tensor does."""
        found = shown(tensor, self.inputs)
        if found is not None:
            return found
        return self.final(view, tensor)

    def whole(self, view: View, tensor: Any) -> Node | None:
        """The node whose buffer is all that a tensor is to hold, in its order; None if there is none."""
        shape, strides = tuple(tensor.shape), strides_of(tensor)
        fits = view.is_whole and strides == contiguous(shape) and self._lies(view, shape, strides)
        return view.node if fits and not self._is_taken(view.node, tensor) else None

    def final(self, view: View, tensor: Any) -> Output:
        """What is made in a buffer, to lie as a tensor does."""
        shape, strides = tuple(tensor.shape), strides_of(tensor)
        if not self._lies(view, shape, strides) or self._is_taken(view.node, tensor):
            return self._copied(view, tensor, shape, strides)
        number = self.buffer(view.node, shape if view.is_whole else view.node.shape)
        return Made(number, shape, strides, view.offset, tensor._type)

    def buffer(self, node: Node, shape: Shape) -> int:
        """The number of a node's buffer, made in a shape."""
        if node not in self.nodes:
            self.nodes.append(node)
            self.shapes.append(shape)
        return self.nodes.index(node)

    def _lies(self, view: View, shape: Shape, strides: Shape) -> bool:
        if isinstance(view.node, Fill | Places | Table | Input):
            return False
        return all([a == b or n == 1 for a, b, n in zip(view.strides, strides, shape, strict=True)])

    def _is_taken(self, node: Node, tensor: Any) -> bool:
        """Whether another output, of other memory, has the node's buffer."""
        storage = id(storage_of(tensor))
        return self._storages.setdefault(node, storage) != storage

    def _copied(self, view: View, tensor: Any, shape: Shape, strides: Shape) -> Output:
        """An output in a buffer of its own, in the order in which the tensor lies in memory."""
        order = sorted(range(len(shape)), key=lambda d: -strides[d] if shape[d] != 1 else 0)
        physical = tuple([shape[d] for d in order])
        dense = dict(zip(order, contiguous(physical), strict=True))
        if 0 not in shape and any([dense[d] != strides[d] and shape[d] != 1 for d in order]):
            if not self.dense:
                raise Unsuitable("a result lies in memory with gaps, or twice in one place")
            strides = tuple([dense[d] for d in range(len(shape))])
        turned = view.with_shape(physical, tuple([view.strides[d] for d in order]))
        node = _unique(self.program, turned)
        self._storages[node] = id(storage_of(tensor))
        return Made(self.buffer(node, physical), shape, strides, 0, tensor._type)


def _unique(program: Any, view: View) -> Node:
    """A node that copies a view, which no other output has."""
    known = dict(program._known)
    program._known.clear()
    node: Node = program.copied(view).node
    program._known.update(known)
    return node


def _check_aliases(outputs: Sequence[Output], tensors: Sequence[Any]) -> None:
    """Unsuitable where results share memory that their buffers do not share."""
    storages: dict[int, Any] = {}
    for output, tensor in zip(outputs, tensors, strict=True):
        home = (isinstance(output, Made), output.number)
        if storages.setdefault(id(storage_of(tensor)), home) != home:
            raise Unsuitable("results are views of one memory")


__all__ = ["Given", "Made", "Shown", "Trace", "made", "seen", "traced"]
