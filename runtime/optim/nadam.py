"""NAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tengen.generated.functions import zeros_like

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_moments, check_not_negative, check_rate
from .elementwise import Elementwise, State, add_quotient, count_step, factor_of, new_count, rate_of
from .moments import moments_numbers, moments_of, moments_start
from .optimizer import Group, Params

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

    counters: ClassVar[tuple[str, ...]] = ("step", "mu_product")
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
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        state["step"] = new_count(group, param)
        state["mu_product"] = new_count(group, param, 1.0)
        for name in self._names(group):
            state[name] = zeros_like(param)

    def _advance(self, options: Group, counters: Sequence[Array]) -> Sequence[Array]:
        steps, products = counters
        steps += 1
        counts = steps.ravel().tolist()
        # Python's powers: NumPy's differ by a bit between one number and many
        momenta = {count: _momenta(options, count)[0] for count in set(counts)}
        products *= np.array([momenta[count] for count in counts], products.dtype).reshape(products.shape)
        return counters

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        (step, product), beta2, rate = counts, options["betas"][1], options["lr"]
        mu, following = _momenta(options, step)
        root = (1 - beta2**step) ** 0.5
        of_grad = root * rate * (1 - mu) / (1 - product)
        of_mean = root * rate * following / (1 - product * following)
        numbers = options["eps"] * root, of_grad, of_mean
        if kernels.nadam is not None:
            return native_update(kernels.nadam, dtype, *moments_numbers(options), *numbers)
        start = moments_start(options, dtype)
        eps, new, old = constants(dtype, *numbers)
        add, subtract, multiply, divide, sqrt = np.add, np.subtract, np.multiply, np.divide, np.sqrt

        def kernel(p: Array, g: Array, m: Array, v: Array, t: Array, d: Array) -> None:
            start(p, g, m, v, t)
            multiply(g, new, d)
            multiply(m, old, t)
            add(d, t, d)
            sqrt(v, t)
            add(t, eps, t)
            divide(d, t, d)
            subtract(p, d, p)

        return kernel, 2

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        (beta1, beta2), rate = group["betas"], rate_of(group)
        param, grad, mean, square = moments_of(group, param, grad, state, rate, beta1, beta2)
        step = count_step(group, state)
        mu, following = _momenta(group, step)
        state["mu_product"] *= mu
        product = factor_of(group, state["mu_product"])
        root = square.div(1 - beta2**step).sqrt().add(group["eps"])
        add_quotient(param, grad, root, -rate * (1 - mu) / (1 - product))
        mean = mean.clone() if group["differentiable"] else mean
        add_quotient(param, mean, root, -rate * following / (1 - product * following))


def _momenta(options: Group, step: Any) -> tuple[Any, Any]:
    """The momentum at a step and at the next."""
    beta, decay = options["betas"][0], options["momentum_decay"]
    return beta * (1 - 0.5 * 0.96 ** (step * decay)), beta * (1 - 0.5 * 0.96 ** ((step + 1) * decay))
