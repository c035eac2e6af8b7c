"""Rprop."""

from __future__ import annotations

from tengen.generated import optimizers

from ..tensors.tensor import Tensor
from .checks import check_rate
from .elementwise import Elementwise
from .optimizer import Params, options_of

__all__ = ["Rprop"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Rprop(Elementwise):
    """Steps by the signs of gradients, each element with a size of its own.

    The size, which begins as ``lr``, is multiplied by ``etas[1]`` where the gradient's sign is the former
    one, by ``etas[0]`` where it is the other one, and stays within ``step_sizes``; where the sign turned,
    this step does nothing, and the next one keeps the size. ``maximize`` turns the gradient's sign.
    ``foreach`` chooses among PyTorch's ways to compute the same, and changes nothing here. With
    ``differentiable`` the step is recorded.
    ``capturable`` keeps all counts on the device and asks for no values, as ``tengen.jax.jit`` needs it; on
    other devices than array libraries' it is an AssertionError in ``step``.

    The states are ``step``, ``prev`` and ``step_size``. ValueError for a negative rate, and unless
    ``0 < etas[0] < 1 < etas[1]``.
    """

    _declared = optimizers.Rprop

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options_of(locals()))
