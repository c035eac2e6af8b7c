"""Adamax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tengen.generated.functions import maximum

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_moments, check_rate
from .elementwise import Elementwise, State, add_quotient, as_real, counted, decayed, rate_of
from .optimizer import Group, Params

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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        beta1, beta2 = options["betas"]
        rate = options["lr"] / (1 - beta1 ** counts[0])
        numbers = beta1, 1 - beta1, beta2, options["eps"], rate
        if kernels.adamax is not None:
            return native_update(kernels.adamax, dtype, *numbers)
        keep1, new1, keep2, eps, size = constants(dtype, *numbers)
        add, subtract, multiply, divide = np.add, np.subtract, np.multiply, np.divide
        absolute, larger = np.absolute, np.maximum

        def kernel(p: Array, g: Array, m: Array, u: Array, t: Array) -> None:
            multiply(g, new1, t)
            multiply(m, keep1, m)
            add(m, t, m)
            absolute(g, t)
            add(t, eps, t)
            multiply(u, keep2, u)
            larger(u, t, out=u)
            divide(m, u, t)
            multiply(t, size, t)
            subtract(p, t, p)

        return kernel, 1

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        beta1, beta2 = group["betas"]
        state["step"] += 1
        grad = decayed(group, param, grad)
        param, grad, mean, largest = as_real(param, grad, state["exp_avg"], state["exp_inf"])
        mean.lerp_(grad, 1 - beta1)
        largest.copy_(maximum(largest.mul(beta2), grad.abs().add(group["eps"])))
        rate = rate_of(group) / (1 - beta1 ** counted(group, state["step"]))
        if group["differentiable"]:
            mean, largest = mean.clone(), largest.clone()
        add_quotient(param, mean, largest, -rate)
