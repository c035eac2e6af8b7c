"""Hooks of all modules, and what hooks of one module and of all have in common."""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from typing import Any

from ...autograd.hooks import RemovableHandle
from .base import Hook

Hooks = OrderedDict[int, Hook]

buffer_registration_hooks: Hooks = OrderedDict()
module_registration_hooks: Hooks = OrderedDict()
parameter_registration_hooks: Hooks = OrderedDict()
backward_pre_hooks: Hooks = OrderedDict()
backward_hooks: Hooks = OrderedDict()
forward_pre_hooks: Hooks = OrderedDict()
forward_hooks: Hooks = OrderedDict()
forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()


class _Kind:
    """Whether the backward hooks of all modules are full ones; None before the first."""

    is_full: bool | None = None


kind = _Kind()


def add_hook(
    hooks: Hooks, hook: Hook, prepend: bool = False, *said: tuple[OrderedDict[int, bool], bool]
) -> RemovableHandle:
    """Register a hook, behind the others or before them.

    ``said`` are tables of the hooks of which something holds, and whether it holds of this one.
    """
    handle = RemovableHandle(hooks, *[table for table, _ in said])
    hooks[handle.id] = hook
    for table, holds in said:
        if holds:
            table[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def registered(hooks: Hooks, module: Any, name: str, value: Any) -> Any:
    """What is assigned to a module, as the hooks of all modules leave it."""
    for hook in hooks.values():
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


def check_one_kind(is_full: bool, before: bool | None, of: str) -> None:
    """RuntimeError where full backward hooks and others come together."""
    if before is not None and before is not is_full:
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {of}. Please use only "
            "one of them."
        )


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` for each buffer that any module gets; it may return another one."""
    return add_hook(buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` for each module that any gets; it may return another one."""
    return add_hook(module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` for each parameter of any module; it may return another."""
    return add_hook(parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before each call of any module; it may return other arguments."""
    return add_hook(forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after each call of any module; it may return another output.

    ``with_kwargs`` and ``always_call`` are as for ``Module.register_forward_hook``.
    """
    kwargs, always = (forward_hooks_with_kwargs, with_kwargs), (forward_hooks_always_called, always_call)
    return add_hook(forward_hooks, hook, False, kwargs, always)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """As ``register_module_full_backward_hook``, which is to be preferred: of the last operation alone."""
    check_one_kind(False, kind.is_full, "as a global Module hook")
    kind.is_full = False
    return add_hook(backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before gradients go through any module; it may return other ones."""
    return add_hook(backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when gradients went through any module.

    It may return other gradients of the inputs.
    """
    check_one_kind(True, kind.is_full, "as a global Module hook")
    kind.is_full = True
    return add_hook(backward_hooks, hook)


class WrappedHook:
    """A hook that is given its module first, which it does not keep alive."""

    def __init__(self, hook: Hook, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module: Any = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])
