"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise, State, add_scaled, as_real, decayed, rate_of
from .moments import move_square_mean, update_square_mean
from .optimizer import Group, Params

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
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        rho = options["rho"]
        numbers = rho, 1 - rho, options["eps"], options["lr"]
        if kernels.adadelta is not None:
            return native_update(kernels.adadelta, dtype, *numbers)
        keep, new, eps, rate = constants(dtype, *numbers)
        add, subtract, multiply, divide, sqrt = np.add, np.subtract, np.multiply, np.divide, np.sqrt

        def kernel(p: Array, g: Array, v: Array, u: Array, t: Array, d: Array) -> None:
            update_square_mean(g, v, t, keep, new)
            add(v, eps, t)
            sqrt(t, t)
            add(u, eps, d)
            sqrt(d, d)
            divide(d, t, d)
            multiply(d, g, d)
            update_square_mean(d, u, t, keep, new)
            multiply(d, rate, d)
            subtract(p, d, p)

        return kernel, 2

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        rho, eps = group["rho"], group["eps"]
        state["step"] += 1
        grad = decayed(group, param, grad)
        param, grad, square, moved = as_real(param, grad, state["square_avg"], state["acc_delta"])
        move_square_mean(square, grad, rho)
        delta = moved.add(eps).sqrt() / square.add(eps).sqrt() * grad
        move_square_mean(moved, delta, rho)
        add_scaled(param, delta, -rate_of(group))
