"""ASGD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tengen.generated.functions import zeros_like

from ..kernels.native_kernels import kernels
from ..tensors.creation import tensor as make_tensor
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_not_negative, check_rate
from .elementwise import (
    Elementwise,
    State,
    add_scaled,
    as_real,
    counted,
    decayed,
    factor_of,
    new_count,
    rate_of,
)
from .optimizer import Group, Params, count_dtype

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

    counters: ClassVar[tuple[str, ...]] = ("step", "eta", "mu")

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
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("ax",)

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        state["step"] = new_count(group, param)
        state["eta"] = new_count(group, param, group["lr"])
        state["mu"] = new_count(group, param, 1.0)
        state["ax"] = zeros_like(param)

    def _advance(self, options: Group, counters: Sequence[Array]) -> Sequence[Array]:
        steps, etas, mus = counters
        used = [steps, etas.copy(), mus.copy()]
        steps += 1
        counts = steps.ravel().tolist()
        # Python's powers: NumPy's differ by a bit between one number and many
        later = {count: _following(options, count) for count in set(counts)}
        kind = count_dtype().array_dtype
        for line, place in ((etas, 0), (mus, 1)):
            line[...] = np.array([later[count][place] for count in counts], kind).reshape(line.shape)
        return used

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        _, eta, mu = counts
        numbers = 1 - options["lambd"] * eta, eta, mu
        if kernels.asgd is not None:
            return native_update(kernels.asgd, dtype, *numbers)
        shrink, rate, new = constants(dtype, *numbers)
        add, subtract, multiply, copy = np.add, np.subtract, np.multiply, np.copyto

        def kernel(p: Array, g: Array, ax: Array, t: Array) -> None:
            multiply(p, shrink, p)
            multiply(g, rate, t)
            subtract(p, t, p)
            if mu == 1:
                copy(ax, p)
            else:
                subtract(p, ax, t)
                multiply(t, new, t)
                add(ax, t, ax)

        return kernel, 1

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        grad = decayed(group, param, grad)
        param, grad, mean = as_real(param, grad, state["ax"])
        eta, mu = factor_of(group, state["eta"]), factor_of(group, state["mu"])
        state["step"] += 1
        param.mul_(1 - group["lambd"] * eta)
        add_scaled(param, grad, -eta)
        if not isinstance(mu, Tensor) and mu == 1:
            mean.copy_(param)
        else:
            mean.add_(param.sub(mean).mul_(mu))
        following = _following(group, counted(group, state["step"]))
        for name, value in zip(("eta", "mu"), following, strict=True):
            state[name].copy_(value if isinstance(value, Tensor) else make_tensor(value, dtype=count_dtype()))


def _following(options: Group, step: Any) -> tuple[Any, Any]:
    """The rate and the weight of the average for what comes after a step.

    They are rounded to the dtype in which steps are counted, also where a loaded state has a longer one.
    """
    rate = rate_of(options)
    later = step - options["t0"]
    weight = 1 / (later.clamp(min=1) if isinstance(later, Tensor) else max(1, later))
    return rate / (1 + options["lambd"] * rate * step) ** options["alpha"], weight
