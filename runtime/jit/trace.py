"""``tengen.jit.trace``: a function as the graph of the operators that it calls."""

from __future__ import annotations

import difflib
import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from ..core.user_stack import program_stacklevel
from ..tensors.tensor import Tensor
from ..utils.pytree import TreeSpec, tree_flatten, tree_unflatten
from .graph import Graph, Node, writes
from .interpreter import run_graph
from .text import code_text
from .tracer import Tracer, TracerWarning


class TracingCheckError(Exception):
    """The function calls other operators each time it is called."""

    __module__ = "tengen.jit"


class TracedFunction:
    """A function as the graph of operators that it called for its example inputs.

    Calling it with inputs of the same structure runs the graph; gradients flow through it. What the
    function decided by looking at sizes or elements is decided once and for all.
    """

    __module__ = "tengen.jit"

    def __init__(
        self, graph: Graph, name: str, takes: TreeSpec, gives: TreeSpec, plain: Mapping[int, Any]
    ) -> None:
        self.graph = graph
        self.name = name
        self._takes = takes
        self._gives = gives
        self._plain = plain  # the leaves of the inputs that are no tensors, by their numbers

    @property
    def code(self) -> str:
        """The graph as the text of a Python function."""
        return code_text(self.graph)

    @property
    def inlined_graph(self) -> Graph:
        """The graph with every operator that is made of others put out for these."""
        return self.graph.inlined()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the graph.

        TypeError for inputs of another structure than the examples had, or no Tensor where these had one;
        ValueError for another number, string or the like: that is a part of the graph.
        """
        leaves, structure = tree_flatten((args, keywords))
        if structure != self._takes:
            raise TypeError(
                f"{self.name}: it was traced for inputs of the structure {self._takes}, but got {structure}"
            )
        tensors = []
        for number, leaf in enumerate(leaves):
            if number not in self._plain:
                if not isinstance(leaf, Tensor):
                    raise TypeError(
                        f"{self.name}: input {number} must be a Tensor, but got {type(leaf).__name__}"
                    )
                tensors.append(leaf)
            elif not _equal(leaf, self._plain[number]):
                raise ValueError(
                    f"{self.name}: input {number} was {self._plain[number]!r} when it was traced, which is "
                    f"part of the graph; got {leaf!r}"
                )
        return tree_unflatten(run_graph(self.graph, tensors), self._gives)

    def save(self, f: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write it to a file, for ``tengen.jit.load``; see ``tengen.jit.save``."""
        from .serialization import save

        save(self, f)

    def __repr__(self) -> str:
        return f"<traced {self.name}: {len(self.graph.nodes)} operators>"


def _equal(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and bool(a == b))


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    *,
    example_kwarg_inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Tensor] | None = None,
    check_trace: bool = True,
    check_inputs: Sequence[Any] | None = None,
    check_tolerance: float = 1e-5,
) -> TracedFunction:
    """The function as the graph of the operators that it calls for ``example_inputs``.

    ``example_inputs`` is a tuple of arguments (or one tensor); they may be nested tuples, lists and
    dicts of tensors. Other tensors that the function uses become constants of the graph; those in
    ``parameters`` have names there. With ``check_trace`` the graph is run, for the examples and for
    each of ``check_inputs``, and its results are compared with the function's: a difference of more than
    ``check_tolerance`` is a TracerWarning, as are random operators and tensors whose elements become
    Python's. The function is traced once more for the examples: TracingCheckError when the graph differs.

    Raises RuntimeError for an input without tensors, and for results that are not tensors or containers
    of tensors.
    """
    args = _as_arguments(example_inputs)
    keywords = dict(example_kwarg_inputs or {})
    name = getattr(func, "__name__", type(func).__name__)
    traced = record(func, args, keywords, name, parameters)
    if check_trace:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Converting a tensor", TracerWarning)
            _check_graph(func, traced, args, keywords, parameters)
            for given in (args, *map(_as_arguments, check_inputs or ())):
                _check(func, traced, given, keywords, check_tolerance)
    return traced


def _as_arguments(inputs: Any) -> tuple[Any, ...]:
    if inputs is None:
        return ()
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def record(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    name: str,
    parameters: Mapping[str, Tensor] | None = None,
) -> TracedFunction:
    """The function, called once, as a graph."""
    for word, parameter in (parameters or {}).items():
        if not isinstance(parameter, Tensor):
            raise TypeError(f"trace: parameter {word!r} must be a Tensor, not {type(parameter).__name__}")
    leaves, takes = tree_flatten((args, keywords))
    tracer = Tracer({id(tensor): word for word, tensor in (parameters or {}).items()})
    plain: dict[int, Any] = {}
    paths = _paths(func, args, keywords)
    given: list[Any] = []
    for number, (leaf, path) in enumerate(zip(leaves, paths, strict=True)):
        if isinstance(leaf, Tensor):
            # A handle of its own, so that one tensor may be given for two inputs.
            leaf = leaf if id(leaf) not in tracer.values else leaf.clone()
            tracer.input(leaf, path)
        else:
            plain[number] = leaf
        given.append(leaf)
    again, words = tree_unflatten(given, takes)
    with tracer:
        result = func(*again, **words)
        outputs, gives = tree_flatten(result)
        for output in outputs:
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"trace: {name} returned a {type(output).__name__}: only tensors, and tuples, lists and "
                    "dicts of tensors can be output from traced functions"
                )
        graph = tracer.graph(outputs)
    return TracedFunction(graph, name, takes, gives, plain)


def _paths(func: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> list[str]:
    """What each leaf of the inputs is called: the parameter, and the way from there.

    The parameters of a module are those of its ``forward``.
    """
    try:
        parameters = list(inspect.signature(getattr(func, "forward", func)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for number, value in enumerate(args):
        name = parameters[number].name if number < len(parameters) else ""
        if name and parameters[number].kind is inspect.Parameter.VAR_POSITIONAL:
            parameters, name = parameters[:number], ""
        names += _below(name or f"input{number}", value)
    for name, value in keywords.items():
        names += _below(name, value)
    return names


def _below(name: str, value: Any) -> list[str]:
    """The names of a tree's leaves: ``name``, ``name.key``, ``name.0``."""
    children, _ = tree_flatten(value, is_leaf=lambda v: v is not value)
    if len(children) == 1 and children[0] is value:
        return [name]
    keys = list(value) if isinstance(value, dict) else range(len(children))
    return [n for key, child in zip(keys, children, strict=True) for n in _below(f"{name}.{key}", child)]


# -- checks -----------------------------------------------------------------------------------------


def _check_graph(
    func: Callable[..., Any],
    traced: TracedFunction,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    parameters: Mapping[str, Tensor] | None,
) -> None:
    """Trace again: TracingCheckError when that gives another graph."""
    if any(writes(node) for node in traced.graph.walk()):
        args, keywords = _copies((args, keywords))
    again = record(func, args, keywords, traced.name, parameters).graph
    first, second = str(traced.graph), str(again)
    if first == second:
        return
    lines = difflib.unified_diff(first.splitlines(), second.splitlines(), "first", "second", lineterm="")
    raise TracingCheckError(
        "Tracing failed sanity checks!\nERROR: Graphs differed across invocations!\n" + "\n".join(lines)
    )


def _check(
    func: Callable[..., Any],
    traced: TracedFunction,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    tolerance: float,
) -> None:
    """Warn where the graph does not do what the function does."""
    random = [node for node in traced.graph.walk() if node.random and not node.body]
    if random:
        _warn(
            "Trace had nondeterministic nodes. Did you forget to turn training off?"
            f" Nodes:{_listed(random)}\nThis may cause errors in trace checking. To disable trace checking, "
            "pass check_trace=False to tengen.jit.trace()"
        )
    if any(writes(node) for node in traced.graph.walk()):
        first, second = _copies((args, keywords)), _copies((args, keywords))
    else:
        first = second = (args, keywords)
    expected = tree_flatten(func(*first[0], **first[1]))[0]
    found = tree_flatten(traced(*second[0], **second[1]))[0]
    for number, (a, b) in enumerate(zip(expected, found, strict=True)):
        problem = _difference(a, b, tolerance)
        if problem:
            _warn(f"Output nr {number + 1}. of the traced function does not match the corresponding output "
                  f"of the Python function. Detailed error:\n{problem}")  # fmt: skip


def _copies(tree: Any) -> Any:
    """The tree with copies of its tensors: what runs may write into them."""
    leaves, structure = tree_flatten(tree)
    kept = [
        leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, Tensor) else leaf
        for leaf in leaves
    ]
    return tree_unflatten(kept, structure)


def _listed(nodes: list[Node]) -> str:
    shown = [f"\n\t{n.operator.name} called at {n.source}" for n in nodes[:10]]
    return "".join(shown) + ("\n\t..." if len(nodes) > 10 else "")


def _difference(a: Tensor, b: Tensor, tolerance: float) -> str:
    """What differs between two outputs; "" when nothing does."""
    if a.dtype is not b.dtype or a.shape != b.shape:
        return f"{a.dtype} of shape {list(a.shape)} became {b.dtype} of shape {list(b.shape)}"
    if a.is_meta or bool(a.detach().isclose(b.detach(), tolerance, tolerance, True).all()):
        return ""
    count = int(a.detach().isclose(b.detach(), tolerance, tolerance, True).logical_not().sum())
    return f"Tensor-likes are not close! Mismatched elements: {count} / {a.numel()}"


def _warn(text: str) -> None:
    warnings.warn(text, TracerWarning, stacklevel=program_stacklevel())
