"""RAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_moments, check_rate
from .elementwise import Elementwise
from .optimizer import Params, options_of

__all__ = ["RAdam"]


def __dir__() -> list[str]:
    return sorted(__all__)


class RAdam(Elementwise):
    """Adam that goes by the mean gradient alone until enough is known of its square.

    ``m`` and ``v`` are Adam's. While ``rho(t) = rho - 2 * t * b2**t / (1 - b2**t)``, with
    ``rho = 2 / (1 - b2) - 1``, is not above 5, ``p -= lr * m / (1 - b1**t)``; later the step is multiplied by
    ``sqrt(1 - b2**t) / (sqrt(v) + eps)`` and by ``sqrt((rho(t) - 4) * (rho(t) - 2) * rho / ((rho - 4) *
    (rho - 2) * rho(t)))``. ``weight_decay`` adds ``weight_decay * p`` to ``g``, or if
    ``decoupled_weight_decay`` it shrinks ``p`` by the factor ``1 - lr * weight_decay`` beforehand;
    ``maximize`` turns the gradient's sign. ``foreach`` chooses among PyTorch's ways to compute the same, and
    changes nothing here. With ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``exp_avg`` and ``exp_avg_sq``. ValueError for numbers out of range.
    """

    _declared = optimizers.RAdam

    later_options: ClassVar[dict[str, Any]] = {**Elementwise.later_options, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_moments(eps, betas, weight_decay)
        super().__init__(params, options_of(locals()))
