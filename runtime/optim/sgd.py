"""SGD: stochastic gradient descent, with momentum if wanted."""

from __future__ import annotations

from typing import Any, ClassVar

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise, State, check_modes, decayed
from .optimizer import Group, Params, number, options_of

__all__ = ["SGD"]


def __dir__() -> list[str]:
    return sorted(__all__)


class SGD(Elementwise):
    """Stochastic gradient descent.

    ``p -= lr * g``; with ``momentum`` the direction is ``b = momentum * b + (1 - dampening) * g``, which
    begins as ``g``, or with ``nesterov`` it is ``g + momentum * b``. ``weight_decay`` adds
    ``weight_decay * p`` to ``g``, ``maximize`` turns its sign. ``foreach`` and ``fused`` choose among
    PyTorch's ways to compute the same, and change nothing here. With ``differentiable`` the step is recorded.

    ValueError for negative numbers, and for ``nesterov`` without momentum or with dampening.
    """

    _declared = optimizers.SGD

    later_options: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_modes(foreach, fused, differentiable)
        super().__init__(params, options_of(locals()))

    def _update_sparse(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        """Only elements of which there is a gradient move; the buffer is in coordinate format, too."""
        _, (momentum, share, rate) = self._numbers(group, param, state, first)
        grad = decayed(group, param, grad)
        if momentum != 0:
            if first:
                state["momentum_buffer"] = grad.detach().clone()
            else:
                state["momentum_buffer"].mul_(momentum).add_(grad, alpha=share)
            buffer = state["momentum_buffer"]
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(grad, alpha=-number(rate))
