"""NAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_moments, check_not_negative, check_rate
from .elementwise import Elementwise
from .optimizer import Params, options_of

__all__ = ["NAdam"]


def __dir__() -> list[str]:
    return sorted(__all__)


class NAdam(Elementwise):
    """Adam with Nesterov's momentum.

    ``m`` and ``v`` are Adam's. With ``mu(t) = b1 * (1 - 0.96**(t * momentum_decay) / 2)``, and the product
    ``M`` of all so far, the direction is
    ``(1 - mu(t)) / (1 - M) * g + mu(t + 1) / (1 - M * mu(t + 1)) * m``, over
    ``sqrt(v / (1 - b2**t)) + eps``. ``weight_decay`` adds ``weight_decay * p`` to ``g``, or if
    ``decoupled_weight_decay`` it shrinks ``p`` by the factor ``1 - lr * weight_decay`` beforehand;
    ``maximize`` turns the gradient's sign. ``foreach`` chooses among PyTorch's ways to compute the same, and
    changes nothing here. With ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``mu_product``, ``exp_avg`` and ``exp_avg_sq``. ValueError for numbers out of
    range.
    """

    _declared = optimizers.NAdam

    later_options: ClassVar[dict[str, Any]] = {**Elementwise.later_options, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_moments(eps, betas, weight_decay)
        check_not_negative("momentum_decay value", momentum_decay)
        super().__init__(params, options_of(locals()))
