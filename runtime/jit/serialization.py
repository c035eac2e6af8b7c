"""Traced functions as files: the graph as plain data, beside the tensors that are its constants.

A file is what ``tengen.save`` writes of dicts, lists, numbers, strings and tensors, and is read as such: one
of unknown origin can run no code but the operators that its graph names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO, Any

import tengen
from tengen.device import device as Device
from tengen.jit.graph import Constant, Graph, Node, Source, Value
from tengen.jit.trace import TracedFunction
from tengen.memory_format import layout, memory_format
from tengen.operator import operator
from tengen.scalar_type import dtype as DType
from tengen.serialization import load as load_data
from tengen.serialization import save as save_data
from tengen.utils.pytree import TreeSpec, tree_flatten, tree_unflatten

File = str | os.PathLike[str] | IO[bytes]

_FORMAT = "tengen.jit 1"
_PLAIN = (type(None), bool, int, float, complex, str)


def save(m: TracedFunction, f: File) -> None:
    """Write a traced function to a file, a path or a binary stream, for ``load``.

    Constants are written with their values. Raises TypeError for what is no traced function, and for one
    whose inputs or results are structures of other classes than tuple, list and dict, or whose calls have
    arguments that are no data, as generators are; nothing is written then.
    """
    if not isinstance(m, TracedFunction):
        raise TypeError(f"jit.save: expected a traced function, but got {type(m).__name__}")
    save_data(_Writer().function(m), f)


def load(f: File, map_location: Device | str | None = None) -> TracedFunction:
    """Read what ``save`` wrote; the constants are moved to ``map_location``.

    Raises RuntimeError for another file, and for a graph with an operator that is not declared here;
    ``pickle.UnpicklingError`` for a file that holds anything else than data.
    """
    found = load_data(f, map_location)
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise RuntimeError("jit.load: the file was not written by tengen.jit.save")
    return _Reader(found).function(found)


# -- writing ---------------------------------------------------------------------------------


class _Writer:
    """Numbers the values of a graph, and writes all else by these numbers."""

    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        self.storages: dict[int, int] = {}

    def function(self, traced: TracedFunction) -> dict[str, Any]:
        graph = traced.graph
        inputs = [self.number(v) for v in graph.inputs]
        constants = [(self.number(c.value), c.tensor.detach(), _wants(c), c.named) for c in graph.constants]
        nodes = [self.node(node) for node in graph.nodes]
        return {
            "format": _FORMAT,
            "name": traced.name,
            "takes": _structure(traced._takes),
            "gives": _structure(traced._gives),
            "plain": {i: self.data(v, f"input {i}") for i, v in traced._plain.items()},
            "inputs": inputs,
            "constants": constants,
            "nodes": nodes,
            "outputs": [self.number(v) for v in graph.outputs],
            "values": [self.value(v) for v in self.numbers],
        }

    def number(self, value: Value) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def value(self, value: Value) -> tuple[Any, ...]:
        storage = self.storages.setdefault(id(value.storage), len(self.storages))
        return (value.dtype, tuple(value.shape), value.name, value.varies, storage)

    def node(self, node: Node) -> dict[str, Any]:
        name, source = node.operator.name, node.source
        return {
            "operator": name,
            "arguments": self.data(node.arguments, name),
            "result": self.data(node.result, name),
            "source": None if source is None else (source.file, source.line, source.function),
            "body": None if node.body is None else [self.node(n) for n in node.body],
            "inner": self.data(node.inner, name),
            "random": node.random,
        }

    def data(self, given: Any, where: str) -> Any:
        """What stands in a graph as data; what is no plain value is a pair with its kind."""
        if isinstance(given, Value):
            return "value", self.number(given)
        if isinstance(given, (list, tuple)):
            kind = "list" if isinstance(given, list) else "tuple"
            return kind, [self.data(part, where) for part in given]
        if type(given) in _PLAIN:
            return given
        if isinstance(given, (DType, Device)):
            return "itself", given
        if isinstance(given, (layout, memory_format)):
            return "constant", str(given).rpartition(".")[2]
        raise TypeError(f"jit.save: {where} has an argument that cannot be saved, a {type(given).__name__}")


def _wants(constant: Constant) -> bool:
    wanted: bool = constant.tensor.requires_grad
    return wanted


def _structure(spec: TreeSpec) -> Any:
    """A structure with the numbers of its leaves in it."""
    tree = tree_unflatten(range(spec.num_leaves), spec)
    for part in _containers(tree):
        if type(part) not in (tuple, list, dict):
            raise TypeError(
                f"jit.save: a {type(part).__name__} is part of an input or result; only tuples, lists and "
                "dicts can be saved"
            )
    return tree


def _containers(tree: Any) -> Iterator[Any]:
    if type(tree) is int:
        return
    yield tree
    if type(tree) in (tuple, list, dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _containers(part)


# -- reading ---------------------------------------------------------------------------------


def _constant(name: str) -> Any:
    found = getattr(tengen, name, None)
    if not isinstance(found, (layout, memory_format)):
        raise RuntimeError(f"jit.load: the file names a constant {name!r}, which there is not")
    return found


class _Reader:
    """Makes the values that were written, and of their numbers the rest."""

    def __init__(self, found: dict[str, Any]) -> None:
        storages: dict[int, object] = {}
        self.values = [
            Value(kind, tuple(shape), name, varies, storages.setdefault(storage, object()))
            for kind, shape, name, varies, storage in found["values"]
        ]
        self.kinds: dict[str, Callable[[Any], Any]] = {
            "value": self.values.__getitem__,
            "list": lambda parts: [self.data(part) for part in parts],
            "tuple": lambda parts: tuple([self.data(part) for part in parts]),
            "itself": lambda given: given,
            "constant": _constant,
        }

    def function(self, found: dict[str, Any]) -> TracedFunction:
        graph = Graph(
            [self.values[i] for i in found["inputs"]],
            [
                Constant(self.values[i], tensor.requires_grad_(wants), named)
                for i, tensor, wants, named in found["constants"]
            ],
            [self.node(node) for node in found["nodes"]],
            [self.values[i] for i in found["outputs"]],
        )
        takes, gives = tree_flatten(found["takes"])[1], tree_flatten(found["gives"])[1]
        plain = {i: self.data(value) for i, value in found["plain"].items()}
        return TracedFunction(graph, found["name"], takes, gives, plain)

    def node(self, found: dict[str, Any]) -> Node:
        try:
            called = operator(found["operator"])
        except KeyError:
            raise RuntimeError(
                f"jit.load: the graph calls {found['operator']}, an operator that is not declared; is it one "
                "of a library that is to be imported first?"
            ) from None
        return Node(
            called,
            self.data(found["arguments"]),
            self.data(found["result"]),
            None if found["source"] is None else Source(*found["source"]),
            None if found["body"] is None else [self.node(node) for node in found["body"]],
            self.data(found["inner"]),
            found["random"],
        )

    def data(self, given: Any) -> Any:
        return self.kinds[given[0]](given[1]) if isinstance(given, tuple) else given
