"""Full backward hooks: two Functions, one before and one behind a module's forward, catch its gradients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...autograd.function import Function
from ...autograd.grad_mode import is_grad_enabled
from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor
from .base import Hook


class BackwardHookFunction(Function):
    """Hands tensors on, and their gradients: its Node is where hooks see them together."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        return args


class BackwardHook:
    """The backward hooks of one call of a module, which ``setup_input_hook`` and
    ``setup_output_hook`` install.
    """

    def __init__(self, module: Any, user_hooks: Sequence[Hook], user_pre_hooks: Sequence[Hook]) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        #: What came in, while the gradients of the inputs are on their way.
        self.grad_outputs: Any = None
        #: How many inputs and outputs there are, and which of them are tensors; None where no hook is set.
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of the call, with which the hooks are called when their gradients are there."""
        found, node, self.input_tensors_index = _caught(args)
        self.n_inputs = len(args)
        if node is not None:
            node.register_hook(self._see_grad_inputs)
        return found

    def setup_output_hook(self, result: Any) -> Any:
        """The result of the call, whose gradients the hooks are given."""
        outputs = result if isinstance(result, tuple) else (result,)
        found, node, self.output_tensors_index = _caught(outputs)
        self.n_outputs = len(outputs)
        if node is not None:
            node.register_hook(self._see_grad_outputs)
        return found if isinstance(result, tuple) else found[0]

    def _see_grad_inputs(self, grad_input: Any, _: Any) -> Any:
        """The hook of the Node before the module: its own gradients are those of the inputs."""
        if self.grad_outputs is None:  # the gradients did not come through the module
            return None
        assert self.input_tensors_index is not None
        seen: Any = _placed(self.input_tensors_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            replaced = hook(self.module, seen, self.grad_outputs)
            if replaced is not None:
                _check_number(replaced, seen, "Backward hook returned an invalid number of grad_input")
                seen = replaced
        self.grad_outputs = None
        return tuple([seen[i] for i in self.input_tensors_index])

    def _see_grad_outputs(self, _: Any, grad_output: Any) -> Any:
        """The hook of the Node behind the module, which may give it other gradients."""
        assert self.output_tensors_index is not None
        self.grad_outputs = _placed(self.output_tensors_index, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            replaced = hook(self.module, self.grad_outputs)
            if replaced is not None:
                text = "Backward pre hook returned an invalid number of grad_output"
                _check_number(replaced, self.grad_outputs, text)
                self.grad_outputs = replaced
        seen = self.grad_outputs
        if self.input_tensors_index is None:
            self._without_grad_inputs()
        return tuple([seen[i] for i in self.output_tensors_index])

    def _without_grad_inputs(self) -> None:
        """Call the hooks now, for no gradients of inputs will come."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs "
            "since no "
            "inputs require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=program_stacklevel(),
        )
        for hook in self.user_hooks:
            replaced = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            nothing = isinstance(replaced, tuple) and all([value is None for value in replaced])
            if replaced is not None and not nothing:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or "
                    "None for all gradients."
                )
        self.grad_outputs = None


def _caught(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, list[int] | None]:
    """The values, whose tensors went through the Function; its Node; the places of the tensors.

    None is the Node, and the places, where no gradient will come.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    tensors = [values[i] for i in places]
    if not (is_grad_enabled() and any([t.requires_grad for t in tensors])):
        return values, None, None
    caught = BackwardHookFunction.apply(*tensors)
    nodes = [t.grad_fn for t in caught if t.grad_fn is not None]
    if not nodes:
        raise RuntimeError("Error while setting up backward hooks: no output of the module has a gradient")
    found = list(values)
    for place, tensor in zip(places, caught, strict=True):
        found[place] = tensor
    kind = type(values)  # a named tuple stays one
    return (tuple(found) if kind is tuple else kind(*found)), nodes[0], places


def _placed(places: Sequence[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The values at their places among so many, the others of which are None."""
    found: list[Any] = [None] * count
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)


def _check_number(returned: Any, before: Any, text: str) -> None:
    if len(returned) != len(before):
        raise RuntimeError(f"{text}, got {len(returned)}, but expected {len(before)}")
