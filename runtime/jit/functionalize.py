"""Graphs without writes: in-place operators as functional ones, also where they write through views.

The graph is run once more, on values that nobody writes to, and recorded. A tensor that the program
writes to is a name that stands for one value after another; its views are made anew from the value
that it stands for, and a write to a view becomes, by the view's ``write_back`` rule, a new value of
what it is a view of.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.protocols import Operator
from ..core.user_stack import program_stacklevel
from ..dispatch.functional_variant import functional_variant
from ..dispatch.operator import operator as find_operator
from ..tensors.tensor import Tensor
from .graph import Graph, Node, Value, replaced, values_in, walk, writes
from .interpreter import bound
from .tracer import Tracer, TracerWarning


def functionalized(
    graph: Graph, inputs: Sequence[Tensor], keep: Callable[[Node], bool] | None = None
) -> Graph:
    """The graph as one without in-place and out variants; ``inputs`` are examples.

    Nodes for which ``keep`` says so stay whole where the writes allow it, the others with bodies are put
    out for these. Inputs and constants that the program writes to are left as they are, with a
    TracerWarning. RuntimeError for a write through what has no ``write_back`` rule.
    """
    keep = keep or (lambda node: False)
    written = {v.storage for node in graph.walk() if writes(node) for v in _targets(node)}
    if not written:
        return graph.inlined(keep)
    whole = keep
    flat = graph.inlined(lambda node: whole(node) and not _hides(node, written))
    result = _Run(flat, written).run(inputs)
    return result.inlined(keep)


def with_final_values(graph: Graph, inputs: Sequence[Tensor]) -> tuple[Graph, list[Value]]:
    """The graph without writes and bodies, and which inputs and constants it wrote to.

    What these hold at the end are further outputs, in that order. RuntimeError for a write through what has
    no ``write_back`` rule.
    """
    written = {v.storage for node in graph.walk() if writes(node) for v in _targets(node)}
    run = _Run(graph.inlined(), written)
    result = run.run(inputs, final=True)
    return result.inlined(), run.changed()


def _targets(node: Node) -> list[Value]:
    """What a node writes to."""
    return list(values_in([node.arguments[i] for i in node.operator.written]))


def _hides(node: Node, written: set[object]) -> bool:
    """Whether a node with a body writes to memory of its inputs, or gives a view of what is written to."""
    outside = {v.storage for v in node.inputs} & written
    if any(v.storage in outside for v in node.outputs):
        return True
    return any(
        writes(inner) and any(v.storage in outside for v in _targets(inner))
        for inner in walk(node.body or ())
    )


class _View:
    """How a value is made of another that shares its memory."""

    __slots__ = ("number", "operator", "parent", "rest")

    def __init__(self, operator: Operator, parent: Value, rest: tuple[Any, ...], number: int | None) -> None:
        self.operator = operator
        self.parent = parent
        self.rest = rest
        self.number = number  # of the result, where there are several


class _Run:
    """One run of a graph, recorded."""

    def __init__(self, graph: Graph, written: set[object]) -> None:
        self.graph = graph
        self.written = written
        self.tensors: dict[Value, Tensor] = {}
        self.views: dict[Value, _View] = {}
        self.roots: dict[object, Value] = {}
        self.counts: dict[object, int] = {}  # of the writes to a memory
        self.made: dict[Value, int] = {}  # by view: the count when it was made

    def run(self, inputs: Sequence[Tensor], final: bool = False) -> Graph:
        """The recorded graph; ``final`` asks for the values of ``changed`` as well, and warns of none."""
        graph = self.graph
        names = {id(c.tensor): c.value.name for c in graph.constants if c.value.name is not None}
        tracer = Tracer(names)
        for value, tensor in zip(graph.inputs, inputs, strict=True):
            own = tensor.detach()
            tracer.input(own, value.name or "input")
            self.define(value, own)
        for constant in graph.constants:
            self.define(constant.value, constant.tensor.detach() if constant.value.name is None
                        else constant.tensor)  # fmt: skip
        with no_grad(), tracer:
            recorded = tracer.frames[0].nodes
            for node in graph.nodes:
                tracer.place, before = node.source, len(recorded)
                self.node(node)
                for made in walk(recorded[before:]):
                    made.unrecorded = node.unrecorded
            outputs = [self.get(v) for v in graph.outputs]
            outputs += [self.get(v) for v in self.changed()] if final else []
            result = tracer.graph(outputs)
        if not final:
            self.warn()
        return result

    def changed(self) -> list[Value]:
        """The inputs and constants that the program has written to."""
        kept = {v.storage: v for v in (*self.graph.inputs, *[c.value for c in self.graph.constants])}
        return [v for storage, v in kept.items() if self.counts.get(storage)]

    def warn(self) -> None:
        """Say which inputs and constants keep their old values."""
        names = self.graph.names()
        changed = [names[v] for v in self.changed()]
        if changed:
            warnings.warn(
                f"The function writes to {', '.join(changed)}. What it writes is seen by what follows in it, "
                "but not after it: in the graph these tensors are not changed.",
                TracerWarning,
                stacklevel=program_stacklevel(),
            )

    # -- values

    def define(self, value: Value, tensor: Tensor) -> None:
        """A value that is no view."""
        self.tensors[value] = tensor
        if value.storage in self.written:
            if value.storage in self.roots:
                raise RuntimeError(
                    "jit: two of the inputs, constants and results share memory that is written to, and the "
                    "graph does not say how; clone() one of them"
                )
            self.roots[value.storage] = value
            self.counts[value.storage] = 0

    def get(self, value: Value) -> Tensor:
        """What a value stands for now."""
        view = self.views.get(value)
        if view is None or self.made[value] == self.counts[value.storage]:
            return self.tensors[value]
        result = view.operator(self.get(view.parent), *replaced(view.rest, self.get))
        tensor: Tensor = result if view.number is None else result[view.number]
        self.tensors[value] = tensor
        self.made[value] = self.counts[value.storage]
        return tensor

    # -- nodes

    def node(self, node: Node) -> None:
        if writes(node):
            self.write(node)
            return
        result = node.operator(*replaced(node.arguments, self.get))
        self.bind(node, node.operator, node.arguments, result)

    def bind(self, node: Node, operator: Operator, arguments: tuple[Any, ...], result: Any) -> None:
        """Give the node's results their tensors, and note those that are views."""
        single = isinstance(node.result, Value)
        for number, (value, tensor) in enumerate(bound(node.result, result)):
            parent = self._shares(value, arguments)
            if parent is None:
                self.define(value, tensor)
                continue
            self.views[value] = _View(operator, parent, arguments[1:], None if single else number)
            self.tensors[value] = tensor
            self.made[value] = self.counts[value.storage]

    def _shares(self, value: Value, arguments: tuple[Any, ...]) -> Value | None:
        """The argument whose memory a result shares, if that is written to."""
        if value.storage not in self.written:
            return None
        return next((v for v in values_in(arguments) if v.storage is value.storage), None)

    def write(self, node: Node) -> None:
        """Run the functional operator, and make its result what the target stands for."""
        arguments = node.arguments
        targets = _targets(node)
        if node.operator.out:
            arguments = arguments[:-1]
        functional = _functional(node, tuple(replaced(arguments, self.get)))
        if functional.kind == "view":  # only the geometry changes: t_, unsqueeze_
            result = functional(*replaced(arguments, self.get))
            self.bind(node, functional, arguments, result)
            return
        result = functional(*replaced(arguments, self.get))
        results = result if isinstance(result, (list, tuple)) else (result,)
        for target, out, tensor in zip(targets, node.outputs, results, strict=True):
            self.store(target, self._fitted(target, out, tensor), node)
            # The target itself came back.
            self.views[out] = _View(find_operator("alias"), target, (), None)
            self.tensors[out] = self.get(target)
            self.made[out] = self.counts[out.storage]

    def _fitted(self, target: Value, out: Value, tensor: Tensor) -> Tensor:
        """A result as what the target would hold of it."""
        if tensor.dtype is not target.dtype:
            tensor = tensor.to(target.dtype)
        return tensor if tuple(tensor.shape) == out.shape else tensor.expand(out.shape)

    def store(self, target: Value, tensor: Tensor, node: Node) -> None:
        """Make ``tensor`` what the target stands for, and so what it is a view of."""
        view = self.views.get(target)
        if view is None:
            self.tensors[target] = tensor
            self.counts[target.storage] += 1
            return
        from tengen.generated.write_backs import WRITE_BACKS

        rule = WRITE_BACKS.get(view.operator.name)
        if rule is None:
            raise RuntimeError(
                f"jit: {node.operator.name}, called at {node.source}, writes to the result of "
                f"{view.operator.name}, which has no write_back rule; clone() it before"
            )
        given: Any = tensor
        if view.number is not None:
            parts = list(view.operator(self.get(view.parent), *replaced(view.rest, self.get)))
            parts[view.number] = tensor
            given = parts
        self.store(view.parent, rule(self.get(view.parent), *replaced(view.rest, self.get), given), node)


def _functional(node: Node, arguments: tuple[Any, ...]) -> Operator:
    """The operator that computes what the node writes; RuntimeError where there is none."""
    found = functional_variant(node.operator, arguments)
    if found is not None:
        return found
    raise RuntimeError(
        f"jit: {node.operator.name}, called at {node.source}, has no functional variant, so the graph "
        "cannot be written without writes"
    )
