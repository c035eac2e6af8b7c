"""RMSprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_not_negative, check_rate
from .elementwise import Elementwise, State, add_quotient, add_scaled, as_real, decayed, rate_of
from .moments import move_square_mean, update_square_mean
from .optimizer import Group, Params

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
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        alpha, momentum, centered = options["alpha"], options["momentum"], options["centered"]
        numbers = alpha, 1 - alpha, options["eps"], options["lr"]
        if momentum > 0:
            native = kernels.rmsprop_centered_momentum if centered else kernels.rmsprop_momentum
            if native is not None:
                return native_update(native, dtype, *numbers, momentum)
        elif (native := kernels.rmsprop_centered if centered else kernels.rmsprop) is not None:
            return native_update(native, dtype, *numbers)
        keep, new, eps, rate, persist = constants(dtype, *numbers, momentum)
        add, subtract, multiply, divide, sqrt = np.add, np.subtract, np.multiply, np.divide, np.sqrt

        def kernel(p: Array, g: Array, v: Array, *others: Array) -> None:
            t = others[-1]
            update_square_mean(g, v, t, keep, new)
            if centered:
                mean = others[-2]
                subtract(g, mean, t)
                multiply(t, new, t)
                add(mean, t, mean)
                multiply(mean, mean, t)
                subtract(v, t, t)
                sqrt(t, t)
            else:
                sqrt(v, t)
            add(t, eps, t)
            divide(g, t, t)
            if momentum > 0:
                buffer = others[0]
                multiply(buffer, persist, buffer)
                add(buffer, t, buffer)
                multiply(buffer, rate, t)
            else:
                multiply(t, rate, t)
            subtract(p, t, p)

        return kernel, 1

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        rate, alpha = rate_of(group), group["alpha"]
        state["step"] += 1
        param, grad, square = as_real(param, decayed(group, param, grad), state["square_avg"])
        move_square_mean(square, grad, alpha)
        if group["centered"]:
            (mean,) = as_real(state["grad_avg"])
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square.sqrt()
        root = root.add(group["eps"])
        if group["momentum"] > 0:
            (buffer,) = as_real(state["momentum_buffer"])
            buffer.mul_(group["momentum"]).addcdiv_(grad, root)
            add_scaled(param, buffer, -rate)
        else:
            add_quotient(param, grad, root, -rate)
