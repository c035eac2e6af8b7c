"""Adamax."""

from __future__ import annotations

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_moments, check_rate
from .elementwise import Elementwise
from .optimizer import Params, options_of

__all__ = ["Adamax"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Adamax(Elementwise):
    """Adam with the largest of the gradients, which fade, in place of their mean square.

    ``m = b1 * m + (1 - b1) * g`` and ``u = max(b2 * u, abs(g) + eps)`` begin at 0, and
    ``p -= lr / (1 - b1**t) * m / u``. ``weight_decay`` adds ``weight_decay * p`` to ``g``, ``maximize`` turns
    its sign. ``foreach`` chooses among PyTorch's ways to compute the same, and changes nothing here. With
    ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``exp_avg`` and ``exp_inf``. ValueError for numbers out of range.
    """

    _declared = optimizers.Adamax

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_moments(eps, betas, weight_decay)
        super().__init__(params, options_of(locals()))
