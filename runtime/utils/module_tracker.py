"""``tengen.utils.module_tracker``: which modules are running, forward or backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Self

from ..autograd.graph import register_multi_grad_hook
from ..autograd.graph_task import current
from ..autograd.variable import Variable
from ..nn.modules.global_hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..tensors.tensor import Tensor
from .pytree import tree_leaves

__all__ = ["ModuleTracker"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: What is always running.
GLOBAL = "Global"


class ModuleTracker:
    """``with ModuleTracker() as tracker:`` ``tracker.parents`` are the names of the modules that run.

    A name is the class of the outermost module, then the attributes on the way: ``"Net.layers.0"``. "Global"
    is always among them. In a backward pass a module runs from when the gradients of its outputs are there
    until those of its inputs are; if no input requires gradients, until the pass is done.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {GLOBAL}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Any] = weakref.WeakSet()
        self._awaited = False  # whether the pass that is running resets ``parents`` when it is done
        self._handles: list[Any] = []

    @property
    def is_bw(self) -> bool:
        """Whether this thread is in a backward pass."""
        return current.task is not None

    def __enter__(self) -> Self:
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _name(self, module: Any) -> str:
        """The name of a module; those in it get theirs."""
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            self._seen.add(module)
            for attribute, child in module.named_children():
                self._names[child] = f"{name}.{attribute}"
                self._name(child)
        return name

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._on_gradients(args, lambda grads: self.parents.discard(name))

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._on_gradients(output, lambda grads: self._enter_backward(name))

    def _on_gradients(self, values: Any, call: Callable[[Any], None]) -> None:
        """Call it when the gradients of the tensors among the values are there."""
        tensors = [v for v in tree_leaves(values) if isinstance(v, Tensor) and v.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, call))

    def _enter_backward(self, name: str) -> None:
        if not self._awaited:
            self._awaited = True
            Variable._execution_engine.queue_callback(self._backward_is_done)
        self.parents.add(name)

    def _backward_is_done(self) -> None:
        self._awaited = False
        self.parents.clear()
        self.parents.add(GLOBAL)
