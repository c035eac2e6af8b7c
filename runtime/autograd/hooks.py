"""Hooks on tensors and Nodes: functions that see, and may replace, gradients on their way."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from ..core.function_dispatch import users_level
from ..core.tensor_base import TensorBase

Hook = Callable[..., Any]


class NodeExtra:
    """What few Nodes carry: hooks of their outputs, tensors that retain their gradient, metadata."""

    __slots__ = (
        "forward_grads",
        "metadata",
        "post_accumulate",
        "post_hooks",
        "pre_hooks",
        "retained",
        "tensor_hooks",
    )

    def __init__(self) -> None:
        #: For each output number the hooks of the tensor that it is, in order of registration.
        self.tensor_hooks: dict[int, dict[int, Hook]] | None = None
        #: For each output number the tensor that keeps its gradient.
        self.retained: dict[int, weakref.ref[Any]] | None = None
        #: Hooks of the Node itself, before and after it runs.
        self.pre_hooks: dict[int, Hook] | None = None
        self.post_hooks: dict[int, Hook] | None = None
        #: Hooks of a leaf, called once its gradient was accumulated.
        self.post_accumulate: dict[int, Hook] | None = None
        #: For each output number that the Node saved its tangents.
        self.forward_grads: dict[int, Any] | None = None
        #: The user's own notes, ``grad_fn.metadata``.
        self.metadata: dict[str, Any] | None = None

    def shared(self) -> NodeExtra:
        """One for another accumulator of the same leaf: the leaf's hooks are shared, the Node's are not."""
        other = NodeExtra()
        other.tensor_hooks, other.post_accumulate = self.tensor_hooks, self.post_accumulate
        return other


def extra_of(node: Any) -> NodeExtra:
    """The Node's NodeExtra, made if there is none yet."""
    extra: NodeExtra | None = node.extra
    if extra is None:
        extra = node.extra = NodeExtra()
    return extra


class RemovableHandle:
    """What registering a hook returns: ``remove()`` takes it out again, as leaving a ``with`` does.

    ``more`` are further dictionaries that say something of the hook.
    """

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Hook], *more: dict[int, Any]) -> None:
        self._hooks = hooks
        self._more = more
        self.id = next(RemovableHandle._ids)

    def remove(self) -> None:
        """Take the hook out; nothing happens when that was done before."""
        self._hooks.pop(self.id, None)
        for said in self._more:
            said.pop(self.id, None)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # What is registered from now on has another number than this one.
        RemovableHandle._ids = itertools.count(max(next(RemovableHandle._ids), self.id + 1))

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def add_hook(extra: NodeExtra, output: int, hook: Hook) -> RemovableHandle:
    """Register ``hook`` for the gradient of one output."""
    if extra.tensor_hooks is None:
        extra.tensor_hooks = {}
    return add_to(extra.tensor_hooks.setdefault(output, {}), hook)


def add_to(hooks: dict[int, Hook], hook: Hook) -> RemovableHandle:
    """Register ``hook`` in a dictionary of them; TypeError for what cannot be called."""
    if not callable(hook):
        raise TypeError(f"a hook must be callable, but got {type(hook).__name__}")
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def run_hooks(hooks: dict[int, Hook], gradient: Any) -> Any:
    """The gradient (a Tensor or None) as the hooks leave it; each sees what the last returned."""
    return _replaced(hooks, gradient, check_hook_result)


def run_pre_hooks(hooks: dict[int, Hook], grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """The incoming gradients (Tensors or None) as a Node's own hooks leave them."""
    found: tuple[Any, ...] = _replaced(hooks, grads, check_hook_results)
    return found


def run_post_hooks(
    hooks: dict[int, Hook], grads: tuple[Any, ...], incoming: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The gradients that a Node gave as its hooks leave them; they also see what came in."""
    found: tuple[Any, ...] = _replaced(hooks, grads, check_hook_results, incoming)
    return found


def _replaced(hooks: dict[int, Hook], value: Any, check: Callable[..., None], *more: Any) -> Any:
    """What the hooks, called with ``value`` and ``more``, leave of the value."""
    for hook in list(hooks.values()):
        with users_level():
            returned = hook(value, *more)
        if returned is not None:
            check(hook, value, returned)
            value = returned
    return value


def run_post_accumulate(hooks: dict[int, Hook], leaf: Any) -> None:
    """Call the hooks of a leaf whose gradient was accumulated."""
    for hook in list(hooks.values()):
        with users_level():
            returned = hook(leaf)
        if returned is not None and returned is not leaf:  # PyTorch does not mind the leaf itself
            kind = RuntimeError if isinstance(returned, TensorBase) else TypeError
            raise kind(
                f"Tensor post accumulate grad hooks should return None, but hook {_name(hook)} returned "
                f"'{type(returned).__name__}'"
            )


def check_hook_results(hook: Hook, before: tuple[Any, ...], after: Any) -> None:
    """Raise where what a Node's hook returned cannot take the place of its gradients."""
    if not isinstance(after, tuple):
        raise TypeError(f"expected tuple, but hook {_name(hook)} returned '{type(after).__name__}'")
    if len(after) != len(before):
        raise RuntimeError(
            f"hook {_name(hook)} has returned an incorrect number of values (got {len(after)}, but expected "
            f"{len(before)})"
        )
    for old, new in zip(before, after, strict=True):
        if new is not None:
            check_hook_result(hook, old, new)


def check_hook_result(hook: Hook, before: Any, after: Any) -> None:
    """Raise where a hook's result cannot take the gradient's place."""
    if not hasattr(after, "_array"):
        raise TypeError(f"expected Tensor, but hook {_name(hook)} returned '{type(after).__name__}'")
    if before is None:
        raise RuntimeError(f"hook {_name(hook)} can't replace a gradient that is None with a Tensor")
    if after._type is not before._type:
        raise RuntimeError(
            f"hook {_name(hook)} has changed the type of value "
            f"(was {before._type.scalar_type} on {before._type.backend.device} "
            f"got {after._type.scalar_type} on {after._type.backend.device})"
        )
    if after._array.shape != before._array.shape:
        raise RuntimeError(
            f"hook {_name(hook)} has changed the size of value "
            f"(was {list(before._array.shape)} got {list(after._array.shape)})"
        )


def _name(hook: Hook) -> str:
    return f"'{getattr(hook, '__name__', type(hook).__name__)}'"
