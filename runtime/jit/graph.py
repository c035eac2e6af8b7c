"""Graphs of operators: what a trace records, prints, and is run and exported from.

A Graph has typed Values and Nodes, each a call of a declared operator. The node of an operator
that is made of others has these in its body, so that one graph is the program as the user wrote
it and, level by level, what it is made of. A body uses the values of the graphs around it by
their names; it has no parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from ..core.protocols import Operator
from ..core.scalar_type import dtype as DType


@dataclass(frozen=True, slots=True)
class Source:
    """Where the user's program called an operator."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def short(self) -> str:
        """The place without the file's folder."""
        return f"{PurePath(self.file).name}:{self.line}"


@dataclass(eq=False, slots=True)
class Value:
    """A tensor of a graph: its type, and what it is called when it has a name of its own."""

    dtype: DType
    shape: tuple[int, ...]
    name: str | None = None
    #: Whether it follows from the graph's inputs (or from chance), and not from constants alone.
    varies: bool = True
    #: The memory it lies in: values that share some have the same.
    storage: object = field(default_factory=object)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def type_text(self) -> str:
        """The scalar type and the shape, as ``Float(3, 4)``."""
        return f"{self.dtype.type_name}({', '.join(map(str, self.shape))})"


@dataclass(eq=False, slots=True)
class Constant:
    """A tensor that the program uses without computing it from its inputs: a parameter, a table."""

    value: Value
    tensor: Any
    #: Whether its name was given by the user.
    named: bool = False


@dataclass(eq=False, slots=True)
class Node:
    """A call of an operator.

    ``arguments`` are complete and in the schema's order, with Values where tensors stand.
    ``result`` is what the call returned, likewise: a Value, or a tuple or list of them.
    """

    operator: Operator
    arguments: tuple[Any, ...]
    result: Any
    source: Source | None = None
    #: What it is made of, when it is made of other operators.
    body: list[Node] | None = None
    #: What the call returned, in the values of the body.
    inner: Any = None
    #: Whether it drew random numbers.
    random: bool = False
    #: Whether it was called where operators record nothing for gradients.
    unrecorded: bool = False

    @property
    def inputs(self) -> list[Value]:
        """The values among the arguments."""
        return list(values_in(self.arguments))

    @property
    def outputs(self) -> list[Value]:
        """The values of the result."""
        return list(values_in(self.result))


def values_in(structure: Any) -> Iterator[Value]:
    """The Values in nested lists and tuples."""
    if isinstance(structure, Value):
        yield structure
    elif isinstance(structure, (list, tuple)):
        for part in structure:
            yield from values_in(part)


def replaced(structure: Any, put: Callable[[Value], Any]) -> Any:
    """The structure with ``put(value)`` in each Value's place."""
    if isinstance(structure, Value):
        return put(structure)
    if isinstance(structure, tuple):
        parts = [replaced(part, put) for part in structure]
        return type(structure)(parts) if not hasattr(structure, "_fields") else tuple(parts)
    if isinstance(structure, list):
        return [replaced(part, put) for part in structure]
    return structure


@dataclass(eq=False, slots=True)
class Graph:
    """A program of operators: ``inputs`` and ``constants`` in, ``outputs`` out.

    ``str(graph)`` is its text, as PyTorch prints graphs.
    """

    inputs: list[Value]
    constants: list[Constant]
    nodes: list[Node]
    outputs: list[Value]

    def __str__(self) -> str:
        from .text import graph_text

        return graph_text(self)

    def walk(self) -> Iterator[Node]:
        """All nodes, those of bodies behind the node that they are in."""
        return walk(self.nodes)

    def inlined(self, keep: Callable[[Node], bool] | None = None) -> Graph:
        """The graph with the nodes that have bodies put out for what they are made of.

        Those for which ``keep`` says so stay whole. In-place and out variants have no bodies.
        """
        names = _Renaming()
        nodes = list(_inlined(self.nodes, keep or (lambda node: False), names))
        return Graph(self.inputs, self.constants, nodes, [names(v) for v in self.outputs]).pruned_constants()

    def opened(self, chosen: Callable[[Node], bool]) -> Graph:
        """The graph with the chosen nodes, wherever they are, put out for their bodies."""
        names = _Renaming()
        nodes = list(_opened(self.nodes, chosen, names))
        nodes = [_renamed(n, names) for n in nodes]
        return Graph(self.inputs, self.constants, nodes, [names(v) for v in self.outputs])

    def pruned_constants(self) -> Graph:
        """The graph without the constants that nothing in it uses."""
        used = {id(v) for node in self.walk() for v in (*node.inputs, *values_in(node.inner))}
        used |= {id(v) for v in self.outputs}
        kept = [c for c in self.constants if id(c.value) in used]
        return Graph(self.inputs, kept, self.nodes, self.outputs)

    def without_bodies(self) -> Graph:
        """The graph with every node as one call, whatever it is made of."""
        nodes = [replace(n, body=None, inner=None) if n.body is not None else n for n in self.nodes]
        return Graph(self.inputs, self.constants, nodes, self.outputs).pruned_constants()

    def without_dead(self) -> Graph:
        """The graph without the nodes that no output needs. It must not have any that write."""
        needed = set(self.outputs)
        kept = []
        for node in reversed(self.nodes):
            if any(v in needed for v in node.outputs):
                kept.append(node)
                needed.update(node.inputs)
                for inner in walk(node.body or ()):
                    needed.update(inner.inputs)
        return Graph(self.inputs, self.constants, kept[::-1], self.outputs).pruned_constants()

    def names(self) -> Mapping[Value, str]:
        """What each value is called: its own name, else a number; all differ."""
        return named(self)


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes and those of their bodies, in the order of the calls."""
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if node.body:
            waiting.extend(reversed(node.body))


def writes(node: Node) -> bool:
    """Whether the node itself, not what is in its body, changes one of its arguments."""
    return (node.operator.base is not None or node.operator.kind == "mutating") and node.body is None


class _Renaming:
    """Values that stand for others."""

    def __init__(self) -> None:
        self.other: dict[Value, Value] = {}

    def __call__(self, value: Value) -> Value:
        while value in self.other:
            value = self.other[value]
        return value

    def apply(self, structure: Any) -> Any:
        return replaced(structure, self)


def _inlined(nodes: Iterable[Node], keep: Callable[[Node], bool], names: _Renaming) -> Iterator[Node]:
    for node in nodes:
        if node.body is not None and not keep(node):
            yield from _inlined(node.body, keep, names)
            for outer, inner in zip(node.outputs, values_in(node.inner), strict=True):
                if names(inner) is not outer:
                    names.other[outer] = names(inner)
            continue
        arguments = names.apply(node.arguments)
        same = all(a is b for a, b in zip(values_in(arguments), values_in(node.arguments), strict=True))
        if same and (node.body is None or not names.other):
            yield node
        else:
            inner = names.apply(node.inner)
            body = None if node.body is None else [_renamed(n, names) for n in node.body]
            yield replace(node, arguments=arguments, body=body, inner=inner)


def _opened(nodes: Iterable[Node], chosen: Callable[[Node], bool], names: _Renaming) -> Iterator[Node]:
    for node in nodes:
        if node.body is None:
            yield node
            continue
        body = list(_opened(node.body, chosen, names))
        if chosen(node):
            yield from body
            for outer, inner in zip(node.outputs, values_in(node.inner), strict=True):
                names.other[outer] = inner
        else:
            yield replace(node, body=body)


def _renamed(node: Node, names: _Renaming) -> Node:
    body = None if node.body is None else [_renamed(n, names) for n in node.body]
    arguments, inner = names.apply(node.arguments), names.apply(node.inner)
    return replace(node, arguments=arguments, body=body, inner=inner)


def named(graph: Graph) -> dict[Value, str]:
    """What each value of a graph is called: its name, or a number that no other has."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    count = 0

    def give(value: Value) -> None:
        nonlocal count
        if value in names:
            return
        name = value.name
        if name is None:
            while str(count) in taken:
                count += 1
            name = str(count)
            count += 1
        elif name in taken:
            number = 1
            while f"{name}.{number}" in taken:
                number += 1
            name = f"{name}.{number}"
        taken.add(name)
        names[value] = name

    for value in (*graph.inputs, *[c.value for c in graph.constants]):
        give(value)
    for node in (*graph.nodes, *graph.walk()):
        for value in node.outputs:
            give(value)
    return names
