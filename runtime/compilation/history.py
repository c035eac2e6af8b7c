"""History: the Node of a call, whose derivatives are a program of their own.

Forward and backward are traced together and cut: what is expensive and backward needs is kept, what is cheap
is computed again. A derivative of the derivative is that of the graph of operators, which any order has.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import prod
from typing import Any

from tengen.ir.expressions import Attribute, Call, Name, walk
from tengen.ir.fuse.memory import Home, Slot, packed
from tengen.ir.fuse.nodes import Arg, Checked, Fill, Input, Node, Places, Pointwise, Result, Table, View, live
from tengen.ir.fuse.schedule import Schedule

from ..autograd import grad
from ..autograd.grad_mode import enable_grad, grad_mode, no_grad
from ..jit.graph import Graph, Value, replaced
from ..jit.interpreter import bound
from ..random import Generator, default_generator
from .backward import CompiledBackward
from .capture import captured, trials
from .recorder import Recorded, Unsuitable, recorded
from .traces import Layout, Made, made, result, shown, types_of, write


def run(graph: Graph, tensors: Sequence[Any]) -> list[Any]:
    """The outputs of a graph, of its inputs and constants; what recorded nothing records nothing."""
    values: dict[Value, Any] = dict(
        zip([*graph.inputs, *[c.value for c in graph.constants]], tensors, strict=True)
    )
    for node in graph.nodes:
        arguments = replaced(node.arguments, values.__getitem__)
        with no_grad() if node.unrecorded else nullcontext():
            values.update(bound(node.result, node.operator(*arguments)))
    return [values[value] for value in graph.outputs]


class History:
    """The two programs of a call whose results have a history."""

    def __init__(
        self, graph: Graph, tensors: Sequence[Any], outputs: Sequence[Any], written: Sequence[int]
    ) -> None:
        """Of a graph, its inputs and constants, what the call gave, and ``written`` as ``traced`` has it.

        Unsuitable where it cannot be.
        """
        self.graph, self.targets = graph, written
        #: Whether numbers are drawn from the default generator; those of others cannot be drawn again.
        self.draws = any([node.random for node in graph.nodes])
        if any([isinstance(a, Generator) for node in graph.nodes for a in node.arguments]):
            raise Unsuitable("it draws from a generator of its own, and has a history")
        if any([tensors[number]._requires_grad for number in written]):
            raise Unsuitable("it writes to a tensor that has a history")
        self.wanted = [i for i, t in enumerate(tensors) if t._requires_grad]
        #: The outputs that show inputs; the others are those of the Node.
        self.shown = {i: found for i, t in enumerate(outputs) if (found := shown(t, tensors)) is not None}
        self.own = [i for i in range(len(outputs)) if i not in self.shown]
        #: Of these, the ones that have a history.
        self.recorded = [i for i in self.own if outputs[i]._requires_grad]
        self.recorded_shapes = tuple([outputs[i]._array.shape for i in self.recorded])
        self.recorded_types = tuple([outputs[i]._type for i in self.recorded])
        primals = [t.detach().requires_grad_(t._requires_grad) for t in tensors]
        given = [outputs[i].detach().contiguous().clone().fill_(1) for i in self.recorded]
        call, self.reached = self._joint(primals, given)
        assert call.graph is not None
        self.held = [c.tensor for c in call.graph.constants]
        values = [*call.graph.inputs, *[c.value for c in call.graph.constants]]
        self.captured = captured(call.graph, list(zip(values, (*primals, *given, *self.held), strict=True)))
        count, layout = len(self.own), Layout(self.captured, [*tensors, *given, *self.held])
        views = self.captured.outputs
        self.outputs = [
            layout.output(view, outputs[i]) for i, view in zip(self.own, views[:count], strict=True)
        ]
        ends = count + len(written)
        both = zip(written, views[count:ends], strict=True)
        self.written = {number: layout.final(view, tensors[number]) for number, view in both}
        self._cut(layout, views[ends:], call.leaves[ends:], len(primals), len(given))

    def _joint(self, primals: Sequence[Any], given: Sequence[Any]) -> tuple[Recorded, list[int]]:
        """The graph of the outputs and of the gradients, and the numbers of inputs that these are of."""
        reached: list[int] = []

        def joint(*leaves: Any) -> list[Any]:
            found = run(self.graph, leaves[: len(primals)])
            wanted = [leaves[i] for i in self.wanted]
            recorded_ = [found[i] for i in self.recorded]
            grads = grad(recorded_, wanted, list(leaves[len(primals) :]), allow_unused=True)
            reached[:] = [i for i, g in zip(self.wanted, grads, strict=True) if g is not None]
            last = found[len(found) - len(self.targets) :]
            if any([t._requires_grad for t in last]):
                raise Unsuitable("it writes what has a history")
            own = [found[i].detach() for i in self.own]
            return [*own, *last, *[g for g in grads if g is not None]]

        with enable_grad():
            call = recorded(joint, (*primals, *given), {}, [*primals, *given], watches=False)
        if call.graph is None:
            raise Unsuitable("; ".join(call.problems))
        return call, reached

    def _cut(
        self, layout: Layout, grads: Sequence[View], examples: Sequence[Any], primals: int, given: int
    ) -> None:
        program = self.captured.program
        late = {id(node) for node in program.inputs[primals : primals + given]}
        for node in program.nodes:
            if any([id(arg.node) in late for arg in node.args]):
                late.add(id(node))
        early = {id(node) for node in live(program.nodes, layout.nodes)}
        back = Layout(self.captured, [], dense=True)
        described = [back.output(view, tensor) for view, tensor in zip(grads, examples, strict=True)]
        needed = _kept(back.nodes, late, early)
        # What is an output, or a kernel's result, is an array of its own; all else shares one.
        kept = [node for node in needed if node in layout.nodes or isinstance(node, Result)]
        shared = [node for node in needed if node not in kept]
        forward = [*layout.nodes, *[node for node in kept if node not in layout.nodes]]
        self.places = [forward.index(node) for node in kept]
        shapes = [*layout.shapes, *[node.shape for node in forward[len(layout.nodes) :]]]
        places, size = packed(shared)
        at = {n: Slot(Home.OUTPUT, len(forward), place) for n, place in zip(shared, places, strict=True)}
        computed = live(program.nodes, [*forward, *shared])
        self.forward = made(Schedule(computed), forward, shapes, at, size)
        self.places += [len(forward)] if size else []
        self.given = program.inputs[primals : primals + given]
        count = len(program.inputs)
        nodes, roots, copies = _cloned(live(program.nodes, back.nodes), back.nodes, [*kept, *shared], count)
        number = count + len(kept)
        at = {copies[n]: Slot(Home.INPUT, number, place) for n, place in zip(shared, places, strict=True)}
        self.backward = made(Schedule(nodes), roots, back.shapes, at)
        self.grads = described
        outputs = [*self.outputs, *self.written.values()]
        types = types_of(outputs, self.forward.outputs)
        kept_places = {*self.places}
        self.forward.prepare(count, [None if i in kept_places else t for i, t in enumerate(types)])
        self.backward.prepare(count + len(self.places), types_of(described, self.backward.outputs))

    # -- calls

    def __call__(self, tensors: Sequence[Any]) -> list[Any]:
        """The results of a call."""
        found: Any = iter(self._made(tensors) if self.own else ())
        count = len(self.own) + len(self.shown)
        return [result(self.shown[i], tensors, ()) if i in self.shown else next(found) for i in range(count)]

    def _made(self, tensors: Sequence[Any]) -> list[Any]:
        """The results that are not shown, with their history."""
        node = CompiledBackward(self, tensors, default_generator.get_state() if self.draws else None)
        results, kept = self.forwards(tensors)
        both = zip(results, self.outputs, strict=True)
        node.keep(kept, [r for r, output in both if self.keeps(output)])
        for number, i in enumerate(self.recorded):
            out = results[self.own.index(i)]
            out._edge, out._requires_grad = (node, number), True
        return results

    def forwards(self, tensors: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs, and the buffers that backward needs."""
        buffers = self.forward([*tensors, *[None] * len(self.given), *self.held])
        if self.written:
            write(self.written, tensors, buffers)
        results = [result(output, tensors, buffers) for output in self.outputs]
        return results, [buffers[place] for place in self.places]

    def keeps(self, output: Any) -> bool:
        """Whether an output is in a buffer that backward reads."""
        return isinstance(output, Made) and output.number in self.places

    def backwards(self, inputs: Sequence[Any], kept: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """The gradients of what is ``reached``, of the arrays of inputs and what forward kept."""
        buffers = self.backward([*inputs, *grads, *self.held, *kept])
        return [result(output, (), buffers) for output in self.grads]

    def differentiable(self, tensors: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """The same as functions of inputs and gradients: those of the graph of operators."""
        wanted, recorded_ = [tensors[i] for i in self.wanted], grad_mode.enabled
        with enable_grad():
            results = run(self.graph, tensors)
            outputs = [results[i] for i in self.recorded]
            found = grad(outputs, wanted, list(grads), create_graph=recorded_, allow_unused=True)
        return [g for i, g in zip(self.wanted, found, strict=True) if i in self.reached]


def _kept(roots: Sequence[Node], late: set[int], early: set[int]) -> list[Node]:
    """What forward keeps: what backward needs of it that is not cheap to compute again."""
    found: dict[Node, None] = {}
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) in seen or isinstance(node, Input | Fill | Places | Table):
            continue
        seen.add(id(node))
        made_by = node.args[0].node if isinstance(node, Result) else node
        if id(node) not in late and id(made_by) in early and not _is_cheap(node):
            found[node] = None
        else:
            waiting += [arg.node for arg in node.args]
    return list(found)


def _is_cheap(node: Node) -> bool:
    """Whether a node is computed again rather than kept: arithmetic of single elements, which are at hand."""
    if isinstance(node, Checked):
        return True
    if not isinstance(node, Pointwise) or any([_is_gathered(arg, node) for arg in node.args]):
        return False
    routines = trials().routines
    for part in walk(node.expr):
        match part:
            case Call(Name(name) | Attribute(Name("xp"), name)) if name in routines:
                return False
    return True


def _is_gathered(arg: Arg, node: Node) -> bool:
    """Whether an operand would be computed in memory again, to be read from there: windows of it."""
    if not isinstance(arg.node, Pointwise) or arg.is_in_step(node.space):
        return False
    return prod(arg.node.shape) >= prod(node.space)


def _cloned(
    nodes: Sequence[Node], roots: Sequence[Node], kept: Sequence[Node], first: int
) -> tuple[list[Node], list[Node], dict[Node, Node]]:
    """Nodes and roots of them, where those that are kept are inputs, numbered from the first on; by nodes,
    what stands for them."""
    copies: dict[Node, Node] = {
        node: Input(node.shape, node.dtype, number=first + i) for i, node in enumerate(kept)
    }
    found: list[Node] = []
    for node in nodes:
        if node in copies:
            continue
        args = tuple([Arg(copies.get(a.node, a.node), a.strides, a.offset) for a in node.args])
        copies[node] = replace(node, args=args) if args != node.args else node
        found.append(copies[node])
    roots = [copies.get(node, node) for node in roots]
    return live(found, roots), list(roots), copies


__all__ = ["History"]
