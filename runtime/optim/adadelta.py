"""Adadelta."""

from __future__ import annotations

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise
from .optimizer import Params, options_of

__all__ = ["Adadelta"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Adadelta(Elementwise):
    """Steps as large as former steps were, relative to the gradients.

    With running averages ``v`` of ``g**2`` and ``u`` of the squares of the steps, of decay rate ``rho``, the
    direction is ``d = sqrt(u + eps) / sqrt(v + eps) * g``, and ``p -= lr * d``. ``weight_decay`` adds
    ``weight_decay * p`` to ``g``, ``maximize`` turns its sign. ``foreach`` chooses among PyTorch's ways to
    compute the same, and changes nothing here. With ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``square_avg`` and ``acc_delta``. ValueError for numbers out of range.
    """

    _declared = optimizers.Adadelta

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, options_of(locals()))
