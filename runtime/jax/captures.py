"""The layer that sees, while a function is traced, the tensors that are no arguments of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..array_libraries.jax import is_traced
from ..autograd.writes import kept
from ..core.interception import Layer
from ..core.operands import tensors_in
from ..core.protocols import Operator
from ..core.user_stack import program_call


class Captures(Layer):
    """Knows the tensors that operators were called with and that hold values: constants of the trace.

    One that is written, or gets a gradient, would hold a tracer after it: ``check`` restores it, and raises.
    """

    def __init__(self) -> None:
        #: By ``id``: the tensor, its gradient, where it was used, and of what shows its elements the arrays.
        self.found: dict[int, tuple[Any, Any, str, Callable[[], None]]] = {}

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        for tensor in tensors_in(arguments):
            if id(tensor) not in self.found and not is_traced(tensor._array):
                meta = tensor._meta
                grad = None if meta is None else meta.grad
                used = f"{operator.name.partition('.')[0]}, {program_call()[1]}"
                self.found[id(tensor)] = (tensor, grad, used, kept(tensor))
        return proceed(*arguments)

    def check(self) -> None:
        """Restore the tensors. RuntimeError where one was written or got a gradient."""
        problems = []
        for tensor, grad, used, restore in self.found.values():
            if is_traced(tensor._array):
                restore()
                problems.append((tensor, "is written to", used))
            meta = tensor._meta
            if meta is not None and meta.grad is not None and is_traced(meta.grad._array):
                meta.grad = grad
                problems.append((tensor, "gets a gradient", used))
        for tensor, what, used in problems[:1]:
            raise RuntimeError(
                f"jit(): a tensor of shape {tuple(tensor.shape)} that is no argument of the function "
                f"{what} (first used in {used}): give the function the tensor, or the module or optimiser "
                "that has it"
            )
