"""Traced functions as files: the graph as plain data, beside the tensors that are its constants.

A file is what ``tengen.save`` writes of dicts, lists, numbers, strings and tensors, and is read as such: one
of unknown origin can run no code but the operators that its graph names.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from typing import IO, Any, TypeVar

from ..core.device import device as Device
from ..core.memory_format import CONSTANTS, layout, memory_format
from ..core.scalar_type import dtype as DType
from ..dispatch.operator import operator
from ..serialization import load as load_data, save as save_data
from ..tensors.tensor import Tensor
from ..utils.pytree import TreeSpec, tree_flatten, tree_unflatten
from .graph import Constant, Graph, Node, Source, Value, values_in
from .trace import TracedFunction

File = str | os.PathLike[str] | IO[bytes]

T = TypeVar("T")

_FORMAT = "tengen.jit 1"
_PLAIN = (type(None), bool, int, float, complex, str)


class LoadError(pickle.UnpicklingError, RuntimeError):
    """A file is no traced function, is damaged, or calls operators that there are not."""

    __module__ = "tengen.jit"


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

    Raises ``pickle.UnpicklingError`` for a file that holds anything else than data, and ``LoadError``, which
    is one and a RuntimeError, for other data, and for a graph with an operator that is not declared here.
    """
    found = load_data(f, map_location)
    if type(found) is not dict or found.get("format") != _FORMAT:
        raise LoadError("jit.load: the file was not written by tengen.jit.save")
    try:
        record = _record(found, _FUNCTION, "a function")
        return _Reader(record["values"]).function(record)
    except LoadError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {str(error)[:200]}"
        raise LoadError(f"jit.load: the file is damaged: {text}") from error


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

_FUNCTION = {
    "format": str, "name": str, "takes": tuple, "gives": object, "plain": dict, "inputs": list,
    "constants": list, "nodes": list, "outputs": list, "values": list,
}  # fmt: skip
_NODE = {
    "operator": str, "arguments": tuple, "result": object, "source": object, "body": object, "inner": object,
    "random": bool,
}  # fmt: skip


def _need(holds: bool, what: str) -> None:
    if not holds:
        raise LoadError(f"jit.load: the file has {what}")


def _record(given: Any, fields: dict[str, type], what: str) -> dict[str, Any]:
    """``given``, which must be a dict of these fields and their types."""
    _need(
        type(given) is dict and given.keys() == fields.keys(),
        f"{what} without the fields that it should have",
    )
    for name, kind in fields.items():
        right = kind is object or type(given[name]) is kind
        _need(right, f"{what} whose {name!r} is a {type(given[name]).__name__}, not a {kind.__name__}")
    found: dict[str, Any] = given
    return found


def _is(given: Any, *kinds: type) -> bool:
    """Whether it is a tuple of items of exactly these types."""
    return type(given) is tuple and [type(part) for part in given] == [*kinds]


class _Reader:
    """Makes the values that were written, and of their numbers the rest.

    What is read is refused unless it has the form that the writer gives it. No container may be met twice:
    a few that contain one another would be a graph of any size.
    """

    def __init__(self, values: list[Any]) -> None:
        storages: dict[int, object] = {}
        self.values: list[Value] = []
        #: The values known where the reader is, in the order in which they were made.
        self.defined: dict[Value, None] = {}
        self.met: set[int] = set()
        for given in values:
            _need(type(given) is tuple and len(given) == 5, "a value that is no value")
            kind, shape, name, varies, storage = given
            sizes = type(shape) is tuple and all([type(n) is int and n >= 0 for n in shape])
            words = (name is None or type(name) is str) and type(varies) is bool and type(storage) is int
            _need(type(kind) is DType and sizes and words, "a value that is no value")
            self.values.append(Value(kind, shape, name, varies, storages.setdefault(storage, object())))

    def value(self, number: Any) -> Value:
        right = type(number) is int and 0 <= number < len(self.values)
        _need(right, f"the number of a value that it has not: there are {len(self.values)}")
        found: Value = self.values[number]
        return found

    def define(self, number: Any) -> Value:
        value = self.value(number)
        self.defined[value] = None
        return value

    def once(self, container: Any) -> None:
        """Refuse a container that was met before."""
        _need(not container or id(container) not in self.met, "a container in two places")
        self.met.add(id(container))

    def function(self, found: dict[str, Any]) -> TracedFunction:
        takes, gives = self.structure(found["takes"]), self.structure(found["gives"])
        _need(_is(found["takes"], tuple, dict), "inputs that are no arguments")
        plain = found["plain"]
        _need(all([type(i) is int and 0 <= i < takes.num_leaves for i in plain]), "inputs of other numbers")
        counts = len(found["inputs"]) + len(plain), len(found["outputs"])
        _need(counts == (takes.num_leaves, gives.num_leaves), "inputs or outputs in another number")
        graph = Graph(
            [self.define(i) for i in found["inputs"]],
            [self.constant(given) for given in found["constants"]],
            [self.node(node) for node in found["nodes"]],
            [self.used(self.value(i)) for i in found["outputs"]],
        )
        return TracedFunction(
            graph, found["name"], takes, gives, {i: self.data(value) for i, value in plain.items()}
        )

    def structure(self, tree: Any) -> TreeSpec:
        """What the writer made of a structure: its leaves are the numbers from 0 on."""
        for part in _containers(tree):
            _need(type(part) in (tuple, list, dict), f"a {type(part).__name__} as part of an input or result")
            self.once(part)
        leaves, spec = tree_flatten(tree)
        _need(leaves == [*range(len(leaves))], "an input or result without a number")
        return spec

    def constant(self, given: Any) -> Constant:
        _need(_is(given, int, Tensor, bool, bool), "a constant that is no tensor")
        number, tensor, wants, named = given
        value = self.define(number)
        same = tensor.dtype is value.dtype and tuple(tensor.shape) == value.shape
        _need(same, "a constant of another type than its value")
        return Constant(value, tensor.requires_grad_(wants), named)

    def node(self, given: Any) -> Node:
        self.once(given)
        found = _record(given, _NODE, "a node")
        name, source, body, random = (found[key] for key in ("operator", "source", "body", "random"))
        try:
            called = operator(name)
        except KeyError:
            raise LoadError(
                f"jit.load: the graph calls {name[:200]}, an operator that is not declared; is it one "
                "of a library that is to be imported first?"
            ) from None
        arguments = self.used(self.data(found["arguments"]))
        takes = len(called.parameters)
        right = type(arguments) is tuple and len(arguments) == takes
        _need(right, f"a call of {name}, which takes {takes} arguments, with others")
        _need(source is None or _is(source, str, int, str), "a source that is no place")
        _need(body is None or type(body) is list, "a body that is no list")
        inner, nodes, count = self.data(found["inner"]), None, len(self.defined)
        if body is not None:
            nodes = [self.node(node) for node in body]
            self.used(inner)
            while len(self.defined) > count:  # what a body makes is known in it alone
                self.defined.popitem()
        result = self.data(found["result"])
        self.defined.update(dict.fromkeys(values_in(result)))
        return Node(called, arguments, result, source and Source(*source), nodes, inner, random)

    def used(self, structure: T) -> T:
        """``structure``, whose values must be known by now."""
        _need(
            all([v in self.defined for v in values_in(structure)]), "a value that is used before it is made"
        )
        return structure

    def data(self, given: Any) -> Any:
        """What ``_Writer.data`` was given."""
        if type(given) in _PLAIN:
            return given
        self.once(given)
        _need(type(given) is tuple and len(given) == 2, "an argument that is none")
        kind, content = given
        if kind == "value":
            return self.value(content)
        if kind in ("list", "tuple") and type(content) is list:
            self.once(content)
            parts = [self.data(part) for part in content]
            return parts if kind == "list" else tuple(parts)
        if kind == "itself" and type(content) in (DType, Device):
            return content
        if kind == "constant" and type(content) is str:
            _need(content in CONSTANTS, f"a constant {content[:200]!r}, which there is not")
            return CONSTANTS[content]
        raise LoadError("jit.load: the file has an argument that is none")
