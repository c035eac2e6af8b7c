"""What can be asked of a graph and done to it: ``tengen.autograd.graph``."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.storage import storage_of
from ..core.tensor_base import TensorBase
from .edge import gradient_edge
from .graph_task import GraphTask, current
from .hooks import RemovableHandle
from .node import Node
from .saved_variable_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

if TYPE_CHECKING:
    from .allow_mutation import AllowMutation

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class GradientEdge(NamedTuple):
    """Where a gradient arrives: input ``output_nr`` of ``node``, which computed a tensor, or collects
    the gradient of a leaf. ``autograd.grad`` and ``backward`` take it in the place of the tensor."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge along which the gradient of ``tensor`` comes.

    RuntimeError when it requires none, TypeError for what is no Tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"get_gradient_edge(): expected a Tensor, but got {type(tensor).__name__}")
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    node = edge[0]
    node.pin()
    return GradientEdge(node, edge[1])


def increment_version(tensor: Any) -> None:
    """Count a write that autograd cannot see, to one Tensor or to several.

    Whoever has saved one of them for its derivative then says so in the backward pass. Inference tensors
    do not count. Raises RuntimeError for what is no Tensor.
    """
    tensors: Iterable[Any] = (tensor,) if isinstance(tensor, TensorBase) else tensor
    message = "increment_version expects a Tensor or an iterable of Tensors, but got "
    try:
        found = list(tensors)
    except TypeError:
        raise RuntimeError(message + type(tensor).__name__) from None
    for one in found:
        if not isinstance(one, TensorBase):
            raise RuntimeError(message + f"an element of type {type(one).__name__}")
    for one in found:
        storage_of(one).version += 1


def allow_mutation_on_saved_tensors() -> AllowMutation:
    """Inside, tensors that were saved for backward may be written to: they are copied before.

    ``with allow_mutation_on_saved_tensors() as context: ...``. The backward pass must be in the
    context too; ``context.clear()`` forgets what was saved so far. RuntimeError for a context in
    a context.
    """
    from .allow_mutation import AllowMutation

    return AllowMutation()


class MultiHandle(RemovableHandle):
    """Removes the hooks of several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        super().__init__({})
        self._handles = tuple(handles)

    def remove(self) -> None:
        """Take all of the hooks out."""
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` in each backward pass that computes gradients of ``tensors``.

    ``mode="all"``: once, with a list of the gradients, when all that the pass computes are there;
    None stands for the others. ``mode="any"``: with the first gradient that is there.

    Raises ValueError for another mode, RuntimeError when a tensor does not require gradients.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    places: list[weakref.ref[Any]] = []
    for index, tensor in enumerate(tensors):
        edge = gradient_edge(tensor)
        if edge is None:
            raise RuntimeError(
                f"register_multi_grad_hook(): element {index} of tensors does not require gradients"
            )
        # Weak, for the Node has the hook: otherwise they were a cycle. Of a leaf the Node is asked for again.
        places.append(weakref.ref(edge[0] if tensor._edge is not None else tensor))
    hook: _All | _Any = _All(places, fn) if mode == "all" else _Any(fn)
    return MultiHandle([t.register_hook(functools.partial(hook, i)) for i, t in enumerate(tensors)])


class _Any:
    """Calls the function once in each pass."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self.fn = fn
        self.lock = threading.Lock()
        self.seen: weakref.WeakSet[GraphTask] = weakref.WeakSet()

    def __call__(self, index: int, grad: Any) -> None:
        task = current.task
        assert task is not None  # hooks run in backward passes only
        with self.lock:
            if task in self.seen:
                return
            self.seen.add(task)
        self.fn(grad)


class _All:
    """Collects the gradients of each pass, and calls the function when all have come."""

    def __init__(self, places: Sequence[weakref.ref[Any]], fn: Callable[[Any], Any]) -> None:
        #: The Node of each tensor, or the leaf.
        self.places = places
        self.fn = fn
        self.lock = threading.Lock()
        self.waiting: weakref.WeakKeyDictionary[GraphTask, tuple[list[Any], set[int]]] = (
            weakref.WeakKeyDictionary()
        )

    def __call__(self, index: int, grad: Any) -> None:
        task = current.task
        assert task is not None
        with self.lock:
            if task not in self.waiting:
                runs = task.will_run([_node_at(place()) for place in self.places])
                missing = {i for i, running in enumerate(runs) if running}
                self.waiting[task] = [None] * len(self.places), missing
            grads, missing = self.waiting[task]
            grads[index] = grad
            missing.discard(index)
            complete = not missing
        if complete:
            self.fn(grads)


def _node_at(place: Any) -> Node | None:
    """The Node that the gradient of a leaf comes to, or the Node itself; None when there is none any more."""
    if not isinstance(place, TensorBase):
        node: Node | None = place
        return node
    edge = gradient_edge(place)
    return None if edge is None else edge[0]


def __getattr__(name: str) -> Any:
    """``draw``, which is imported when it is first used."""
    if name == "draw":
        from .graph_drawing import draw

        return draw
    raise AttributeError(f"module 'tengen.autograd.graph' has no attribute {name!r}")
