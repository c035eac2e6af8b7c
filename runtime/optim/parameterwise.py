"""Optimisers that change one parameter after the other, with operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..core.memory_format import strided
from ..tensors.tensor import Tensor
from .elementwise import State
from .optimizer import Group, Optimizer


class Parameterwise(Optimizer):
    """What these optimisers share: the step. All parameters of a group are checked before one changes."""

    def _check_group(self, group: Group) -> None:
        """Raise for options that cannot be."""

    def _check_gradient(self, param: Tensor) -> None:
        """Raise RuntimeError for a complex parameter, and for one with a sparse gradient."""
        name = type(self).__name__
        if param.is_complex():
            raise RuntimeError(f"{name} does not support complex parameters")
        if param.grad is not None and param.grad.layout is not strided:
            raise RuntimeError(f"{name} does not support sparse gradients")

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State) -> None:
        """Change a parameter and its state."""
        raise NotImplementedError

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters that have gradients.

        ``closure`` computes the loss anew, with gradients, and returns it; so does the step then.
        """
        loss = self._tengen_loss_of(closure)
        with no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                for p in params:
                    self._check_gradient(p)
                self._check_group(group)
                for p in params:
                    self._update(group, p, p.grad, self.state[p])
        return loss
