"""ASGD."""

from __future__ import annotations

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_not_negative, check_rate
from .elementwise import (
    Elementwise,
)
from .optimizer import Params, options_of

__all__ = ["ASGD"]


def __dir__() -> list[str]:
    return sorted(__all__)


class ASGD(Elementwise):
    """Gradient descent with a rate that falls, which also averages where it has been.

    ``p = (1 - lambd * eta) * p - eta * g``, then ``ax += mu * (p - ax)``. ``eta`` begins as ``lr`` and is
    ``lr / (1 + lambd * lr * t)**alpha`` after step ``t``; ``mu`` is 1 up to step ``t0 + 1``, so that ``ax``
    is the parameter, and ``1 / (t - t0)`` later, so that it is their average. ``weight_decay`` adds
    ``weight_decay * p`` to ``g``, ``maximize`` turns its sign. ``foreach`` chooses among PyTorch's ways to
    compute the same, and changes nothing here. With ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``eta``, ``mu`` and ``ax``. ValueError for a negative rate or decay.
    """

    _declared = optimizers.ASGD

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, options_of(locals()))
