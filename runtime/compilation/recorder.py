"""Recorder: a call of a function as a graph, with what of it no graph has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..autograd.grad_mode import grad_mode
from ..core.device import default_device
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import backend_of_device
from ..jit.functionalize import with_final_values
from ..jit.graph import Graph, Node, writes
from ..jit.tracer import Tracer
from ..nn.parameter import Buffer, Parameter
from ..random import Generator, default_generator
from ..tensors.tensor import Tensor
from ..utils.pytree import TreeSpec, tree_flatten
from .steps import Steps
from .watch import Watch

#: The classes of tensors that programs take and give: others do more than the operators say.
CLASSES = (Tensor, Parameter, Buffer)


class Unsuitable(Exception):
    """A call is not of the kind that programs repeat; the message says why."""


class Unrepeated(Exception):
    """A call did what another one does not, so that this one may be of a kind that programs repeat."""


class Recorder(Tracer):
    """A Tracer that notes why the graph would not do what the function does."""

    def __init__(self) -> None:
        super().__init__()
        self.problems: list[str] = []
        #: By ``id``, the tensors whose gradients were read or set, and these before.
        self.grads: dict[int, tuple[Any, Any]] = {}
        self.steps = Steps()
        #: By ``id``, the tensors that operators gave.
        self.made: set[int] = set()
        self._converts = True

    def on_conversion(self, tensor: Tensor, what: str) -> None:
        found = self.values.get(id(tensor)) or self.values.get(id(tensor._array))
        if self._converts and (found is None or found.varies):
            self.problems.append(f"the elements of a tensor become a {what}")

    def on_grad(self, tensor: Any) -> None:
        if not self.makes(tensor):
            self.grads.setdefault(id(tensor), (tensor, None if tensor._meta is None else tensor._meta.grad))

    def makes(self, tensor: Any) -> bool:
        """Whether an operator of the call made a tensor."""
        return id(tensor) in self.made

    def on_step(self, optimiser: Any, group: Any, counters: list[Any], numbers: Callable[..., Any]) -> Any:
        self._converts = False  # what is read of counters is read in each call
        count, step = len(self.steps.found), None
        try:
            step = self.steps.add(optimiser, group, counters, numbers)
        finally:
            self._converts = True
        if step is None:
            self.problems.append("the numbers of an optimiser's step are tensors")
            return None
        if len(self.steps.found) > count:
            self.input(step.tensor, f"step{count}")
        return step.choices, tuple(step.tensor.unbind())

    def _results(self, result: Any, varies: bool, node: Node) -> Any:
        if isinstance(result, TensorBase):
            problem = unsuitable(result)
            if problem:
                self.problems.append(f"{node.operator.name} gives {problem}")
            if self.values.get(id(result)) not in node.inputs:
                self.made.add(id(result))
        return super()._results(result, varies, node)


def unsuitable(tensor: Any) -> str:
    """What a tensor is that programs do not take; "" if they do."""
    if type(tensor) not in CLASSES:
        return f"a {type(tensor).__name__}"
    backend = tensor._type.backend
    if backend is not backend_of_device(default_device):
        return f"a tensor of {backend.name}"
    return "" if tensor._type.scalar_type.name in _DTYPES else f"a tensor of {tensor.dtype}"


#: The dtypes of what programs take, compute and give.
_DTYPES = frozenset(
    (
        *("bool", "uint8", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
)


@dataclass(slots=True)
class Recorded:
    """A call: what it gave, and the graph of it; ``problems`` say why it is not all that the call does."""

    result: Any
    graph: Graph | None
    leaves: list[Any]
    spec: TreeSpec | None
    watch: Watch
    problems: list[str] = field(default_factory=list)
    #: The tensors of the result, which are the graph's first outputs: of the function, each once.
    outputs: list[Tensor] = field(default_factory=list)
    #: The inputs and constants that it wrote to: the graph's last outputs are what they hold then.
    written: list[Any] = field(default_factory=list)
    #: Of tensors that were there before: which have another gradient now, what they had, and what they have.
    grads: list[tuple[Any, Any, Any]] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    #: Whether an operator of the call made a tensor.
    makes: Callable[[Any], bool] = bool


def recorded(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
    inputs: Sequence[Any],
    watches: bool = True,
) -> Recorded:
    """Call a function and record the operators on ``inputs``, tensors that differ."""
    recorder, watch = Recorder(), Watch()
    for number, tensor in enumerate(inputs):
        recorder.input(tensor, f"input{number}")
    modes = (grad_mode.enabled, grad_mode.inference)
    with recorder:
        if watches:
            with watch:
                result = function(*args, **keywords)
        else:
            result = function(*args, **keywords)
        leaves, spec = tree_flatten(result)
        problems = [*recorder.problems, *watch.problems]
        if (grad_mode.enabled, grad_mode.inference) != modes:
            problems.append("it changes whether operators record")
        grads = [(t, g, t._grad) for t, g in recorder.grads.values()]
        outputs = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if watches:
            outputs += [after for _, before, after in grads if after is not None and after is not before]
            outputs = list({id(tensor): tensor for tensor in outputs}.values())
        graph = None
        if not problems:
            try:
                graph = recorder.graph(outputs)
            except RuntimeError as error:
                problems.append(str(error).partition("\n")[0])
        if graph is not None and any(map(_draws_of_its_own, graph.walk())):
            problems.append("it draws of a Generator of its own")
            graph = None
    found = Recorded(
        result, graph, leaves, spec, watch, problems, outputs, [], grads, recorder.steps, recorder.makes
    )
    if graph is not None and any(map(writes, graph.walk())):
        found.written = _functional(found, graph, [*inputs, *[s.tensor for s in recorder.steps.found]])
    elif graph is not None:
        found.graph = graph.inlined()
    return found


def _draws_of_its_own(node: Node) -> bool:
    """Whether random numbers come from another Generator than that of all."""
    return any([isinstance(a, Generator) and a is not default_generator for a in node.arguments])


def _functional(found: Recorded, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """Make a recorded graph one without writes; the tensors whose last values are its last outputs."""
    for number, held in enumerate(graph.constants):
        held.value.name = held.value.name or f"held{number}"  # it stays the tensor that it is
    tensors = dict(zip(graph.inputs, inputs, strict=True))
    tensors |= {c.value: c.tensor for c in graph.constants}
    found.graph = None
    state = default_generator.get_state()  # operators are called once more
    try:
        found.graph, changed = with_final_values(graph, inputs)
    except RuntimeError as error:
        found.problems.append(str(error).partition("\n")[0])
        return []
    finally:
        default_generator.set_state(state)
    return [tensors[value] for value in changed]
