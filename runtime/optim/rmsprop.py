"""RMSprop."""

from __future__ import annotations

from typing import Any, ClassVar

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise
from .optimizer import Params, options_of

__all__ = ["RMSprop"]


def __dir__() -> list[str]:
    return sorted(__all__)


class RMSprop(Elementwise):
    """Steps by the gradient over the root of a running average of its square.

    ``v = alpha * v + (1 - alpha) * g**2`` begins at 0, and ``p -= lr * g / (sqrt(v) + eps)``. ``centered``
    takes the square of a running average of ``g`` from ``v``. With ``momentum`` the step is ``lr * b``, where
    ``b = momentum * b + g / (sqrt(v) + eps)``. ``weight_decay`` adds ``weight_decay * p`` to ``g``,
    ``maximize`` turns its sign. ``foreach`` chooses among PyTorch's ways to compute the same, and changes
    nothing here. With ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``square_avg``, ``momentum_buffer`` and ``grad_avg``. ValueError for negative
    numbers.
    """

    _declared = optimizers.RMSprop

    later_options: ClassVar[dict[str, Any]] = {**Elementwise.later_options, "momentum": 0, "centered": False}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        super().__init__(params, options_of(locals()))
