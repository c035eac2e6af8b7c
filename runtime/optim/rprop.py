"""Rprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tengen.generated.functions import full_like, where, zeros_like

from ..kernels.native_kernels import kernels
from ..tensors.tensor import Tensor
from .blocks import Array, Update, constants, native_update
from .checks import check_rate
from .elementwise import Elementwise, State, as_real, decayed, new_count
from .optimizer import Group, Params, number

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
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _names(self, group: Group) -> tuple[str, ...]:
        return ("prev", "step_size")

    def _begin(self, group: Group, param: Tensor, state: State) -> None:
        state["step"] = new_count(group, param)
        state["prev"] = zeros_like(param)
        size = number(group["lr"])
        # the imaginary part is a number of its own
        state["step_size"] = full_like(param, complex(size, size) if param.is_complex() else size)

    def _kernel(self, options: Group, counts: Sequence[float], dtype: Any) -> Update:
        numbers = *options["etas"], *options["step_sizes"]
        if kernels.rprop is not None:
            return native_update(kernels.rprop, dtype, *numbers)
        smaller, larger, low, high = constants(dtype, *numbers)
        sign, multiply, subtract, copy = np.sign, np.multiply, np.subtract, np.copyto

        def kernel(p: Array, g: Array, prev: Array, size: Array, t: Array) -> None:
            multiply(g, prev, t)
            turned, same = t < 0, t > 0
            multiply(size, smaller, size, where=turned)
            multiply(size, larger, size, where=same)
            copy(size, t, where=t != t)  # NaN stays
            np.maximum(size, low, out=size)
            np.minimum(size, high, out=size)
            copy(prev, g)
            prev[turned] = 0
            sign(prev, t)
            multiply(t, size, t)
            subtract(p, t, p)

        return kernel, 1

    def _update(self, group: Group, param: Tensor, grad: Tensor, state: State, first: bool) -> None:
        (smaller, larger), (low, high) = group["etas"], group["step_sizes"]
        state["step"] += 1
        grad = decayed(group, param, grad)
        param, grad, prev, size = as_real(param, grad, state["prev"], state["step_size"])
        sign = grad.mul(prev.clone() if group["differentiable"] else prev).sign()
        turned = sign.lt(0)
        factor = where(turned, smaller, where(sign.gt(0), larger, where(sign.eq(0), 1.0, sign)))
        size.mul_(factor.to(size.dtype)).clamp_(low, high)
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), size.clone() if group["differentiable"] else size, value=-1)
        prev.copy_(grad)
