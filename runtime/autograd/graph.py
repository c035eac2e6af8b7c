"""What can be asked of a graph and done to it: ``tengen.autograd.graph``."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tengen.autograd.edge import gradient_edge
from tengen.autograd.graph_task import GraphTask, current
from tengen.autograd.hooks import RemovableHandle
from tengen.autograd.node import Node
from tengen.autograd.saved_variable_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """Where a gradient arrives: input ``output_nr`` of ``node``, which computed a tensor, or collects
    the gradient of a leaf. ``autograd.grad`` and ``backward`` take it in the place of the tensor."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge along which the gradient of ``tensor`` comes. RuntimeError when it requires none."""
    edge = gradient_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return GradientEdge(*edge)


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
    nodes = []
    for index, tensor in enumerate(tensors):
        edge = gradient_edge(tensor)
        if edge is None:
            raise RuntimeError(
                f"register_multi_grad_hook(): element {index} of tensors does not require gradients"
            )
        nodes.append(edge[0])
    hook: _All | _Any = _All(nodes, fn) if mode == "all" else _Any(fn)
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

    def __init__(self, nodes: Sequence[Node], fn: Callable[[Any], Any]) -> None:
        self.nodes = nodes
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
                runs = task.will_run(self.nodes)
                missing = {i for i, running in enumerate(runs) if running}
                self.waiting[task] = [None] * len(self.nodes), missing
            grads, missing = self.waiting[task]
            grads[index] = grad
            missing.discard(index)
            complete = not missing
        if complete:
            self.fn(grads)
