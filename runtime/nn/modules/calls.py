"""The call of a module that has hooks."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor
from . import global_hooks
from .backward_hook import BackwardHook
from .base import Hook, ModuleBase
from .global_hooks import WrappedHook


class HookedCall:
    """One call of a module, with the hooks of all modules and its own around ``forward``."""

    def __init__(self, module: ModuleBase, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        #: The numbers of those hooks that are always called which were.
        self.called: set[int] = set()

    def run(self) -> Any:
        """The result of the call, as the hooks leave it."""
        try:
            return self._run()
        except Exception:
            self._after_error()
            raise

    def _run(self) -> Any:
        module = self.module
        full, plain = _backward_hooks(module)
        before = [*global_hooks.backward_pre_hooks.values(), *module._backward_pre_hooks.values()]
        self._forward_pre_hooks()
        caught = BackwardHook(module, full, before) if full or before else None
        if caught is not None:
            self.args = caught.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self._forward_hooks()
        if caught is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                _warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                    f"but received {type(self.result)}"
                )
            self.result = caught.setup_output_hook(self.result)
        if plain:
            self._plain_backward_hooks(plain)
        return self.result

    def _forward_pre_hooks(self) -> None:
        module = self.module
        for number, hook in (*global_hooks.forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if number not in module._forward_pre_hooks_with_kwargs:
                args = hook(module, self.args)
                if args is not None:
                    self.args = args if isinstance(args, tuple) else (args,)
                continue
            returned = hook(module, self.args, self.kwargs)
            if returned is None:
                continue
            if not (isinstance(returned, tuple) and len(returned) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{returned}."
                )
            self.args, self.kwargs = returned

    def _forward_hooks(self) -> None:
        module = self.module
        always = (module._forward_hooks_always_called, global_hooks.forward_hooks_always_called)
        for number, hook in (*global_hooks.forward_hooks.items(), *module._forward_hooks.items()):
            if number in always[0] or number in always[1]:
                self.called.add(number)
            self._forward_hook(number, hook)

    def _forward_hook(self, number: int, hook: Hook) -> None:
        module = self.module
        if number in module._forward_hooks_with_kwargs or number in global_hooks.forward_hooks_with_kwargs:
            returned = hook(module, self.args, self.kwargs, self.result)
        else:
            returned = hook(module, self.args, self.result)
        if returned is not None:
            self.result = returned

    def _after_error(self) -> None:
        """Call the hooks that are always called and were not; what they raise is a warning."""
        module = self.module
        waiting = [
            ("global module", global_hooks.forward_hooks, global_hooks.forward_hooks_always_called),
            ("module", module._forward_hooks, module._forward_hooks_always_called),
        ]
        for whose, hooks, always in waiting:
            for number, hook in [*hooks.items()]:
                if number not in always or number in self.called:
                    continue
                try:
                    self._forward_hook(number, hook)
                except Exception as error:
                    _warn(
                        f"{whose} forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}"
                    )

    # -- backward hooks that are not full

    def _plain_backward_hooks(self, hooks: list[Hook]) -> None:
        """Register the hooks on the Node of the result's first tensor."""
        found = self.result
        while not isinstance(found, Tensor):
            if isinstance(found, dict):
                found = next(value for value in found.values() if isinstance(value, Tensor))
            else:
                found = found[0]
        node = found.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(WrappedHook(hook, self.module))
            self._warn_of_what_is_missing(node)

    def _warn_of_what_is_missing(self, node: Any) -> None:
        """Warn where hooks on one Node do not see all gradients of the module."""
        full = " Please use register_full_backward_hook to get the documented behavior."
        text = (
            "Using non-full backward hooks on a Module that does not {} is deprecated and will be removed in "
        )
        text += "future versions. This hook will be missing some of the {}." + full
        results, inputs = _tensors(self.result), _tensors(self.args)
        if results is None:
            wanted = "return a single Tensor or a tuple of Tensors"
            _warn(text.format(wanted, "grad_output"), FutureWarning)
            return
        if inputs is None:
            wanted = "take as input a single Tensor or a tuple of Tensors"
            _warn(text.format(wanted, "grad_input"), FutureWarning)
            return
        nodes = {t.grad_fn for t in results if t.grad_fn is not None}
        text = "Using a non-full backward hook when {} is deprecated and will be removed in future versions. "
        text += "This hook will be missing some {}."
        if not nodes or (nodes != {node} and len(nodes) == 1):
            found = "outputs are nested in python data structure"
            _warn(text.format(found, "grad_output"), FutureWarning)
        elif len(nodes) > 1:
            found = "outputs are generated by different autograd Nodes"
            _warn(text.format(found, "grad_output") + full, FutureWarning)
        elif {t.grad_fn for t in inputs if t.grad_fn is not None} != {n for n, _ in node.next_functions}:
            found = "the forward contains multiple autograd Nodes"
            _warn(text.format(found, "grad_input") + full, FutureWarning)


def _backward_hooks(module: ModuleBase) -> tuple[list[Hook], list[Hook]]:
    """The backward hooks of a call: full ones, and others."""
    found: dict[bool, list[Hook]] = {True: [], False: []}
    for is_full, hooks in (
        (global_hooks.kind.is_full, global_hooks.backward_hooks),
        (module._is_full_backward_hook, module._backward_hooks),
    ):
        if is_full is not None:
            found[is_full] += hooks.values()
    return found[True], found[False]


def _tensors(value: Any) -> tuple[Tensor, ...] | None:
    """A tensor, or a tuple of nothing else, as a tuple; None for anything else."""
    if isinstance(value, Tensor):
        return (value,)
    fitting = isinstance(value, tuple) and all([isinstance(part, Tensor) for part in value])
    return value if fitting else None


def _warn(text: str, category: type[Warning] = UserWarning) -> None:
    warnings.warn(text, category, stacklevel=program_stacklevel())
