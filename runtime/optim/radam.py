"""RAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tengen.generated.functions import where

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_moments, check_rate
from .elementwise import Elementwise, State, count_step, rate_of
from .moments import moments_numbers, moments_of, moments_start, step_over_root
from .optimizer import Group, Params

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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        (step,), (beta1, beta2), rate = counts, options["betas"], options["lr"]
        size, factor = rate / (1 - beta1**step), _rectification(beta2, step)
        numbers = moments_numbers(options)
        if factor is None and kernels.radam_unrectified is not None:
            return native_update(kernels.radam_unrectified, dtype, *numbers, size)
        if factor is not None and kernels.adam is not None:
            return native_update(kernels.adam, dtype, *numbers, options["eps"], size * factor)
        start = moments_start(options, dtype)
        eps, scale = constants(dtype, options["eps"], size if factor is None else size * factor)

        def kernel(p: Array, g: Array, m: Array, v: Array, t: Array) -> None:
            start(p, g, m, v, t)
            if factor is None:
                np.multiply(m, scale, t)
                np.subtract(p, t, p)
            else:
                step_over_root(p, m, v, t, eps, scale)

        return kernel, 1

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        (beta1, beta2), rate = group["betas"], rate_of(group)
        param, grad, mean, square = moments_of(group, param, grad, state, rate, beta1, beta2)
        step = count_step(group, state)
        change, factor = mean / (1 - beta1**step) * rate, _rectification(beta2, step)
        if isinstance(factor, Tensor):
            change = change * where(factor >= 0, factor / square.sqrt().add(group["eps"]), 1.0)
        elif factor is not None:
            change = change * (factor / square.sqrt().add(group["eps"]))
        param.add_(change, alpha=-1)


def _rectification(beta: float, step: Any) -> Any:
    """What the step over the root of ``v`` is multiplied by; None while the variance is not known.

    Of a step that is a tensor it is one; -1 stands there for None.
    """
    correction = 1 - beta**step
    limit = 2 / (1 - beta) - 1
    length = limit - 2 * step * beta**step / correction
    if not isinstance(length, Tensor) and length <= 5:
        return None
    known = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
    if isinstance(length, Tensor):
        return where(length > 5, (correction * known).clamp(min=0).sqrt(), -1.0)
    return float((correction * known) ** 0.5)
